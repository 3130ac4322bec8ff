"""The HTTP server of the API: clients are served by an event loop, and a thread
is used only while the WSGI application computes.
"""
