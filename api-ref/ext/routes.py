"""The routes that the program has, and those that the reference describes."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tacker_cnf.api import app as service
from tacker_cnf.api import middleware
from tacker_cnf.sol.api import Api

Route = tuple[str, str]

REST_METHOD: Final = re.compile(
    r"^\.\. rest_method:: +(\w+) +(\S+)", re.MULTILINE
)
#: paths of the openstack command, which the text mentions
ALIASES: Final = frozenset({"/v1.0/vims.json"})
#: paths that are described under another root only
SAME: Final = (
    middleware.SHORT_ROOT + "/",
    Api.PACKAGES_V2.root + "/vnf_packages",
    Api.PACKAGES_V2.root + "/subscriptions",
)


def table() -> Mapping[str, Mapping[str, Any]]:
    """Return the routes of the program and their handlers."""
    names = (field.name for field in dataclasses.fields(service.Services))
    nothing: Any = dict.fromkeys(names)
    return service.routes(service.Services(**nothing))


def declared() -> set[Route]:
    """Return the routes of the program, each under one root."""
    return set(_routes(table()))


def _routes(table: Mapping[str, Mapping[str, Any]]) -> Iterator[Route]:
    for path, methods in table.items():
        if path not in ALIASES and not path.startswith(SAME):
            yield from ((method, _nameless(path)) for method in methods)


def described(source: Path) -> set[Route]:
    """Return the routes that the reference describes."""
    return {
        (method, _nameless(path))
        for file in source.iterdir()
        if file.suffix in {".inc", ".rst"}
        for method, path in REST_METHOD.findall(file.read_text())
    }


def _nameless(path: str) -> str:
    """Return a path without the names of its variables."""
    return re.sub(r"\{\w+\}", "{}", path)


def faults(source: Path) -> list[str]:
    """Return the differences between the reference and the program."""
    program, reference = declared(), described(source)
    missing = [f"{m} {p} is not described" for m, p in program - reference]
    unknown = [f"{m} {p} does not exist" for m, p in reference - program]
    return sorted([*missing, *unknown])
