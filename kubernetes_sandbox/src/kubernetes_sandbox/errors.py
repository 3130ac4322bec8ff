"""The errors of the API: each one becomes a Status object."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubernetes_sandbox.objects import Obj


class ApiError(Exception):
    """A request that the API server refuses."""

    def __init__(
        self, code: int, reason: str, message: str, details: Obj | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def as_status(self) -> Obj:
        """Build the Status object of the answer."""
        status: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


@dataclass(frozen=True)
class Cause:
    """One thing that is wrong with an object."""

    field: str
    reason: str
    message: str

    def as_detail(self) -> Obj:
        """Build the entry of details.causes."""
        return {
            "reason": self.reason,
            "message": self.message,
            "field": self.field,
        }


def required(field: str, hint: str = "") -> Cause:
    """A field that must be there is absent."""
    message = f"Required value: {hint}" if hint else "Required value"
    return Cause(field, "FieldValueRequired", message)


def invalid_value(field: str, value: Any, why: str) -> Cause:
    """A field's value breaks a rule."""
    shown = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    message = f"Invalid value: {shown}: {why}"
    return Cause(field, "FieldValueInvalid", message)


def unsupported(field: str, value: Any, allowed: Sequence[str]) -> Cause:
    """A field's value is none of those that exist."""
    listed = ", ".join(f'"{one}"' for one in allowed)
    message = f'Unsupported value: "{value}": supported values: {listed}'
    return Cause(field, "FieldValueNotSupported", message)


def forbidden_value(field: str, why: str) -> Cause:
    """A field may not be what it is, or not change."""
    return Cause(field, "FieldValueForbidden", f"Forbidden: {why}")


def _identity(name: str, group: str, kind: str) -> Obj:
    details: Obj = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    return details


def _qualified(kind: str, group: str) -> str:
    return f"{kind}.{group}" if group else kind


def not_found(plural: str, group: str, name: str) -> ApiError:
    """No such object."""
    return ApiError(
        404,
        "NotFound",
        f'{_qualified(plural, group)} "{name}" not found',
        _identity(name, group, plural),
    )


def no_such_resource() -> ApiError:
    """No such kind or subresource."""
    message = "the server could not find the requested resource"
    return ApiError(404, "NotFound", message, {})


def already_exists(
    plural: str, group: str, name: str, *, deleting: bool = False
) -> ApiError:
    """The name is taken."""
    message = f'{_qualified(plural, group)} "{name}" already exists'
    if deleting:
        message = f"object is being deleted: {message}"
    return ApiError(
        409, "AlreadyExists", message, _identity(name, group, plural)
    )


def conflict(plural: str, group: str, name: str, why: str = "") -> ApiError:
    """The object changed since it was read, or is not the one meant."""
    why = why or (
        "the object has been modified; please apply your changes to the"
        " latest version and try again"
    )
    return ApiError(
        409,
        "Conflict",
        "Operation cannot be fulfilled on"
        f' {_qualified(plural, group)} "{name}": {why}',
        _identity(name, group, plural),
    )


def invalid(
    kind: str, group: str, name: str, causes: Sequence[Cause]
) -> ApiError:
    """The object breaks rules."""
    told = [f"{cause.field}: {cause.message}" for cause in causes]
    listed = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    details = _identity(name, group, kind)
    details["causes"] = [cause.as_detail() for cause in causes]
    return ApiError(
        422,
        "Invalid",
        f'{_qualified(kind, group)} "{name}" is invalid: {listed}',
        details,
    )


def forbidden(
    plural: str, group: str, name: str, why: str, causes: Sequence[Cause] = ()
) -> ApiError:
    """The caller, or the state of the cluster, does not allow it."""
    shown = f' "{name}"' if name else ""
    details = _identity(name, group, plural)
    if causes:
        details["causes"] = [cause.as_detail() for cause in causes]
    return ApiError(
        403,
        "Forbidden",
        f"{_qualified(plural, group)}{shown} is forbidden: {why}",
        details,
    )


def bad_request(message: str) -> ApiError:
    """The request cannot be read."""
    return ApiError(400, "BadRequest", message)


def method_not_allowed() -> ApiError:
    """The resource has no such verb."""
    return ApiError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        {},
    )


def unsupported_media_type() -> ApiError:
    """The body comes in a format that is not taken."""
    return ApiError(
        415, "UnsupportedMediaType", "415: Unsupported Media Type", {}
    )


def unauthorized() -> ApiError:
    """The caller is nobody that is known."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def too_many_requests(message: str, causes: Sequence[Cause]) -> ApiError:
    """A disruption budget says not now."""
    shown = [
        {"reason": cause.reason, "message": cause.message} for cause in causes
    ]
    return ApiError(429, "TooManyRequests", message, {"causes": shown})


def expired(asked: int, oldest: int) -> ApiError:
    """The resourceVersion lies further back than the history goes."""
    message = f"too old resource version: {asked} ({oldest})"
    return ApiError(410, "Expired", message)
