"""Lifecycle management without I/O: functions on values."""
