"""Validates a request before the operation is accepted."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers import coordination, parameters
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack import templates
from tacker_cnf.drivers.parameters import (
    ChangePackageParameters,
    HealParameters,
    ParameterTypes,
)
from tacker_cnf.lcm.change import ALL, Change, flavour_of
from tacker_cnf.scripts.limits import ScriptLimits


class StackParameters(msgspec.Struct, frozen=True, kw_only=True):
    """The additionalParams of all operations that create or update a stack."""

    #: path of a file of user data in the package; default: the built-in one
    user_data: str | None = msgspec.field(
        default=None, name="lcm-operation-user-data"
    )
    #: the class in this file
    user_data_class: str | None = msgspec.field(
        default=None, name="lcm-operation-user-data-class"
    )
    #: values for the parameter "nfv" of the template, which override those of
    #: VNFD and grant
    nfv: dict[str, Any] | None = None


#: the additionalParams that this driver reads
PARAMETERS: Final[ParameterTypes] = {
    "instantiate": (StackParameters,),
    "scale": (StackParameters,),
    "heal": (HealParameters, StackParameters),
    "change_ext_conn": (StackParameters,),
    "change_vnfpkg": (
        ChangePackageParameters,
        coordination.CoordinationParameters,
        StackParameters,
    ),
}


def check(task: InfraTask, limits: ScriptLimits) -> None:
    """Validate additionalParams and the templates of the package.

    :raises InvalidParameters: additionalParams are not valid, or the package
        lacks a template
    """
    parameters.check_names(task, PARAMETERS)
    change = task.change
    if change.replace:
        read_heal_parameters(change.parameters)
    if change.desired is None:
        return
    if task.current_package:
        coordination.check(task, limits)
    templates.base_hot(task.package, change.state.flavour_id)
    if task.current_package:
        _check_vdus(
            task, parameters.read(change.parameters, ChangePackageParameters)
        )


def read_heal_parameters(
    additional_params: Mapping[str, Any],
) -> HealParameters:
    """Parse the additionalParams of a heal.

    :raises InvalidParameters: a value is not valid
    """
    return parameters.read(additional_params, HealParameters)


def heals_stack(change: Change, *, default: bool) -> bool:
    """Return whether a heal creates the whole stack again, instead of servers.

    :param default: result for a heal of all VNFCs without
        ``additionalParams.all``
    """
    if change.replace != ALL:
        return False
    heal_all = read_heal_parameters(change.parameters).all
    return default if heal_all is None else heal_all


def _check_vdus(
    task: InfraTask, package_change: ChangePackageParameters
) -> None:
    vdus = flavour_of(task.package.vnfd, task.change.state.flavour_id).vdus
    for name in package_change.vdus:
        if name not in vdus:
            raise errors.InvalidParameters(
                f"additionalParams.vdu_params: VDU {name!r} not found; the "
                f"flavour has {', '.join(sorted(vdus))}."
            )
