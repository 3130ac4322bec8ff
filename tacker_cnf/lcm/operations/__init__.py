"""Lifecycle operations: one module defines one type of operation."""
