"""What is wrong with a request, before anything is done about it."""

from collections.abc import Mapping
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers import parameters
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack import templates
from tacker_cnf.drivers.parameters import Healing, PackageChange
from tacker_cnf.lcm.target import flavour_of

#: all additionalParams that this driver reads
PARAMETERS: Final = parameters.names_of(PackageChange, Healing) | {
    "lcm-operation-user-data",
    "lcm-operation-user-data-class",
    "nfv",
}


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
    parameters.check_names(task, PARAMETERS)
    if task.heals:
        healing(task.parameters)
    target = task.target
    if target is None:
        return
    templates.base_hot(task.package, target.flavour_id)
    if task.current_package and not task.rolls_back:
        _check_vdus(task, parameters.read(task.parameters, PackageChange))


def healing(given: Mapping[str, Any]) -> Healing:
    """Read the additionalParams of a heal."""
    return parameters.read(given, Healing)


def _check_vdus(task: InfraTask, asked: PackageChange) -> None:
    assert task.target is not None
    vdus = flavour_of(task.package.vnfd, task.target.flavour_id).vdus
    for name in asked.vdus:
        if name not in vdus:
            raise errors.InvalidParameters(
                f"additionalParams.vdu_params: there is no VDU "
                f"{name!r}, only {', '.join(sorted(vdus))}."
            )
