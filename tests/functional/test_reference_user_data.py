"""User data that calls all that Tacker's modules have, in its process."""

from typing import Any, Final

from tacker_cnf.user_data.compat import MODULES
from tests.functional.test_user_data import UserDataCase

#: calls each function with each of its arguments, by position and by name
EVERY_FUNCTION: Final = """
import yaml

from tacker.sol_refactored.common import common_script_utils as common
from tacker.sol_refactored.common import vnf_instance_utils
from tacker.sol_refactored.infra_drivers.openstack import userdata_utils
from tacker.sol_refactored.infra_drivers.openstack import userdata_standard
from tacker.sol_refactored.infra_drivers.openstack.userdata_default \\
    import DefaultUserData

FIXED = {"ipAddresses": [{"type": "IPV4", "fixedAddresses": ["10.0.0.5"],
                          "subnetId": "sub"}]}
POINT = {"cpdId": "front_cp", "cpConfig": {"a": {
    "cpProtocolData": [{"ipOverEthernet": FIXED}]}}}
GRANT = {
    "zones": [{"id": "z", "zoneId": "east"}],
    "addResources": [{"resourceDefinitionId": "r", "zoneId": "z"}],
    "vimAssets": {
        "computeResourceFlavours": [
            {"vnfdVirtualComputeDescId": "store", "vimFlavourId": "f"}],
        "softwareImages": [
            {"vnfdSoftwareImageId": "store", "vimSoftwareImageId": "i"}]},
    "extVirtualLinks": [{"resourceId": "net-2", "extCps": [POINT]}],
}
GRANT_REQUEST = {"addResources": [
    {"id": "r", "type": "COMPUTE", "resourceTemplateId": "front"}]}
INSTANCE = {"instantiatedVnfInfo": {
    "vnfcResourceInfo": [{"vduId": "front"}],
    "extVirtualLinkInfo": [{"resourceHandle": {"resourceId": "net-3"},
                            "currentVnfExtCpData": [POINT]}],
    "extManagedVirtualLinkInfo": [{
        "vnfVirtualLinkDescId": "inside",
        "networkResource": {"resourceId": "net-4"}}],
}}
MANAGED = {"extManagedVirtualLinks": [
    {"vnfVirtualLinkDescId": "inside", "resourceId": "net-5"}]}


class Mine(userdata_utils.AbstractUserData):
    @staticmethod
    def instantiate(req, inst, grant_req, grant, tmp_csar_dir):
        vnfd = common.get_vnfd(vnfd_id=inst["vnfdId"], csar_dir=tmp_csar_dir)
        flavour_id = req["flavourId"]

        def template():
            return vnfd.get_base_hot(flavour_id)["template"]

        from_request, from_instance = template(), template()
        common.apply_ext_managed_vls(
            hot_dict=from_request, req=MANAGED, grant={})
        common.apply_ext_managed_vls_from_inst(
            hot_dict=from_instance, inst=INSTANCE)
        image = dict(vdu_name="front", flavour_id=flavour_id, vnfd=vnfd,
                     grant=GRANT)
        target = {"a": 1}
        vdu = {"properties": {"image": {
            "get_param": ["nfv", "VDU", "front", "vcImageId"]}}}
        found = {
            "init_nfv_dict": sorted(common.init_nfv_dict(
                hot_template=template())["VDU"]),
            "get_param_flavor": [
                common.get_param_flavor(name, flavour_id, vnfd, GRANT)
                for name in ("front", "store")],
            "get_param_image": [
                common.get_param_image(**image),
                common.get_param_image(**image, fallback_vnfd=False),
                common.get_param_image(
                    "store", flavour_id, vnfd, GRANT, False)],
            "get_param_zone": common.get_param_zone(
                vdu_name="front", grant_req=GRANT_REQUEST, grant=GRANT),
            "get_param_zone_by_vnfc": common.get_param_zone_by_vnfc(
                res_id="r", grant=GRANT),
            "get_current_capacity": common.get_current_capacity(
                vdu_name="front", inst=INSTANCE),
            "get_param_capacity": common.get_param_capacity(
                vdu_name="front", inst=INSTANCE, grant_req=GRANT_REQUEST),
            "get_param_network": common.get_param_network(
                cp_name="front_cp", grant=GRANT, req=req),
            "get_param_fixed_ips": common.get_param_fixed_ips(
                cp_name="front_cp", grant=GRANT, req=req),
            "get_param_network_from_inst":
                common.get_param_network_from_inst(
                    cp_name="front_cp", inst=INSTANCE),
            "get_param_fixed_ips_from_inst":
                common.get_param_fixed_ips_from_inst(
                    cp_name="front_cp", inst=INSTANCE),
            "apply_ext_managed_vls": "net-5" in str(from_request),
            "apply_ext_managed_vls_from_inst": "net-4" in str(from_instance),
            "json_merge_patch": [
                vnf_instance_utils.json_merge_patch(
                    target=target, patch={"b": 2}) is target, target],
            "add_idx": userdata_standard.add_idx("front", 1),
            "rm_idx": userdata_standard.rm_idx("front-1"),
            "add_idx_to_vdu_template":
                userdata_standard.add_idx_to_vdu_template(vdu, 1),
            "get_http_auth_handle":
                common.get_http_auth_handle(None) is not None,
            "check_subsc_auth": common.check_subsc_auth(
                {"authType": ["BASIC"],
                 "paramsBasic": {"userName": "a", "password": "b"}},
                validation=False),
            "get_vnfd": sorted(vnfd.get_vdu_nodes(flavour_id)),
        }
        assert issubclass(DefaultUserData, userdata_utils.AbstractUserData)
        return {"template": yaml.safe_dump(template()), "files": {},
                "parameters": {"nfv": {}, "found": found}}

    scale = change_ext_conn = heal = instantiate
"""
ADDRESSES: Final = [{"ip_address": "10.0.0.5", "subnet": "sub"}]
EXPECTED: Final[dict[str, Any]] = {
    "init_nfv_dict": ["front", "store", "store_disk"],
    "get_param_flavor": ["m1.tiny", "f"],
    "get_param_image": ["cirros", None, "i"],
    "get_param_zone": "east",
    "get_param_zone_by_vnfc": "east",
    "get_current_capacity": 1,
    "get_param_capacity": 2,
    "get_param_network": "net-2",
    "get_param_fixed_ips": ADDRESSES,
    "get_param_network_from_inst": "net-3",
    "get_param_fixed_ips_from_inst": ADDRESSES,
    "apply_ext_managed_vls": True,
    "apply_ext_managed_vls_from_inst": True,
    "json_merge_patch": [True, {"a": 1, "b": 2}],
    "add_idx": "front-1",
    "rm_idx": "front",
    "add_idx_to_vdu_template": {
        "properties": {
            "image": {"get_param": ["nfv", "VDU", "front-1", "vcImageId"]}
        }
    },
    "get_http_auth_handle": True,
    "check_subsc_auth": None,
    "get_vnfd": ["front", "store"],
}


class TestReferenceUserData(UserDataCase):
    def test_every_function(self) -> None:
        self.write(EVERY_FUNCTION)
        result = self.call_user_data("UserData/mine.py", "Mine")
        self.assertEqual(EXPECTED, result.parameters["found"])

    def test_no_function_is_left_out(self) -> None:
        names = {
            attribute
            for module, attributes in MODULES.items()
            for attribute in attributes
            if "script_utils" in module or "_instance_utils" in module
        }
        self.assertEqual(set(), names - EXPECTED.keys())

    def test_it_may_derive_from_the_standard_user_data(self) -> None:
        self.write(
            """
            from tacker.sol_refactored.infra_drivers.openstack import (
                userdata_standard)

            class Mine(userdata_standard.StandardUserData):
                pass
            """
        )
        result = self.call_user_data("UserData/mine.py", "Mine")
        self.assertFalse(result.existing)
        self.assertIn("CP", result.parameters["nfv"])
