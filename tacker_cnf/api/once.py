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
from tacker_cnf.terms import Key, Terms

#: RFC 9110 8.8.3; what is weak is never what was meant
_TAG: Final = re.compile(r'(W/)?"([^"]*)"')
_TAGS: Final = re.compile(r'\s*(W/)?"[^"]*"(\s*,\s*(W/)?"[^"]*")*\s*')
_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")


class Once:
    """Lets a request act once, however often it comes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, ask: Callable[[Terms], str]) -> str:
        """Ask, unless the same was asked before; give the id of what was
        made, now or then.

        :param ask: keeps the key of its terms in the transaction that makes
            something (`idempotency.keep`), and gives the id of that
        :raises KeyReused: the key was another request's
        """
        terms = of_request()
        made = self.before()
        if made is not None:
            return made
        try:
            return ask(terms)
        except errors.VnfmError:
            # perhaps its twin was first, and is what stands in its way
            made = self.before()
            if made is None:
                raise
            return made

    def before(self) -> str | None:
        """Tell what an earlier request with the key of this one made.

        :raises KeyReused: that was another request
        """
        key = _key()
        return None if key is None else self._find(key)

    @transaction
    def _find(self, key: Key) -> str | None:
        with self._store.reader() as session:
            return idempotency.find(session, key)


def of_request() -> Terms:
    """Read the terms of the request that is being answered.

    :raises BadRequest: its Idempotency-Key or its If-Match is not one
    """
    return Terms(tags=_tags(), key=_key())


def _tags() -> frozenset[str] | None:
    given = pecan.request.headers.get("If-Match")
    if given is None:
        return None
    if given.strip() == "*":
        return frozenset("*")
    if not _TAGS.fullmatch(given):
        raise errors.BadRequest(
            "If-Match: the ETag of an earlier answer is needed, with its "
            'quotes, as "5f1c", or *.'
        )
    found = _TAG.findall(given)
    return frozenset(tag for weak, tag in found if not weak)


def _key() -> Key | None:
    request = pecan.request
    chosen = request.headers.get("Idempotency-Key")
    if chosen is None:
        return None
    if not _KEY.fullmatch(chosen):
        raise errors.BadRequest(
            "Idempotency-Key: 1 to 255 visible ASCII characters are needed."
        )
    context = request.environ[http.CONTEXT]
    asked = f"{request.method} {request.path_qs}".encode()
    body = request.environ.get(http.CONTENT, b"")
    return Key(
        id=_digest(
            f"{context.project_id}\n{context.user_id}\n{chosen}".encode()
        ),
        fingerprint=_digest(asked, body),
    )


def _digest(*parts: bytes) -> str:
    return hashlib.sha256(b"\n".join(parts)).hexdigest()


def is_known(tag: str) -> bool:
    """Name the state that is answered, and tell whether the caller has it
    (If-None-Match).
    """
    pecan.response.headers["ETag"] = f'"{tag}"'
    given = pecan.request.headers.get("If-None-Match", "")
    seen = {found for _, found in _TAG.findall(given)}
    return given.strip() == "*" or tag in seen
