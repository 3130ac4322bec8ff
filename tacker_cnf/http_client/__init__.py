"""HTTP clients of this service."""
