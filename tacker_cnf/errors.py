"""The whole error tree: each error knows its HTTP status and its sentence.

    VnfmError                      500
      BadRequest                   400
        InvalidPackage, UnknownFlavour, UnknownAspect, UnknownLevel,
        ScaleOutOfRange, UnknownVnfc, InvalidVimConnection,
        InvalidFilter, InvalidSelector, InvalidMarker, ...
      Unauthorized                 401
      Forbidden                    403
        GrantRefused
      NotFound                     404
      MethodNotAllowed             405
      NotAcceptable                406
      Conflict                     409
        WrongState, OperationInProgress, Stale, Cancelled, Repeated
      PreconditionFailed           412
      PayloadTooLarge              413
      UnsupportedMediaType         415
      RangeNotSatisfiable          416
      Unprocessable                422
        VnfdNotUsable, VnfdNotFitting, KeyReused, ScriptFailed,
        InfraError (VimUnreachable, VimRefused, NotReady),
        RemoteFailed (RemoteUnreachable, HostKeyChanged, LoginRefused)
      Unavailable                  503
        PeerFailed (PeerUnreachable)
      LostClaim                    500, inside the conductor only

A docstring is the message where none is given.
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
        #: what the HTTP answer says beside the problem
        self.headers: list[tuple[str, str]] = []

    def with_headers(self, headers: Iterable[tuple[str, str]]) -> Self:
        """Add headers to the HTTP answer."""
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
    """The query asks for a page that this service did not offer."""


class Unauthorized(VnfmError):
    """Authentication is required."""

    status = 401


class Forbidden(VnfmError):
    """The caller may not do this."""

    status = 403


class GrantRejected(Forbidden):
    """The NFVO refused to grant the operation."""


class NotFound(VnfmError):
    """There is nothing here."""

    status = 404


class MethodNotAllowed(VnfmError):
    """This resource does not support the method."""

    status = 405

    def __init__(self, method: str, allowed: Collection[str]) -> None:
        names = ", ".join(sorted(allowed))
        super().__init__(f"{method} is not possible here, only {names}.")
        self.headers.append(("Allow", names))


class NotAcceptable(VnfmError):
    """The answer cannot be given in a form that the request accepts."""

    status = 406


class Conflict(VnfmError):
    """The state of the resource does not allow this."""

    status = 409


class WrongState(Conflict):
    """The state of the resource does not allow this."""


class OperationInProgress(Conflict):
    """Another lifecycle operation of this VNF instance has not ended."""


class Leftovers(Conflict):
    """What a failed instantiation left on the VIM has to be removed first."""


class Stale(Conflict):
    """The resource has changed since it was looked at."""


class Cancelled(Conflict):
    """The operation was cancelled."""


class DuplicateRequest(Conflict):
    """The same request is being carried out at this moment."""


class PreconditionFailed(VnfmError):
    """The resource has changed since the caller saw it."""

    status = 412


class PayloadTooLarge(VnfmError):
    """The request body is larger than this server accepts."""

    status = 413


class UnsupportedMediaType(VnfmError):
    """The Content-Type of the request is not supported here."""

    status = 415


class RangeNotSatisfiable(VnfmError):
    """The file has no byte in the range that is asked for."""

    status = 416

    def __init__(self, length: int) -> None:
        super().__init__(f"Range: the file has {length} bytes.")
        self.headers.append(("Content-Range", f"bytes */{length}"))


class Unprocessable(VnfmError):
    """The request is well formed and cannot be carried out."""

    status = 422


class VnfdNotUsable(Unprocessable):
    """No enabled VNF package has this VNFD."""


class IncompatibleVnfd(Unprocessable):
    """The VNF instance cannot become one of this VNFD."""


class IdempotencyKeyReused(Unprocessable):
    """Idempotency-Key: it was given with another request before."""


class InfraError(Unprocessable):
    """The VIM could not do what was asked of it."""


class VimUnreachable(InfraError):
    """The VIM does not answer."""


class VimRejected(InfraError):
    """The VIM refused what was asked of it."""


class NotReady(InfraError):
    """What was made on the VIM did not become ready."""


class ScriptFailed(Unprocessable):
    """A management script of the VNF package failed."""

    def __init__(
        self, detail: str, data: dict[str, Any] | None = None
    ) -> None:
        super().__init__(detail)
        #: what the script wants to be told when it is run again
        self.data = data


class RemoteFailed(Unprocessable):
    """A machine of the VNF could not do what was asked of it."""


class RemoteUnreachable(RemoteFailed):
    """A machine of the VNF does not answer."""


class HostKeyChanged(RemoteFailed):
    """A machine of the VNF is not the one that it was."""


class LoginRejected(RemoteFailed):
    """A machine of the VNF refuses the login."""


class Unavailable(VnfmError):
    """A part of this service does not answer at the moment."""

    status = 503


class PeerFailed(Unavailable):
    """Another service did not answer as it has to."""


class PeerUnreachable(PeerFailed):
    """Another service does not answer."""


class LostClaim(VnfmError):
    """Another conductor has taken this operation over."""


def problem_details(error: Exception) -> ProblemDetails:
    """Tell an error as ProblemDetails; the inside of a bug stays inside."""
    vnfm_error = error if isinstance(error, VnfmError) else VnfmError()
    return ProblemDetails(
        status=vnfm_error.status,
        title=http.HTTPStatus(vnfm_error.status).phrase,
        detail=str(vnfm_error),
        user_script_err_handling_data=getattr(vnfm_error, "data", None),
    )
