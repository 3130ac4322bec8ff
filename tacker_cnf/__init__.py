"""A VNF manager for containers on Kubernetes and VMs on OpenStack Heat."""
