"""Serves one WSGI application on loopback: ``serve.py PORT MODULE [ARG ...]``.

The arguments become ``sys.argv``, which Heat, Nova, Neutron and Placement
hand to oslo.config.
"""

import importlib
import sys

import waitress

port, module = sys.argv[1:3]
sys.argv = [module, *sys.argv[3:]]
waitress.serve(
    importlib.import_module(module).application,
    host="127.0.0.1",
    port=int(port),
    threads=8,
    # Heat leaves many idle connections behind, which would reach the limit
    # of 100 and block new ones
    connection_limit=10000,
    asyncore_use_poll=True,
)
