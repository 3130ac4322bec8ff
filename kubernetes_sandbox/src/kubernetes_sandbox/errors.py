"""API errors, each of which becomes a Status."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubernetes_sandbox.objects import Obj

_OBJECT_TYPES = (
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
)


class ApiError(Exception):
    """A request that the API server rejects."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Obj | None = None,
        metadata: Obj | None = None,
    ) -> None:
        super().__init__(message)
        self.metadata = metadata or {}
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def as_status(self) -> Obj:
        """Build the Status of the response."""
        status: Obj = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
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
    """One cause in the details of an error."""

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
    """Build the cause for a missing field."""
    message = f"Required value: {hint}" if hint else "Required value"
    return Cause(field, "FieldValueRequired", message)


def invalid_value(field: str, value: Any, reason_text: str) -> Cause:
    """Build the cause for an invalid value."""
    shown = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    message = f"Invalid value: {shown}: {reason_text}"
    return Cause(field, "FieldValueInvalid", message)


def unsupported(field: str, value: Any, allowed: Sequence[str]) -> Cause:
    """Build the cause for a value that is not in the enumeration."""
    listed = ", ".join(f'"{one}"' for one in allowed)
    message = f'Unsupported value: "{value}": supported values: {listed}'
    return Cause(field, "FieldValueNotSupported", message)


def forbidden_value(field: str, reason_text: str) -> Cause:
    """Build the cause for a field that is not allowed."""
    return Cause(field, "FieldValueForbidden", f"Forbidden: {reason_text}")


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
    """Build the 404 of an object."""
    return ApiError(
        404,
        "NotFound",
        f'{_qualified(plural, group)} "{name}" not found',
        _identity(name, group, plural),
    )


def no_such_resource() -> ApiError:
    """Build the 404 of a resource or subresource."""
    message = "the server could not find the requested resource"
    return ApiError(404, "NotFound", message, {})


def already_exists(
    plural: str, group: str, name: str, *, deleting: bool = False
) -> ApiError:
    """Build the 409 of a name that exists."""
    message = f'{_qualified(plural, group)} "{name}" already exists'
    if deleting:
        message = f"object is being deleted: {message}"
    return ApiError(
        409, "AlreadyExists", message, _identity(name, group, plural)
    )


def conflict(
    plural: str, group: str, name: str, reason_text: str = ""
) -> ApiError:
    """Build the 409 of a stale version or an unmet precondition."""
    reason_text = reason_text or (
        "the object has been modified; please apply your changes to the"
        " latest version and try again"
    )
    return ApiError(
        409,
        "Conflict",
        "Operation cannot be fulfilled on"
        f' {_qualified(plural, group)} "{name}": {reason_text}',
        _identity(name, group, plural),
    )


def invalid(
    kind: str, group: str, name: str, causes: Sequence[Cause]
) -> ApiError:
    """Build the 422 of an invalid object."""
    messages = list(
        dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes)
    )
    listed = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
    details = _identity(name, group, kind)
    details["causes"] = [cause.as_detail() for cause in causes]
    return ApiError(
        422,
        "Invalid",
        f'{_qualified(kind, group)} "{name}" is invalid: {listed}',
        details,
    )


def forbidden(
    plural: str,
    group: str,
    name: str,
    reason_text: str,
    causes: Sequence[Cause] = (),
) -> ApiError:
    """Build the 403 of an admission plug-in."""
    shown = f' "{name}"' if name else ""
    details = _identity(name, group, plural)
    if causes:
        details["causes"] = [cause.as_detail() for cause in causes]
    return ApiError(
        403,
        "Forbidden",
        f"{_qualified(plural, group)}{shown} is forbidden: {reason_text}",
        details,
    )


def bad_request(message: str) -> ApiError:
    """Build the 400 of a request that cannot be decoded."""
    return ApiError(400, "BadRequest", message)


def method_not_allowed() -> ApiError:
    """Build the 405 of a verb that the resource does not have."""
    return ApiError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        {},
    )


def unsupported_media_type(
    accepted: Sequence[str] = _OBJECT_TYPES,
) -> ApiError:
    """Build the 415 of a body whose media type is not supported."""
    return ApiError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media"
        f" types include: {', '.join(accepted)}",
    )


def unauthorized() -> ApiError:
    """Build the 401 of an unknown caller."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def too_many_requests(message: str, causes: Sequence[Cause]) -> ApiError:
    """Build the 429 of an eviction."""
    shown = [
        {"reason": cause.reason, "message": cause.message} for cause in causes
    ]
    return ApiError(429, "TooManyRequests", message, {"causes": shown})


def continue_expired(token: str) -> ApiError:
    """Build the 410 of a continue token whose resourceVersion was compacted.

    :param token: continues with the latest objects
    """
    return ApiError(
        410,
        "Expired",
        "The provided continue parameter is too old to display a consistent"
        " list result. You can start a new list without the continue"
        " parameter, or use the continue token in this response to retrieve"
        " the remainder of the results. Continuing with the provided token"
        " results in an inconsistent list - objects that were created,"
        " modified, or deleted between the time the first chunk was returned"
        " and now may show up in the list.",
        metadata={"continue": token},
    )


def expired(requested: int, oldest: int) -> ApiError:
    """Build the 410 of a resourceVersion that was compacted."""
    message = f"too old resource version: {requested} ({oldest})"
    return ApiError(410, "Expired", message)
