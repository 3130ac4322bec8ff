"""An in-memory Kubernetes cluster for demos and tests.

It serves real clients on a real HTTPS socket and behaves as a cluster does.
"""
