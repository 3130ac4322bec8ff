"""VNF packages: their onboarding and their content."""
