"""Who is told what, and that they are told."""
