"""What is wrong with a request, before anything is done about it."""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack import templates
from tacker_cnf.lcm.target import flavour_of

T = TypeVar("T")


class Healing(msgspec.Struct, frozen=True, kw_only=True):
    """The additionalParams of a heal that this driver reads."""

    #: with the VNFCs their storages; with the whole VNF all of it
    all: bool | None = None


class VduParameters(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of vdu_params."""

    vdu_id: str


class PackageChange(msgspec.Struct, frozen=True, kw_only=True):
    """The additionalParams of a change of package that this driver reads."""

    upgrade_type: Literal["RollingUpdate"]
    vdu_params: tuple[VduParameters, ...] = ()


def check(task: InfraTask) -> None:
    """Refuse what cannot work.

    :raises InvalidVimConnection: a VNF would be on several VIMs
    :raises InvalidParameters: additionalParams are wrong, or the package
        lacks what is needed
    """
    if len(task.vim_connections) > 1:
        raise errors.InvalidVimConnection(
            "vimConnectionInfo: a VNF on OpenStack is one stack on one VIM; "
            f"{', '.join(sorted(task.vim_connections))} are several."
        )
    if task.heals:
        healing(task.parameters)
    target = task.target
    if target is None:
        return
    templates.base_hot(task.package, target.flavour_id)
    if task.current_package and not task.rolls_back:
        _check_vdus(task, package_change(task.parameters))


def healing(given: Mapping[str, Any]) -> Healing:
    """Read the additionalParams of a heal."""
    return _read(given, Healing)


def package_change(given: Mapping[str, Any]) -> PackageChange:
    """Read the additionalParams of a change of package."""
    return _read(given, PackageChange)


def _read(given: Mapping[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(dict(given), kind)
    except msgspec.ValidationError as error:
        raise errors.InvalidParameters(f"additionalParams: {error}.") from None


def _check_vdus(task: InfraTask, asked: PackageChange) -> None:
    assert task.target is not None
    vdus = flavour_of(task.package.vnfd, task.target.flavour_id).vdus
    for one in asked.vdu_params:
        if one.vdu_id not in vdus:
            raise errors.InvalidParameters(
                f"additionalParams.vdu_params: there is no VDU "
                f"{one.vdu_id!r}, only {', '.join(sorted(vdus))}."
            )
