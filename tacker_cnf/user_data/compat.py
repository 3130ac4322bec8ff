"""The modules that user data written for Tacker imports."""

from pathlib import Path
from typing import Final

from tacker_cnf.scripts import compat_modules
from tacker_cnf.scripts.compat_modules import Modules
from tacker_cnf.vnfd import script_source
from tacker_cnf.vnfd.script_source import REFERENCE_PACKAGE

_COMMON: Final = "tacker.sol_refactored.common"
_OPENSTACK: Final = "tacker.sol_refactored.infra_drivers.openstack"
#: user data of version 1 of the API
_VERSION_1: Final = f"{REFERENCE_PACKAGE}.vnfm.lcm_user_data"
#: its base class, and the module with it
VERSION_1_BASE: Final = (
    f"{_VERSION_1}.abstract_user_data",
    "AbstractUserData",
)
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
    VERSION_1_BASE[0]: {
        VERSION_1_BASE[1]: f"{_PRODUCT}.v1.base:AbstractUserData",
    },
    f"{_VERSION_1}.constants": {
        "USER_DATA_TIMEOUT": f"{_PRODUCT}.v1.base:USER_DATA_TIMEOUT",
    },
    f"{_VERSION_1}.utils": {
        name: f"{_PRODUCT}.v1.utils:{name}"
        for name in (
            "AUTO_SCALING_GROUP",
            "HOT_CINDER_VOLUME",
            "HOT_NEUTRON_PORT",
            "HOT_NOVA_FLAVOR",
            "HOT_NOVA_SERVER",
            "PORT_SERVER_TYPE",
            "SUPPORTED_HOT_TYPE",
            "create_cpd_vl_dict",
            "create_desired_capacity_dict",
            "create_final_param_dict",
            "create_initial_param_dict",
            "create_initial_param_server_port_dict",
            "create_network_dict",
            "create_sw_image_dict",
            "create_vdu_flavor_capability_name_dict",
            "create_vdu_flavor_dict",
            "create_vdu_image_dict",
            "get_desired_capacity_dict",
            "get_diff_base_hot_param_from_api",
        )
    },
}


def is_version_1(file: Path) -> bool:
    """Check whether a file has user data of version 1 of the API."""
    imported = script_source.imports(script_source.parse(file))
    return any(f"{name}.".startswith(f"{_VERSION_1}.") for name in imported)
