"""The data types of version 1 of the lifecycle API (SOL003 v2.6.1)."""
