"""Delivery of lifecycle notifications to subscribers."""
