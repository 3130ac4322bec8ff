"""Check what the code of a package imports from the reference implementation."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tacker_cnf import errors
from tacker_cnf.scripts import compat, compat_modules
from tacker_cnf.user_data.compat import MODULES
from tacker_cnf.vnfd.limits import MIB
from tacker_cnf.vnfd.model import Vnfd
from tacker_cnf.vnfd.values import Warnings

#: bytes of code besides management scripts that are checked
MAX_CHECKED_BYTES: Final = 2 * MIB


def check(
    vnfd: Vnfd, code: Iterable[str], tree: Path, *, replaces: bool
) -> Warnings:
    """Check that management scripts can import their modules; other files,
    which a request may never name, result in warnings.

    :param code: paths of the code in the tree
    :param replaces: whether scripts of the reference implementation are
        replaced
    :raises InvalidPackage: a module of a management script is missing
    """
    operations = {
        path: operation
        for flavour in vnfd.flavours.values()
        for operation, path in flavour.scripts.items()
    }
    warnings = []
    left_bytes = MAX_CHECKED_BYTES
    for path in code:
        file = tree / path
        if path in operations:
            if not (replaces and compat.replacement_module(file)):
                _check_script(file, path, operations[path])
            continue
        size = file.stat().st_size
        if size > left_bytes:
            continue
        left_bytes -= size
        if modules := compat_modules.missing(file, MODULES):
            what = f"{path} imports {', '.join(modules)}"
            warnings.append(f"{what}: requests that run it fail")
    return tuple(warnings)


def _check_script(file: Path, path: str, operation: str) -> None:
    provided = compat_modules.SCRIPT_MODULES
    if modules := compat_modules.missing(file, provided):
        raise errors.InvalidPackage(
            f"{path:.200}, the script of {operation}, imports"
            f" {', '.join(modules)[:500]}, which are not installed here; of"
            f" Tacker, scripts can import {', '.join(provided)}. Replace these"
            " imports, or install the modules."
        )
