"""What the VNFM asks of an NFVO (SOL003 clause 9)."""

from typing import Protocol

from tacker_cnf.sol.grant import Grant, GrantRequest


class Nfvo(Protocol):
    """Grants lifecycle operations."""

    def grant(self, request: GrantRequest) -> Grant:
        """Ask for leave.

        :raises GrantRefused: the NFVO said no
        """
