"""Mask the values that are not shown in texts.

A text may contain a value in another form, such as in base64, which is not
found: the masking limits accidents, not attacks by the code of a package.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm.redaction import VIM_CONNECTIONS
from tacker_cnf.lcm.shown_names import (
    DEFAULT,
    FREE_FORM,
    INFO_METADATA,
    METADATA,
    SCRIPT_DATA,
    VIM_NAMES,
    ShownNames,
    is_shown_of_vim,
)
from tacker_cnf.sol.problem import ProblemDetails

#: shorter values are not masked: they are in many words
MIN_SECRET_CHARS: Final = 4
#: metadata with manifests of the package, whose names are in all messages
MANIFESTS: Final = "vdu_reses"
#: input of scripts, whose names they choose
SCRIPT_MEMORY: Final = "memory"
#: a simple value as text, and whether it is hidden
Leaf = tuple[str, bool]


def secrets_of(*values: Any, names: ShownNames = DEFAULT) -> frozenset[str]:
    """Return the hidden values in the JSON of SOL003 values, such as a
    request, that are not shown elsewhere in them.
    """
    found = [leaf for value in values for leaf in _leaves(value, names)]
    shown = {text for text, hidden in found if not hidden}
    return frozenset(
        text
        for text, hidden in found
        if hidden and len(text) >= MIN_SECRET_CHARS and text not in shown
    )


def _leaves(value: Any, names: ShownNames) -> Iterator[Leaf]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves_of_member(name, inner, names)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner, names)
    else:
        yield from _texts(value, hidden=False)


def _leaves_of_member(
    name: str, value: Any, names: ShownNames
) -> Iterator[Leaf]:
    if not isinstance(value, Mapping):
        yield from _leaves(value, names)
    elif name == SCRIPT_MEMORY:
        yield from _entries(value, SCRIPT_DATA, names)
    elif name in FREE_FORM:
        yield from _entries(value, name, names)
    elif name == "instantiatedVnfInfo":
        yield from _of_info(value, names)
    elif name == VIM_CONNECTIONS:
        for connection in value.values():
            yield from _of_connection(connection or {})
    else:
        yield from _leaves(value, names)


def _entries(
    value: Mapping[str, Any], attribute: str, names: ShownNames
) -> Iterator[Leaf]:
    for name, inner in value.items():
        yield from _texts(inner, hidden=not names.shows(attribute, name))


def _of_info(value: Mapping[str, Any], names: ShownNames) -> Iterator[Leaf]:
    metadata = {
        name: inner
        for name, inner in (value.get(METADATA) or {}).items()
        if name != MANIFESTS
    }
    yield from _entries(metadata, INFO_METADATA, names)
    resources = {name: v for name, v in value.items() if name != METADATA}
    yield from _leaves(resources, names)


def _of_connection(connection: Mapping[str, Any]) -> Iterator[Leaf]:
    for attribute in VIM_NAMES:
        for name, inner in (connection.get(attribute) or {}).items():
            shown = is_shown_of_vim(attribute, name)
            yield from _texts(inner, hidden=not shown)


def _texts(value: Any, *, hidden: bool) -> Iterator[Leaf]:
    """Return all simple values in a value."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner, hidden=hidden)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, hidden=hidden)
    elif value and not isinstance(value, bool):
        yield str(value), hidden


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

    def problem(self, error: Exception) -> ProblemDetails:
        """Return the problem details of an error, with masked secrets."""
        found = errors.problem_details(error)
        return msgspec.structs.replace(found, detail=self(found.detail))

    def end_of_secret(self, text: str, position: int) -> int:
        """Return a position, moved behind the secret that it is in, if any."""
        found = self._pattern.finditer(text) if self._pattern else ()
        ends = (m.end() for m in found if m.start() < position < m.end())
        return next(ends, position)
