"""What is wrong with a request, before anything is done about it."""

from collections.abc import Mapping
from typing import Any, Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers import coordination, parameters
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack import templates
from tacker_cnf.drivers.parameters import (
    ChangePackageParameters,
    HealParameters,
)
from tacker_cnf.lcm.target import flavour_of
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType

LOG = log.getLogger(__name__)

#: all additionalParams that this driver reads
PARAMETERS: Final = parameters.names_of(
    ChangePackageParameters, HealParameters, coordination.Parameters
) | {
    "lcm-operation-user-data",
    "lcm-operation-user-data-class",
    "nfv",
}


def check(task: InfraTask) -> None:
    """Refuse what cannot work.

    :raises InvalidParameters: additionalParams are wrong, or the package
        lacks what is needed
    """
    vim_names = list(task.vim_connections)
    if len(vim_names) > 1 and task.operation is LcmOperationType.INSTANTIATE:
        LOG.warning(
            "Several VIM connections given, a stack is on the first: "
            "vnf_instance_id=%s used=%s ignored=%s",
            task.instance.id,
            vim_names[0],
            ",".join(vim_names[1:]),
        )
    parameters.check_names(task, PARAMETERS)
    if task.is_heal:
        read_heal_parameters(task.parameters)
    target = task.target
    if target is None:
        return
    if task.current_package:
        coordination.check(task)
    templates.base_hot(task.package, target.flavour_id)
    if task.current_package and not task.is_rollback:
        _check_vdus(
            task, parameters.read(task.parameters, ChangePackageParameters)
        )


def read_heal_parameters(
    additional_params: Mapping[str, Any],
) -> HealParameters:
    """Read the additionalParams of a heal."""
    return parameters.read(additional_params, HealParameters)


def _check_vdus(
    task: InfraTask, package_change: ChangePackageParameters
) -> None:
    assert task.target is not None
    vdus = flavour_of(task.package.vnfd, task.target.flavour_id).vdus
    for name in package_change.vdus:
        if name not in vdus:
            raise errors.InvalidParameters(
                f"additionalParams.vdu_params: there is no VDU "
                f"{name!r}, only {', '.join(sorted(vdus))}."
            )
