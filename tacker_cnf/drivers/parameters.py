"""The additionalParams that all drivers read."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.sol import strict, suggestion

T = TypeVar("T", bound=msgspec.Struct)

#: operation -> types of the additionalParams that a driver reads in it
ParameterTypes = Mapping[str, Sequence[type[msgspec.Struct]]]


class VduParameters(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of vdu_params."""

    vdu_id: str
    #: input of the coordination scripts, for the old and the new VNFCs
    old_vnfc_param: dict[str, Any] = {}
    new_vnfc_param: dict[str, Any] = {}


class ChangePackageParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The additionalParams of a change of package."""

    #: how VNFCs get the new package
    upgrade_type: Literal["RollingUpdate"]
    #: the VDUs to change; default: all
    vdu_params: tuple[VduParameters, ...] = ()

    @property
    def vdus(self) -> tuple[str, ...]:
        """The VDUs that the request names; empty: all VDUs."""
        return tuple(entry.vdu_id for entry in self.vdu_params)


class HealParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The additionalParams of a heal."""

    #: heal storage too, or in a heal of the whole VNF all of its resources
    all: bool | None = None


def read(params: Mapping[str, Any], kind: type[T]) -> T:
    """Convert the parameters that a type defines; others are ignored.

    :raises InvalidParameters: a parameter is missing or malformed
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
    """Return the names of the parameters that some types define."""
    return frozenset(
        field.encode_name
        for kind in kinds
        for field in msgspec.structs.fields(kind)
    )


def check_names(task: InfraTask, types: ParameterTypes) -> None:
    """Check that no parameter has nearly the name of one that drivers read.

    Parameters that the VNFD declares, and those of any other name, are input
    of scripts. The check is skipped if a package does not record what its VNFD
    declares.

    :param types: of the parameters that the driver reads
    :raises InvalidParameters: a name is probably misspelt
    """
    driver_parameters = names_of(*itertools.chain(*types.values()))
    allowed = set(driver_parameters)
    for package in (task.package, task.current_package):
        for flavour in package.vnfd.flavours.values() if package else ():
            if flavour.parameters is None:
                return
            allowed.update(flavour.parameters)
    for name in task.change.parameters:
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
