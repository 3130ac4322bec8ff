"""Registered VIMs."""
