"""The terms that a request has in its headers, and that it acts only once."""

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

#: RFC 9110 8.8.3; what is weak is never what was meant
_TAG: Final = re.compile(r'(W/)?"([^"]*)"')
_TAGS: Final = re.compile(r'\s*(W/)?"[^"]*"(\s*,\s*(W/)?"[^"]*")*\s*')
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")


class IdempotentRequest:
    """Lets a request act once, however often it comes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, action: Callable[[Preconditions], str]) -> str:
        """Ask, unless the same was asked before; give the id of what was
        made, now or then.

        :param action: keeps the key of its terms in the transaction that makes
            something (`idempotency.keep`), and gives the id of that
        :raises IdempotencyKeyReused: the key was another request's
        """
        preconditions = preconditions_from_request()
        resource_id = self.find_previous()
        if resource_id is not None:
            return resource_id
        try:
            return action(preconditions)
        except errors.VnfmError:
            # perhaps its twin was first, and is what stands in its way
            resource_id = self.find_previous()
            if resource_id is None:
                raise
            return resource_id

    def find_previous(self) -> str | None:
        """Tell what an earlier request with the key of this one made.

        :raises IdempotencyKeyReused: that was another request
        """
        key = _key()
        return None if key is None else self._find(key)

    @transaction
    def _find(self, key: IdempotencyKey) -> str | None:
        with self._store.reader() as session:
            return idempotency.find(session, key)


def preconditions_from_request() -> Preconditions:
    """Read the terms of the request that is being answered.

    :raises BadRequest: its Idempotency-Key or its If-Match is not one
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
            "If-Match: the ETag of an earlier answer is needed, with its "
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
            "Idempotency-Key: 1 to 255 visible ASCII characters are needed."
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
    """Name the state that is answered, and tell whether the caller has it
    (If-None-Match).
    """
    pecan.response.headers["ETag"] = f'"{tag}"'
    header = pecan.request.headers.get("If-None-Match", "")
    tags = {found for _, found in _TAG.findall(header)}
    return header.strip() == "*" or tag in tags
