"""The programs: the only modules that choose implementations."""
