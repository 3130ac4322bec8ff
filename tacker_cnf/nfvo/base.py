"""The interface to an NFVO that grants operations (SOL003 clause 9)."""

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
        """Request a grant, and wait until the NFVO has decided.

        :raises GrantRejected: the NFVO rejected the operation
        :raises PeerFailed: the NFVO's response is not valid, or did not
            arrive in time
        :raises VnfmError: the operation was cancelled
        """
