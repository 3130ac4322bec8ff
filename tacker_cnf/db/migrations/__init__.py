"""The database's schema, version by version."""
