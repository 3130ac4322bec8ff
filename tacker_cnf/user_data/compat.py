"""The modules that user data written for Tacker imports."""

from typing import Final

from tacker_cnf.scripts import compat_modules
from tacker_cnf.scripts.compat_modules import Modules

_COMMON: Final = "tacker.sol_refactored.common"
_OPENSTACK: Final = "tacker.sol_refactored.infra_drivers.openstack"
_PRODUCT: Final = "tacker_cnf.user_data"
_FUNCTIONS: Final = {
    name: f"{_PRODUCT}.parameters:{name}"
    for name in (
        "get_vnfd",
        "init_nfv_dict",
        "get_param_flavor",
        "get_param_image",
        "get_param_zone",
        "get_param_zone_by_vnfc",
        "get_current_capacity",
        "get_param_capacity",
        "get_param_network",
        "get_param_fixed_ips",
        "get_param_network_from_inst",
        "get_param_fixed_ips_from_inst",
        "apply_ext_managed_vls",
        "apply_ext_managed_vls_from_inst",
    )
}

MODULES: Final[Modules] = {
    **compat_modules.SCRIPT_MODULES,
    f"{_COMMON}.common_script_utils": {
        **_FUNCTIONS,
        **{
            name: f"tacker_cnf.scripts.coordination_client:{name}"
            for name in ("check_subsc_auth", "get_http_auth_handle")
        },
    },
    f"{_COMMON}.vnf_instance_utils": {
        "json_merge_patch": f"{_PRODUCT}.parameters:json_merge_patch",
    },
    f"{_OPENSTACK}.userdata_utils": {
        "AbstractUserData": f"{_PRODUCT}.base:UserData",
        **_FUNCTIONS,
    },
    f"{_OPENSTACK}.userdata_default": {
        "DefaultUserData": f"{_PRODUCT}.default:DefaultUserData",
    },
    f"{_OPENSTACK}.userdata_standard": {
        name: f"{_PRODUCT}.standard:{name}"
        for name in (
            "StandardUserData",
            "add_idx",
            "add_idx_to_vdu_template",
            "rm_idx",
        )
    },
}
