"""The SQL store: the truth about everything this service knows."""
