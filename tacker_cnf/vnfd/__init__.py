"""VNF packages: archives, descriptors, signatures, and scaling rules."""
