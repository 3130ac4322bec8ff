"""Provides the modules that user data written for Tacker imports."""

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from tacker_cnf.lcm import merge
from tacker_cnf.user_data import parameters
from tacker_cnf.user_data.base import UserData
from tacker_cnf.user_data.default import DefaultUserData
from tacker_cnf.user_data.standard import (
    StandardUserData,
    add_idx,
    rm_idx,
)

_COMMON: Final = "tacker.sol_refactored.common"
_OPENSTACK: Final = "tacker.sol_refactored.infra_drivers.openstack"
_PARAMETERS: Final = {
    name: getattr(parameters, name)
    for name in (
        "get_vnfd",
        "init_nfv_dict",
        "get_param_flavor",
        "get_param_image",
        "get_param_zone",
        "get_current_capacity",
        "get_param_capacity",
        "get_param_network",
        "get_param_fixed_ips",
        "get_param_network_from_inst",
        "get_param_fixed_ips_from_inst",
        "apply_ext_managed_vls",
    )
}

#: module -> its attributes
MODULES: Final[Mapping[str, Mapping[str, Any]]] = {
    f"{_COMMON}.common_script_utils": _PARAMETERS,
    f"{_COMMON}.vnf_instance_utils": {"json_merge_patch": merge.patched},
    f"{_OPENSTACK}.userdata_utils": {
        "AbstractUserData": UserData,
        **_PARAMETERS,
    },
    f"{_OPENSTACK}.userdata_default": {"DefaultUserData": DefaultUserData},
    f"{_OPENSTACK}.userdata_standard": {
        "StandardUserData": StandardUserData,
        "add_idx": add_idx,
        "rm_idx": rm_idx,
    },
}


def install() -> None:
    """Add the modules to this process."""
    for name, attributes in MODULES.items():
        vars(_module(name)).update(attributes)


def _module(name: str) -> ModuleType:
    """Return a module; create it and its parent packages if needed."""
    if name not in sys.modules:
        module = sys.modules[name] = ModuleType(name)
        module.__path__ = []  # a package, which may contain modules
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(_module(parent), last, module)
    return sys.modules[name]
