"""The functions that user data of version 1 calls."""

import importlib
from types import SimpleNamespace
from typing import Any, Final

import testtools
import yaml

from tacker_cnf.user_data.compat import MODULES
from tacker_cnf.user_data.v1 import objects, utils
from tests.fixtures import user_data_v1

MODULE: Final = "tacker.vnfm.lcm_user_data.utils"
HOT: Final[Any] = {
    "heat_template": yaml.safe_load(user_data_v1.IN_TEMPLATE),
    "front.yaml": yaml.safe_load(user_data_v1.MEMBER),
    "read.yaml": yaml.safe_load("""
        parameters: {nfv: {type: json}}
        resources:
          flavor:
            type: OS::Nova::Flavor
            properties: {ram: {get_param: [nfv, VDU, sized, ram]}}
          other:
            type: OS::Neutron::Net
            properties: {name: {get_param: [nfv, VDU, unread, name]}}
          volume:
            type: OS::Cinder::Volume
            properties:
              image: {get_param: [nfv, VDU, disk, image]}
              size: {get_param: size}
              name: {get_param: [nfv, vdu, disk, name]}
    """),
}
VNFD: Final[Any] = yaml.safe_load("""
topology_template:
  node_templates:
    VNF: {type: company.VNF}
    front:
      properties: {sw_image_data: {name: cirros}}
      capabilities:
        virtual_compute:
          properties:
            requested_additional_capabilities:
              properties:
                requested_additional_capability_name: m1.tiny
            virtual_cpu: {num_virtual_cpu: 2}
            virtual_memory: {virtual_mem_size: 1 GiB}
            virtual_local_storage: [{size_of_storage: 3 GB}]
    store:
      capabilities:
        virtual_compute:
          properties: {virtual_cpu: {num_virtual_cpu: 1}}
    disk:
      properties: {sw_image_data: {name: debian}}
  policies:
  - aspects:
      type: tosca.policies.nfv.ScalingAspects
      properties: {aspects: {more: {max_scale_level: 2}}}
  - deltas:
      type: tosca.policies.nfv.VduScalingAspectDeltas
      properties:
        aspect: more
        deltas: {step: {number_of_instances: 3}}
      targets: [front]
  - initial:
      type: tosca.policies.nfv.VduInitialDelta
      properties: {initial_delta: {number_of_instances: 2}}
      targets: [front]
  - levels:
      type: tosca.policies.nfv.InstantiationLevels
      properties:
        default_level: low
        levels:
          low: {scale_info: {more: {scale_level: 0}}}
          high: {scale_info: {more: {scale_level: 2}}}
""")
INITIAL: Final[Any] = {
    "nfv": {
        "VDU": {"front": {}, "store": {}, "store_disk": {}, "disk": {}},
        "CP": {"front_cp": {}, "store_cp": {}},
    }
}


def a_request(*addresses: Any, **more: Any) -> Any:
    """Build a request as an object of version 1."""
    data = {"ipOverEthernet": {"ipAddresses": list(addresses)}}
    points = [
        {"cpdId": "store_cp", "cpConfig": {"a": {"cpProtocolData": [data]}}},
        {"cpdId": "front_cp", "cpConfig": {"b": {"linkPortId": "p"}}},
        {"cpdId": "elsewhere", "cpConfig": {"c": None}},
    ]
    link = {"id": "l", "resourceId": "net-1", "extCps": points}
    return objects.from_json({"extVirtualLinks": [link], **more})


class TestTemplates(testtools.TestCase):
    def test_every_name_exists(self) -> None:
        for name, place in MODULES[MODULE].items():
            module, _, attribute = place.partition(":")
            self.assertEqual(name, attribute)
            self.assertTrue(hasattr(importlib.import_module(module), name))

    def test_initial_parameters(self) -> None:
        found = utils.create_initial_param_server_port_dict(base_hot_dict=HOT)
        self.assertEqual(INITIAL, found)
        found = utils.create_initial_param_dict(base_hot_dict=HOT)
        self.assertEqual({}, found["nfv"]["VDU"].pop("sized"))
        self.assertEqual(INITIAL, found)
        empty: Any = {"nfv": {"VDU": {}, "CP": {}}}
        self.assertEqual(empty, utils.create_initial_param_dict({}))

    def test_final_parameters(self) -> None:
        point = {"network": "net-1", "fixed_ips": [{"subnet": "s"}]}
        found = utils.create_final_param_dict(
            param_dict=INITIAL,
            vdu_flavor_dict={"front": "m1.tiny"},
            vdu_image_dict={"disk": "debian"},
            cpd_vl_dict={"store_cp": point, "front_cp": "net-2"},
        )
        vdus = found["nfv"]["VDU"]
        self.assertEqual({"flavor": "m1.tiny", "image": None}, vdus["front"])
        self.assertEqual({"flavor": None, "image": "debian"}, vdus["disk"])
        self.assertEqual(
            {"store_cp": point, "front_cp": {"network": "net-2"}},
            found["nfv"]["CP"],
        )
        self.assertEqual({}, INITIAL["nfv"]["VDU"]["front"])
        self.assertEqual({}, utils.create_final_param_dict({}, {}, {}, {}))

    def test_additional_parameters_of_the_template(self) -> None:
        requested = {"greeting": "hi", "other": 1}
        found = utils.get_diff_base_hot_param_from_api(
            base_hot_dict=HOT,
            inst_req_info=a_request(additionalParams=requested),
        )
        self.assertEqual({"greeting": "hi"}, found)
        nothing = SimpleNamespace(additional_params=None)
        self.assertEqual(
            {}, utils.get_diff_base_hot_param_from_api(HOT, nothing)
        )


class TestVnfd(testtools.TestCase):
    def test_flavours(self) -> None:
        self.assertEqual(
            {
                "front": {"vcpus": 2, "ram": 1024, "disk": 2},
                "store": {"vcpus": 1},
            },
            utils.create_vdu_flavor_dict(vnfd_dict=VNFD),
        )
        self.assertEqual(
            {"front": "m1.tiny"},
            utils.create_vdu_flavor_capability_name_dict(vnfd_dict=VNFD),
        )
        self.assertEqual({}, utils.create_vdu_flavor_dict({}))

    def test_images(self) -> None:
        self.assertEqual(
            {"front": "cirros", "disk": "debian"},
            utils.create_sw_image_dict(vnfd_dict=VNFD),
        )
        image = SimpleNamespace(resource_identifier="an-id")
        self.assertEqual(
            {"front": "an-id"},
            utils.create_vdu_image_dict(grant_info={"front": [image]}),
        )

    def test_numbers_of_vnfcs(self) -> None:
        for level, expected in ((None, 2), ("low", 2), ("high", 8)):
            request = SimpleNamespace(instantiation_level_id=level)
            found = utils.create_desired_capacity_dict(
                base_hot_dict=HOT, vnfd_dict=VNFD, inst_req_info=request
            )
            self.assertEqual({"more": expected}, found)
        info = objects.from_json(
            {"scaleStatus": [{"aspectId": "more", "scaleLevel": 1}]}
        )
        found = utils.get_desired_capacity_dict(
            base_hot_dict=HOT, vnfd_dict=VNFD, inst_vnf_info=info
        )
        self.assertEqual({"more": 5}, found)

    def test_numbers_without_a_group(self) -> None:
        hot = {"heat_template": {"resources": {"a": {"type": "x"}}}}
        found = utils.create_desired_capacity_dict(hot, VNFD, {})
        self.assertEqual({}, found)


class TestNetworks(testtools.TestCase):
    fixed: Final = {"fixedAddresses": ["10.0.0.5"], "subnetId": "s"}

    def test_networks(self) -> None:
        self.assertEqual(
            {"store_cp": "net-1"},
            utils.create_cpd_vl_dict(
                base_hot_dict=HOT, inst_req_info=a_request()
            ),
        )

    def test_networks_and_addresses(self) -> None:
        dynamic = {"numDynamicAddresses": 1}
        for addresses, fixed_ips in (
            ((self.fixed,), [{"ip_address": "10.0.0.5", "subnet": "s"}]),
            (({**dynamic, "subnetId": "t"},), [{"subnet": "t"}]),
            ((dynamic,), []),
        ):
            found = utils.create_network_dict(
                inst_req_info=a_request(*addresses), param_dict=INITIAL
            )
            self.assertEqual(
                {
                    "store_cp": {"network": "net-1", "fixed_ips": fixed_ips},
                    "front_cp": {"network": "net-1", "fixed_ips": []},
                },
                found,
            )


class TestObjects(testtools.TestCase):
    def test_attributes_of_a_request(self) -> None:
        request = a_request(
            TestNetworks.fixed,
            flavourId="simple",
            vimConnectionInfo={"v": {"vimType": "x", "accessInfo": {"a": 1}}},
            extManagedVirtualLinks=[{"vnfVirtualLinkDescId": "inside"}],
        )
        self.assertEqual("simple", request.flavour_id)
        self.assertIsNone(request.instantiation_level_id)
        self.assertEqual({}, request.additional_params)
        (vim,) = request.vim_connection_info
        self.assertEqual(("v", {"a": 1}), (vim.id, vim.access_info))
        (managed,) = request.ext_managed_virtual_links
        self.assertEqual("inside", managed.vnf_virtual_link_desc_id)
        store, front, elsewhere = request.ext_virtual_links[0].ext_cps
        self.assertEqual([], elsewhere.cp_config)
        self.assertEqual("p", front.cp_config[0].link_port_id)
        self.assertEqual([], front.cp_config[0].cp_protocol_data)
        (data,) = store.cp_config[0].cp_protocol_data
        (address,) = data.ip_over_ethernet.ip_addresses
        self.assertEqual(["10.0.0.5"], address.fixed_addresses)
        self.assertRaises(AttributeError, getattr, request, "__wrapped__")
