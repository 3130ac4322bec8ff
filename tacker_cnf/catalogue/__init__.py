"""Onboard VNF packages and store their content."""
