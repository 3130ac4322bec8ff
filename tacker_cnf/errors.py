"""The error classes, each with its HTTP status and default message.

    VnfmError                      500
      BadRequest                   400
        InvalidPackage, UnknownFlavour, UnknownAspect, UnknownLevel,
        ScaleOutOfRange, NotScalable, UnknownVnfc, InvalidParameters,
        InvalidVimConnection, InvalidFilter, InvalidSelector, InvalidMarker
      Unauthorized                 401
      Forbidden                    403
        GrantRejected, QuotaExceeded
      NotFound                     404
      MethodNotAllowed             405
      NotAcceptable                406
      RequestTimeout               408
      Conflict                     409
        WrongState, OperationInProgress, Leftovers, Stale, Cancelled,
        DuplicateRequest
      PreconditionFailed           412
      PayloadTooLarge              413
      UnsupportedMediaType         415
      RangeNotSatisfiable          416
      Unprocessable                422
        VnfdNotUsable (UnknownVnfd), IncompatibleVnfd, IdempotencyKeyReused,
        ScriptFailed, VimPolicyViolation,
        InfraError (VimUnreachable (VimUnavailable), VimRejected, NotReady),
        RemoteFailed (RemoteUnreachable, HostKeyChanged, HostKeyUnknown,
        LoginRejected)
      TooManyOperations            429
      Unavailable                  503
        PeerFailed (PeerUnreachable)
      InsufficientStorage          507
      LeaseLost                    500, inside the conductor only

The docstring of a class is the message of an error raised without one.
"""

import http
from collections.abc import Collection, Iterable
from typing import Any, ClassVar, Self

from tacker_cnf.sol.problem import ProblemDetails


class VnfmError(Exception):
    """The VNFM met an unexpected condition."""

    status: ClassVar[int] = 500

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail or type(self).__doc__)
        #: headers of the HTTP response: (name, value)
        self.headers: list[tuple[str, str]] = []

    def with_headers(self, headers: Iterable[tuple[str, str]]) -> Self:
        """Add headers to the HTTP response; return this error."""
        self.headers += headers
        return self


class BadRequest(VnfmError):
    """The request is not valid."""

    status = 400


class InvalidPackage(BadRequest):
    """The VNF package is not valid."""


class UnknownFlavour(BadRequest):
    """The VNFD has no such deployment flavour."""


class UnknownLevel(BadRequest):
    """The deployment flavour has no such instantiation level."""


class UnknownAspect(BadRequest):
    """The VNF has no such scaling aspect."""


class ScaleOutOfRange(BadRequest):
    """The scale level would leave its range."""


class NotScalable(BadRequest):
    """This part of the VNF cannot be scaled."""


class UnknownVnfc(BadRequest):
    """The VNF instance has no such VNFC instance."""


class InvalidParameters(BadRequest):
    """The additionalParams of the request are not valid."""


class InvalidVimConnection(BadRequest):
    """The VIM connection information is not valid."""


class InvalidFilter(BadRequest):
    """The filter of the query is not valid."""


class InvalidSelector(BadRequest):
    """The attribute selectors of the query are not valid."""


class InvalidMarker(BadRequest):
    """The page marker of the query was not issued by this service."""


class Unauthorized(VnfmError):
    """Authentication is required."""

    status = 401


class Forbidden(VnfmError):
    """The client is not authorized to send this request."""

    status = 403


class GrantRejected(Forbidden):
    """The NFVO refused to grant the operation."""


class QuotaExceeded(Forbidden):
    """The project has no quota left for this request."""


class NotFound(VnfmError):
    """The resource does not exist."""

    status = 404


class MethodNotAllowed(VnfmError):
    """This resource does not support the method."""

    status = 405

    def __init__(self, method: str, allowed: Collection[str]) -> None:
        names = ", ".join(sorted(allowed))
        super().__init__(f"{method} is not possible here, only {names}.")
        self.headers.append(("Allow", names))


class NotAcceptable(VnfmError):
    """The response has no media type that the request accepts."""

    status = 406


class RequestTimeout(VnfmError):
    """The request did not arrive completely in the time that is allowed."""

    status = 408


class Conflict(VnfmError):
    """The state of the resource does not allow this request."""

    status = 409


class WrongState(Conflict):
    """The state of the resource does not allow this request."""


class OperationInProgress(Conflict):
    """Another lifecycle operation of this VNF instance has not ended."""


class Leftovers(Conflict):
    """Objects of a failed instantiation are still on the VIM."""


class Stale(Conflict):
    """The resource has changed since it was read."""


class Cancelled(Conflict):
    """The operation was cancelled."""


class DuplicateRequest(Conflict):
    """The same request is still being processed."""


class PreconditionFailed(VnfmError):
    """The resource has changed since the client read it."""

    status = 412


class PayloadTooLarge(VnfmError):
    """The request body is larger than this server accepts."""

    status = 413


class UnsupportedMediaType(VnfmError):
    """The resource does not support the Content-Type of the request."""

    status = 415


class RangeNotSatisfiable(VnfmError):
    """The requested range is outside of the file."""

    status = 416

    def __init__(self, length: int) -> None:
        super().__init__(f"Range: the file has {length} bytes.")
        self.headers.append(("Content-Range", f"bytes */{length}"))


class Unprocessable(VnfmError):
    """The request is well-formed but cannot be processed."""

    status = 422


class VnfdNotUsable(Unprocessable):
    """No enabled VNF package has this VNFD."""


class UnknownVnfd(VnfdNotUsable):
    """No VNF package has this VNFD."""


class IncompatibleVnfd(Unprocessable):
    """The VNF instance is not compatible with this VNFD."""


class IdempotencyKeyReused(Unprocessable):
    """Idempotency-Key: the key was already used with another request."""


class VimPolicyViolation(Unprocessable):
    """The policy of the VIM does not allow what the VNF package contains."""


class InfraError(Unprocessable):
    """The VIM failed to process a request."""


class VimUnreachable(InfraError):
    """The VIM does not answer."""


class VimUnavailable(VimUnreachable):
    """The VIM does not answer now; a retry after some seconds may succeed."""


class VimRejected(InfraError):
    """The VIM rejected a request."""


class NotReady(InfraError):
    """The resources created on the VIM did not become ready."""


class ScriptFailed(Unprocessable):
    """A management script of the VNF package failed."""

    def __init__(
        self, detail: str, data: dict[str, Any] | None = None
    ) -> None:
        super().__init__(detail)
        #: passed to the script as userScriptErrHandlingData when it is run
        #: again; the script defines the keys
        self.data = data


class RemoteFailed(Unprocessable):
    """A machine of the VNF failed to run a command."""


class RemoteUnreachable(RemoteFailed):
    """A machine of the VNF does not answer."""


class HostKeyChanged(RemoteFailed):
    """The SSH host key of a machine of the VNF has changed."""


class HostKeyUnknown(RemoteFailed):
    """The SSH host key of a machine of the VNF is not known."""


class LoginRejected(RemoteFailed):
    """A machine of the VNF rejected the login."""


class TooManyOperations(VnfmError):
    """The project has as many running lifecycle operations as it may have."""

    status = 429


class Unavailable(VnfmError):
    """A component of this service is unavailable."""

    status = 503


class PeerFailed(Unavailable):
    """Another service sent an invalid response."""


class PeerUnreachable(PeerFailed):
    """Another service does not answer."""


class InsufficientStorage(VnfmError):
    """The disk of this service has no space for the request."""

    status = 507


class LeaseLost(VnfmError):
    """Another process owns the lease now."""


def problem_details(error: Exception) -> ProblemDetails:
    """Convert an error to ProblemDetails, without the text of a bug."""
    vnfm_error = error if isinstance(error, VnfmError) else VnfmError()
    return ProblemDetails(
        status=vnfm_error.status,
        title=http.HTTPStatus(vnfm_error.status).phrase,
        detail=str(vnfm_error),
        user_script_err_handling_data=getattr(vnfm_error, "data", None),
    )
