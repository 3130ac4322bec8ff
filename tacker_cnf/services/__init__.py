"""The use cases of the API, one write transaction each."""
