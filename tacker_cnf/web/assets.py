"""The static files of the page, under URLs with a digest of their content."""

import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import Final, NamedTuple

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_DIGEST_CHARS: Final = 16


class Asset(NamedTuple):
    """A static file."""

    name: str
    content_type: str
    content: bytes
    digest: str


def _read() -> Mapping[str, Asset]:
    found = {}
    for file in resources.files("tacker_cnf.web").joinpath("static").iterdir():
        content = file.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:_DIGEST_CHARS]
        kind = _TYPES[file.name[file.name.rindex(".") :]]
        found[file.name] = Asset(file.name, kind, content, digest)
    return found


ASSETS: Final = _read()


def path_of(name: str) -> str:
    """Return the path of a file below the root of the page."""
    return f"/static/{ASSETS[name].digest}/{name}"
