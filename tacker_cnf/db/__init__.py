"""The SQL database, which has all persistent state of this service."""
