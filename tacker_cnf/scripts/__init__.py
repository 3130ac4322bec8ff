"""A package's own code, run in a child process."""
