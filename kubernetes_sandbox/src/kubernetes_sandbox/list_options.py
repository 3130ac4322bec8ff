"""The parameters of lists and watches, and lists at a resourceVersion."""

from collections.abc import Mapping

from kubernetes_sandbox import errors
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.store import Entry, Store

_MATCH = "resourceVersionMatch"
_MATCHES = ("Exact", "NotOlderThan")
_NUMBERS = ("limit", "timeoutSeconds")
_FALSE = frozenset({"", "0", "f", "F", "false", "False", "FALSE"})


def is_watch(query: Mapping[str, str]) -> bool:
    """Return whether a list is a watch; only false values are not."""
    return query.get("watch", "") not in _FALSE


def check(query: Mapping[str, str]) -> None:
    """Reject invalid parameters.

    :raises ApiError: 400 or 422
    """
    for name in _NUMBERS:
        value = query.get(name) or "0"
        if not value.removeprefix("-").isdigit():
            raise errors.bad_request(
                f'strconv.ParseInt: parsing "{value}": invalid syntax'
            )
    causes = list(_causes(query))
    if causes:
        raise errors.invalid("ListOptions", "meta.k8s.io", "", causes)


def _causes(query: Mapping[str, str]) -> list[errors.Cause]:
    match, version = query.get(_MATCH), query.get("resourceVersion")
    initial, watch = query.get("sendInitialEvents"), is_watch(query)
    why = []
    if watch and initial is not None and match != "NotOlderThan":
        why.append(
            "sendInitialEvents requires setting resourceVersionMatch to"
            " NotOlderThan"
        )
    elif watch and initial is None and match:
        why.append(
            "resourceVersionMatch is forbidden for watch unless"
            " sendInitialEvents is provided"
        )
    elif not watch and match and not version:
        why.append(
            "resourceVersionMatch is forbidden unless resourceVersion is"
            " provided"
        )
    causes = [errors.forbidden_value(_MATCH, one) for one in why]
    if match == "Exact" and version == "0":
        causes.append(
            errors.forbidden_value(
                _MATCH,
                'resourceVersionMatch "exact" is forbidden for'
                ' resourceVersion "0"',
            )
        )
    if match and match not in _MATCHES:
        causes.append(errors.unsupported(_MATCH, match, (*_MATCHES, "")))
    if initial is not None and not watch:
        causes.append(
            errors.forbidden_value(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            )
        )
    return causes


def resource_version(query: Mapping[str, str], store: Store) -> int:
    """Return the resourceVersion that a read asks for; 0 is any.

    :raises ApiError: it is not a number, or in the future
    """
    given = query.get("resourceVersion") or "0"
    fault = syntax_error(given)
    if fault is not None:
        raise errors.bad_request(f"invalid resource version: {fault}")
    version = int(given)
    if version > store.version:
        raise _too_large(version, store.version)
    return version


def syntax_error(version: str) -> str | None:
    """Return why a resourceVersion cannot be parsed, if it cannot."""
    if version.isdigit():
        return None
    return (
        f'resourceVersion: Invalid value: "{version}": strconv.ParseUint:'
        f' parsing "{version}": invalid syntax'
    )


def _too_large(version: int, current: int) -> ApiError:
    cause = {
        "reason": "ResourceVersionTooLarge",
        "message": "Too large resource version",
    }
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {version}, current: {current}",
        {"causes": [cause], "retryAfterSeconds": 1},
    )


def entries(
    store: Store, key: str, namespace: str, query: Mapping[str, str]
) -> list[Entry]:
    """List a kind, at an exact resourceVersion if the list asks for it.

    :raises ApiError: the version is not valid, in the future or compacted
    """
    version = resource_version(query, store)
    if query.get(_MATCH) != "Exact":
        return store.entries(key, namespace)
    try:
        return store.entries_at(key, namespace, version)
    except ApiError as error:
        raise ApiError(
            410,
            "Expired",
            "The resourceVersion for the provided list is too old.",
        ) from error
