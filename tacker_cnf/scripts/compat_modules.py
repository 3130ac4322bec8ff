"""Provides the modules of the reference implementation that the code of
packages imports, in the process that runs it.

A module and its attributes are loaded when the code imports it. Where Tacker is
installed, its own modules are imported.
"""

import pkgutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Final

from tacker_cnf.vnfd import script_source
from tacker_cnf.vnfd.script_source import REFERENCE_PACKAGE

#: module -> attribute -> the object that it is, as ``module:object``
Modules = Mapping[str, Mapping[str, str]]

_CLIENT: Final = "tacker_cnf.scripts.coordination_client"
_COMMON: Final = f"{REFERENCE_PACKAGE}.sol_refactored.common"
#: for scripts, of management and of coordination
SCRIPT_MODULES: Final[Modules] = {
    f"{REFERENCE_PACKAGE}.common.config": {"init": f"{_CLIENT}:init"},
    f"{_COMMON}.coord_client": {
        "create_coordination": f"{_CLIENT}:create_coordination",
    },
    f"{_COMMON}.exceptions": {
        name: f"{_CLIENT}:{name}"
        for name in ("SolException", "InvalidSubscription")
    },
    f"{_COMMON}.http_client": {
        "HttpClient": f"{_CLIENT}:HttpClient",
        "NoAuthHandle": f"{_CLIENT}:NoAuthHandle",
    },
}


class _Importer(MetaPathFinder, Loader):
    """Finds and loads modules, and the packages that they are in."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if not _is_module(fullname, self._modules):
            return None
        return spec_from_loader(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        for attribute, place in self._modules.get(module.__name__, {}).items():
            setattr(module, attribute, pkgutil.resolve_name(place))


def _is_module(name: str, modules: Iterable[str]) -> bool:
    """Check whether a name is one of modules, or a package of one."""
    return any(f"{module}.".startswith(f"{name}.") for module in modules)


def install(modules: Modules) -> None:
    """Let this process import modules that it does not find elsewhere."""
    sys.meta_path.append(_Importer(modules))


def missing(script: Path, modules: Modules) -> tuple[str, ...]:
    """Return the modules, and attributes of modules, that a script imports from
    the reference implementation, and that its process could not import.
    """
    if PathFinder.find_spec(REFERENCE_PACKAGE):
        return ()
    imported = script_source.reference_imports(script_source.parse(script))
    return tuple(
        name for name in imported if not _is_importable(name, modules)
    )


def _is_importable(name: str, modules: Modules) -> bool:
    module, _, attribute = name.rpartition(".")
    return _is_module(name, modules) or attribute in modules.get(module, {})
