"""The NFVO, which grants lifecycle operations and provides VNF packages."""
