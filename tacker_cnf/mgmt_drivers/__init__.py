"""Base classes and helpers that management scripts of packages import."""
