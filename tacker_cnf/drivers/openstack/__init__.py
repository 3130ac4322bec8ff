"""VNFs on OpenStack, as Heat stacks."""
