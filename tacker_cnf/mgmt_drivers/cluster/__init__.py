"""What the management driver of Kubernetes clusters is made of."""
