"""Conditional and idempotent requests: If-Match, If-None-Match and
Idempotency-Key.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Final

import pecan

from tacker_cnf import errors
from tacker_cnf.api import http
from tacker_cnf.db import idempotency
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.preconditions import IdempotencyKey, Preconditions

#: RFC 9110 8.8.3; a weak tag never matches
_TAG: Final = re.compile(r'(W/)?"([^"]*)"')
_TAGS: Final = re.compile(r'\s*(W/)?"[^"]*"(\s*,\s*(W/)?"[^"]*")*\s*')
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")


class IdempotentRequest:
    """Runs the action of a request once for each Idempotency-Key."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, action: Callable[[Preconditions], str]) -> str:
        """Run the action, unless an earlier request had the same key; return
        the id of the resource that was created now or then.

        :param action: records the key of its preconditions in the transaction
            that creates the resource (`idempotency.record`), and returns the
            id of the resource
        :raises IdempotencyKeyReused: another request used the key
        """
        preconditions = preconditions_from_request()
        resource_id = self.find_previous()
        if resource_id is not None:
            return resource_id
        try:
            return action(preconditions)
        except errors.VnfmError:
            # a concurrent request with the same key may be the cause
            resource_id = self.find_previous()
            if resource_id is None:
                raise
            return resource_id

    def find_previous(self) -> str | None:
        """Return the id of the resource that an earlier request with the same
        key created; None: there was no such request.

        :raises IdempotencyKeyReused: another request used the key
        """
        key = _key()
        return None if key is None else self._find(key)

    @transaction
    def _find(self, key: IdempotencyKey) -> str | None:
        with self._store.reader() as session:
            return idempotency.find(session, key)


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


def is_not_modified(tag: str) -> bool:
    """Set the ETag header, and check whether the client has that version of
    the resource (If-None-Match).
    """
    pecan.response.headers["ETag"] = f'"{tag}"'
    header = pecan.request.headers.get("If-None-Match", "")
    tags = {found for _, found in _TAG.findall(header)}
    return header.strip() == "*" or tag in tags
