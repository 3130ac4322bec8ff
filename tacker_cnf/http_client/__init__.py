"""How this service speaks HTTP to others."""
