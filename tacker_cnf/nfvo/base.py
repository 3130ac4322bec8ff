"""What the VNFM asks of an NFVO (SOL003 clause 9)."""

from typing import Protocol

from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.grant import Grant, GrantRequest


class Nfvo(Protocol):
    """Grants lifecycle operations."""

    def grant(
        self,
        request: GrantRequest,
        cancel_token: CancelToken,
        deadline: Deadline,
    ) -> Grant:
        """Ask for leave, and wait until the NFVO has decided.

        :raises GrantRejected: the NFVO said no
        :raises PeerFailed: the NFVO did not answer as it has to, or not in
            time
        :raises VnfmError: the work was called off
        """
