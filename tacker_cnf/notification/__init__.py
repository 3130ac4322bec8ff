"""Delivery of notifications to subscribers."""
