"""Validates a request before the operation is accepted."""

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
    ChangePackageParameters,
    HealParameters,
    coordination.CoordinationParameters,
) | {
    "lcm-operation-user-data",
    "lcm-operation-user-data-class",
    "nfv",
}


def check(task: InfraTask) -> None:
    """Validate additionalParams and the templates of the package.

    :raises InvalidParameters: additionalParams are not valid, or the package
        lacks a template
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
    """Parse the additionalParams of a heal.

    :raises InvalidParameters: a value is not valid
    """
    return parameters.read(additional_params, HealParameters)


def _check_vdus(
    task: InfraTask, package_change: ChangePackageParameters
) -> None:
    assert task.target is not None
    vdus = flavour_of(task.package.vnfd, task.target.flavour_id).vdus
    for name in package_change.vdus:
        if name not in vdus:
            raise errors.InvalidParameters(
                f"additionalParams.vdu_params: VDU {name!r} not found; the "
                f"flavour has {', '.join(sorted(vdus))}."
            )
