"""User data: computes template and parameters of a stack."""
