"""Conditional and idempotent requests: If-Match, If-None-Match and
Idempotency-Key.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any, Final

import pecan

from tacker_cnf import errors
from tacker_cnf.api import http
from tacker_cnf.preconditions import IdempotencyKey, Preconditions

#: RFC 9110 8.8.3; a weak tag never matches
_TAG: Final = re.compile(r'(W/)?"([^"]*)"')
_TAGS: Final = re.compile(r'\s*(W/)?"[^"]*"(\s*,\s*(W/)?"[^"]*")*\s*')
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")


def preconditions_from_request() -> Preconditions:
    """Parse If-Match and Idempotency-Key of the request.

    :raises BadRequest: one of the headers is malformed
    """
    return Preconditions(if_match=_tags(), key=_key())


def _tags() -> frozenset[str] | None:
    header = pecan.request.headers.get("If-Match")
    if header is None:
        return None
    if header.strip() == "*":
        return frozenset("*")
    if not _TAGS.fullmatch(header):
        raise errors.BadRequest(
            "If-Match: the ETag of an earlier response is required, with its "
            'quotes, as "5f1c", or *.'
        )
    found = _TAG.findall(header)
    return frozenset(tag for weak, tag in found if not weak)


def _key() -> IdempotencyKey | None:
    request = pecan.request
    caller_key = request.headers.get("Idempotency-Key")
    if caller_key is None:
        return None
    if not _KEY.fullmatch(caller_key):
        raise errors.BadRequest(
            "Idempotency-Key: 1 to 255 visible ASCII characters are required."
        )
    context = request.environ[http.CONTEXT]
    request_line = f"{request.method} {request.path_qs}".encode()
    body = request.environ.get(http.REQUEST_BODY, b"")
    return IdempotencyKey(
        id=_digest(
            f"{context.project_id}\n{context.user_id}\n{caller_key}".encode()
        ),
        fingerprint=_digest(request_line, body),
    )


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\n".join(parts)).hexdigest()


def respond(
    read_tag: Callable[[], str], read: Callable[[], tuple[Any, str]]
) -> Any:
    """Return a resource with its ETag header, or 304 if the client has that
    version of it (If-None-Match): then only the entity tag is read.

    :param read: returns the resource and its entity tag
    """
    header = pecan.request.headers.get("If-None-Match", "").strip()
    is_any = header == "*"
    known = {found for _, found in _TAG.findall(header)}
    if known or is_any:
        tag = read_tag()
        if tag in known or is_any:
            _set_tag(tag)
            return http.empty_response(304)
    resource, tag = read()
    _set_tag(tag)
    return resource


def _set_tag(tag: str) -> None:
    pecan.response.headers["ETag"] = f'"{tag}"'
