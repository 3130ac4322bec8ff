"""An NFVO for tests: fails as configured and records the requests."""

from tacker_cnf.nfvo.local import LocalNfvo
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.grant import Grant, GrantRequest


class FakeNfvo(LocalNfvo):
    """Grants every operation, unless ``fails_with`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[GrantRequest] = []
        self.fails_with: Exception | None = None

    def grant(
        self,
        request: GrantRequest,
        cancel_token: CancelToken,
        deadline: Deadline,
    ) -> Grant:
        self.requests.append(request)
        if self.fails_with:
            raise self.fails_with
        return super().grant(request, cancel_token, deadline)
