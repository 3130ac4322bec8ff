"""What management scripts are made of; imported by them, not by us."""
