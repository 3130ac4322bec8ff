"""The additionalParams that drivers read."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.sol import strict, suggestion

T = TypeVar("T", bound=msgspec.Struct)


class VduParameters(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of vdu_params."""

    vdu_id: str
    #: what coordination scripts get, of the old and of the new VNFCs
    old_vnfc_param: dict[str, Any] = {}
    new_vnfc_param: dict[str, Any] = {}


class ChangePackageParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Those of a change of package that every driver reads."""

    upgrade_type: Literal["RollingUpdate"]
    vdu_params: tuple[VduParameters, ...] = ()

    @property
    def vdus(self) -> tuple[str, ...]:
        """The VDUs that are named; none: it is about all."""
        return tuple(one.vdu_id for one in self.vdu_params)


class HealParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Those of a heal that every driver reads."""

    #: with the VNFCs their storages; with the whole VNF all of it
    all: bool | None = None


def read(params: Mapping[str, Any], kind: type[T]) -> T:
    """Read those that a type has; others are ignored.

    :raises InvalidParameters: they are missing or malformed
    """
    names = names_of(kind)
    relevant = {name: params[name] for name in params if name in names}
    try:
        return strict.convert(relevant, kind)
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


def check_names(task: InfraTask, driver_parameters: Iterable[str]) -> None:
    """Check that no parameter is nearly one that the driver reads; those of
    any other name, and those that a VNFD declares, are for scripts. Nothing is
    checked where the declarations are not recorded.

    :param driver_parameters: what the driver reads, in whichever operation
    :raises InvalidParameters: one is
    """
    allowed = set(driver_parameters)
    for package in (task.package, task.current_package):
        for flavour in package.vnfd.flavours.values() if package else ():
            if flavour.parameters is None:
                return
            allowed.update(flavour.parameters)
    for name in task.parameters:
        closest_name = (
            None
            if name in allowed
            else suggestion.closest_name(name, driver_parameters)
        )
        if closest_name is not None:
            raise errors.InvalidParameters(
                f'additionalParams: Unknown parameter "{name}"; did you mean '
                f'"{closest_name}"? If the VNF has a parameter of this name, its '
                "VNFD has to declare it as an input of the operation."
            )
