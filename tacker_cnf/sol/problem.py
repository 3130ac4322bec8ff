"""The body of error responses (SOL013 clause 6)."""

from typing import Any

from tacker_cnf.sol.base import SolType


class ProblemDetails(SolType):
    """SOL013 6.3 (IETF RFC 7807): status and detail are required."""

    status: int
    detail: str
    type: str | None = None
    title: str | None = None
    instance: str | None = None
    #: extension: data that a management script stored for a retry
    user_script_err_handling_data: dict[str, Any] | None = None
