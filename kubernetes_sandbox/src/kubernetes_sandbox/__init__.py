"""An in-memory Kubernetes cluster for the demo and the tests.

It answers real clients on a real HTTPS socket and behaves as a cluster
does; it imports nothing of the product.
"""
