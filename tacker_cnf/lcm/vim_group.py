"""The VIM of an operation, as far as operations wait for the same one."""

import hashlib
from collections.abc import Mapping
from typing import Final
from urllib import parse

from tacker_cnf.sol.common import VimConnectionInfo

DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def of_connections(connections: Mapping[str, VimConnectionInfo]) -> str:
    """Return a digest of the VIM of an operation: equal for a registered VIM,
    or for connections with the same endpoint; empty: a grant will name it.
    """
    for _, connection in sorted(connections.items()):
        identity = connection.vim_id or _normalized(
            str(connection.interface_info.get("endpoint"))
        )
        return hashlib.sha256(identity.encode()).hexdigest()
    return ""


def _normalized(endpoint: str) -> str:
    """Return an endpoint in the one way that all its spellings have."""
    try:
        url = parse.urlsplit(endpoint.strip())
        port = url.port or DEFAULT_PORTS.get(url.scheme)
    except ValueError:  # not a URL; the driver rejects it
        return endpoint
    host = (url.hostname or "").rstrip(".")
    return f"{url.scheme}://{host}:{port}{url.path.rstrip('/')}"
