"""The VIM of an operation, as far as operations wait for the same one."""

import hashlib
from collections.abc import Mapping

from tacker_cnf.sol.common import VimConnectionInfo


def of_connections(connections: Mapping[str, VimConnectionInfo]) -> str:
    """Return a digest of the VIM of an operation: equal for a registered VIM,
    or for connections with the same endpoint.

    An operation without a VIM, which a grant will name, has a digest, too.
    """
    for _, connection in sorted(connections.items()):
        identity = connection.vim_id or str(
            connection.interface_info.get("endpoint")
        )
        return hashlib.sha256(identity.encode()).hexdigest()
    return hashlib.sha256(b"").hexdigest()
