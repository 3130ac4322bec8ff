"""The additionalParams that drivers read."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.sol import spelling, strict

T = TypeVar("T", bound=msgspec.Struct)


class VduParameters(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of vdu_params."""

    vdu_id: str
    #: what coordination scripts get, of the old and of the new VNFCs
    old_vnfc_param: dict[str, Any] = {}
    new_vnfc_param: dict[str, Any] = {}


class PackageChange(msgspec.Struct, frozen=True, kw_only=True):
    """Those of a change of package that every driver reads."""

    upgrade_type: Literal["RollingUpdate"]
    vdu_params: tuple[VduParameters, ...] = ()

    @property
    def vdus(self) -> tuple[str, ...]:
        """The VDUs that are named; none: it is about all."""
        return tuple(one.vdu_id for one in self.vdu_params)


class Healing(msgspec.Struct, frozen=True, kw_only=True):
    """Those of a heal that every driver reads."""

    #: with the VNFCs their storages; with the whole VNF all of it
    all: bool | None = None


def read(given: Mapping[str, Any], kind: type[T]) -> T:
    """Read those that a type has; others are ignored.

    :raises InvalidParameters: they are missing or malformed
    """
    names = names_of(kind)
    known = {name: given[name] for name in given if name in names}
    try:
        return strict.convert(known, kind)
    except strict.UnknownName as error:
        raise errors.InvalidParameters(f"additionalParams: {error}") from None
    except msgspec.ValidationError as error:
        raise errors.InvalidParameters(f"additionalParams: {error}.") from None


def names_of(*kinds: type[msgspec.Struct]) -> frozenset[str]:
    """Return the names of the parameters that types have."""
    return frozenset(
        field.encode_name
        for kind in kinds
        for field in msgspec.structs.fields(kind)
    )


def check_names(task: InfraTask, known: Iterable[str]) -> None:
    """Check that no parameter is nearly one that the driver reads; those of
    any other name, and those that a VNFD declares, are for scripts. Nothing is
    checked where the declarations are not recorded.

    :param known: what the driver reads, in whichever operation
    :raises InvalidParameters: one is
    """
    allowed = set(known)
    for package in (task.package, task.current_package):
        for flavour in package.vnfd.flavours.values() if package else ():
            if flavour.parameters is None:
                return
            allowed.update(flavour.parameters)
    for name in task.parameters:
        meant = None if name in allowed else spelling.meant(name, known)
        if meant is not None:
            raise errors.InvalidParameters(
                f'additionalParams: Unknown parameter "{name}"; did you mean '
                f'"{meant}"? If the VNF has a parameter of this name, its '
                "VNFD has to declare it as an input of the operation."
            )
