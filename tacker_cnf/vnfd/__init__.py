"""The VNF package: its archive, its descriptor, and its scaling rules."""
