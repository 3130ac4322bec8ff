"""VNFs on Kubernetes."""
