"""Mask secrets in texts."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from tacker_cnf.lcm.redaction import SecretPredicate, is_secret_pair
from tacker_cnf.lcm.secret_names import (
    is_access,
    is_secret,
    is_secret_access,
)


def secrets_of(value: Any) -> frozenset[str]:
    """Return the secrets in a JSON value, found by attribute name."""
    return frozenset(_secrets(value, is_secret, hidden=False))


def _secrets(
    value: Any, is_hidden: SecretPredicate, *, hidden: bool
) -> Iterator[str]:
    if isinstance(value, dict):
        pair = is_secret_pair(value)
        for name, inner in value.items():
            secret = is_hidden(name) or (pair and name == "value")
            if name == "secret" and isinstance(inner, dict):
                secret = False  # a manifest that refers to a Secret
            inside = is_secret_access if is_access(name) else is_secret
            yield from _secrets(inner, inside, hidden=hidden or secret)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _secrets(inner, is_hidden, hidden=hidden)
    elif hidden and value and not isinstance(value, bool):
        yield str(value)


class SecretMasker:
    """Masks known secrets in texts."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # a program may print a certificate's key line by line
        parts = {
            part.strip()
            for secret in secrets
            for part in (secret, *secret.splitlines())
            if part.strip()
        }
        #: size of the longest secret
        self.max_secret_bytes = max(
            (len(s.encode()) for s in parts), default=0
        )
        # longest first: a secret may begin with another one
        choices = sorted(map(re.escape, parts), key=len, reverse=True)
        self._pattern = re.compile("|".join(choices)) if parts else None

    def __call__(self, text: str) -> str:
        """Return the text with each secret replaced by stars."""
        return self._pattern.sub("***", text) if self._pattern else text

    def end_of_secret(self, text: str, position: int) -> int:
        """Return a position, moved behind the secret that it is in, if any."""
        found = self._pattern.finditer(text) if self._pattern else ()
        ends = (m.end() for m in found if m.start() < position < m.end())
        return next(ends, position)
