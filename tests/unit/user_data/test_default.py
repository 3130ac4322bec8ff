"""The default user data."""

import copy
from typing import Any

from tacker_cnf import errors
from tacker_cnf.user_data.default import DefaultUserData
from tests.fixtures.user_data import (
    LINK,
    UserDataCase,
    added_computes,
    grant_with_zones,
    removed_computes,
)

HOT = "BaseHOT/simple/front_and_store.yaml"
SERVERS: Any = {"s1": ("front", None), "s2": ("store", None)}
ADDED = {"addResources": added_computes(front=2, store=1)}
#: a template that reads addresses, and an externally created port
CONNECTED = """\
heat_template_version: 2021-04-16
parameters: {nfv: {type: json}}
resources:
  store_cp:
    type: OS::Neutron::Port
    properties:
      network: {get_param: [nfv, CP, store_cp, network]}
      fixed_ips:
      - ip_address: {get_param: [nfv, CP, store_cp, fixed_ips, 0, ip_address]}
        subnet: {get_param: [nfv, CP, store_cp, fixed_ips, 0, subnet]}
      - subnet: {get_param: [nfv, CP, store_cp, fixed_ips, 1, subnet]}
  store:
    type: OS::Nova::Server
    properties:
      networks:
      - port: {get_resource: store_cp}
      - port: {get_param: [nfv, CP, front_cp, port]}
"""


def connected(cpd: str, *addresses: Any, port: str = "") -> dict[str, Any]:
    """Build an external connection point with addresses, or on a port."""
    data = {"ipAddresses": list(addresses)}
    config: dict[str, Any] = {"cpProtocolData": [{"ipOverEthernet": data}]}
    if port:
        config["linkPortId"] = port
    return {"cpdId": cpd, "cpConfig": {"a": config}}


class TestInstantiate(UserDataCase):
    def nfv(self, grant: Any = None, **request: Any) -> Any:
        self.request |= request
        result = self.call_user_data(
            DefaultUserData.instantiate, grant_req=ADDED, grant=grant
        )
        self.assertFalse(result["existing"])
        return result["parameters"]["nfv"]

    def test_values_of_the_vnfd(self) -> None:
        self.assertEqual(
            {
                "VDU": {
                    "front": {
                        "computeFlavourId": "m1.tiny",
                        "vcImageId": "cirros",
                        "locationConstraints": None,
                        "desired_capacity": 2,
                    },
                    "store": {
                        "computeFlavourId": "m1.tiny",
                        "locationConstraints": None,
                    },
                    "store_disk": {"vcImageId": "cirros"},
                },
                "CP": {
                    "front_cp": {"network": "net-1"},
                    "store_cp": {"network": "net-1"},
                },
            },
            self.nfv(),
        )

    def test_the_grant_has_priority_over_the_vnfd(self) -> None:
        link = {**copy.deepcopy(LINK), "resourceId": "net-2"}
        grant = grant_with_zones(front1="east", store0="west") | {
            "vimAssets": {
                "computeResourceFlavours": [
                    {
                        "vnfdVirtualComputeDescId": "front",
                        "vimFlavourId": "large",
                    }
                ],
                "softwareImages": [
                    {
                        "vnfdSoftwareImageId": "store_disk",
                        "vimSoftwareImageId": "image-2",
                    }
                ],
            },
            "extVirtualLinks": [link],
        }
        nfv = self.nfv(grant)
        front, store = nfv["VDU"]["front"], nfv["VDU"]["store"]
        self.assertEqual("large", front["computeFlavourId"])
        self.assertEqual("east", front["locationConstraints"])
        self.assertEqual("west", store["locationConstraints"])
        self.assertEqual("m1.tiny", store["computeFlavourId"])
        self.assertEqual("image-2", nfv["VDU"]["store_disk"]["vcImageId"])
        self.assertEqual("net-2", nfv["CP"]["store_cp"]["network"])

    def test_additional_params_override_nfv(self) -> None:
        own = {"nfv": {"VDU": {"front": {"computeFlavourId": "requested"}}}}
        granted = {"nfv": {"VDU": {"store": {"computeFlavourId": "granted"}}}}
        nfv = self.nfv({"additionalParams": granted}, additionalParams=own)
        self.assertEqual("requested", nfv["VDU"]["front"]["computeFlavourId"])
        self.assertEqual("granted", nfv["VDU"]["store"]["computeFlavourId"])

    def test_addresses_and_ports(self) -> None:
        self.write(HOT, CONNECTED)
        fixed = {"fixedAddresses": ["192.0.2.7"], "subnetId": "a"}
        link = {
            "resourceId": "net-1",
            "extCps": [
                connected("store_cp", fixed, {"subnetId": "b"}),
                connected("front_cp", port="p"),
            ],
            "extLinkPorts": [
                {"id": "p", "resourceHandle": {"resourceId": "port-1"}}
            ],
        }
        points = self.nfv(extVirtualLinks=[link])["CP"]
        addresses = [
            {"ip_address": "192.0.2.7", "subnet": "a"},
            {"subnet": "b"},
        ]
        self.assertEqual(
            {"network": "net-1", "fixed_ips": addresses}, points["store_cp"]
        )
        self.assertEqual({"port": "port-1"}, points["front_cp"])

    def test_externally_managed_networks_replace_those_of_the_template(
        self,
    ) -> None:
        link = {"vnfVirtualLinkDescId": "inside", "resourceId": "managed"}
        self.request["extManagedVirtualLinks"] = [link]
        result = self.call_user_data(
            DefaultUserData.instantiate, grant_req=ADDED
        )
        resources = result["template"]["resources"]
        self.assertNotIn("inside", resources)
        self.assertNotIn("inside_subnet", resources)
        point = resources["store_inside_cp"]["properties"]
        self.assertEqual("managed", point["network"])
        front = resources["front_group"]["properties"]["resource"]
        self.assertEqual("managed", front["properties"]["inside"])
        # it depended on the removed subnet
        self.assertNotIn("depends_on", resources["store_inside_cp"])

    def test_the_template_is_base_hot(self) -> None:
        result = self.call_user_data(
            DefaultUserData.instantiate, grant_req=ADDED
        )
        self.assertIn("front_group", result["template"]["resources"])
        self.assertEqual({"front.yaml"}, result["files"].keys())

    def test_missing_values_are_named(self) -> None:
        self.request["extVirtualLinks"] = []
        error = self.assertRaises(errors.InvalidParameters, self.nfv)
        self.assertIn("nfv.CP.front_cp.network", str(error))
        self.assertIn("nfv.CP.store_cp.network", str(error))

    def test_a_flavour_without_a_template(self) -> None:
        (self.folder / HOT).unlink()
        error = self.assertRaises(errors.InvalidParameters, self.nfv)
        self.assertIn("0 Heat templates BaseHOT/simple", str(error))


class TestLaterOperations(UserDataCase):
    def nfv(self, method: Any, **options: Any) -> Any:
        inst = self.instance(SERVERS, **options.pop("info", {}))
        result = self.call_user_data(method, inst, **options)
        self.assertTrue(result.get("existing", True))
        self.assertNotIn("template", result)
        return result["parameters"]["nfv"]

    def test_scale(self) -> None:
        for grant_req, count in (
            ({"addResources": added_computes(front=2)}, 3),
            ({"removeResources": removed_computes("s1")}, 0),
        ):
            nfv = self.nfv(DefaultUserData.scale, req={}, grant_req=grant_req)
            sizes = {"front": {"desired_capacity": count}}
            self.assertEqual({"VDU": sizes}, nfv)
            nfv = self.nfv(
                DefaultUserData.scale_rollback, req={}, grant_req=grant_req
            )
            self.assertEqual({"front": {"desired_capacity": 1}}, nfv["VDU"])

    def test_scale_rollback_restores_nfv(self) -> None:
        own = {"nfv": {"VDU": {"front": {"vcImageId": "other"}}}}
        nfv = self.nfv(
            DefaultUserData.scale_rollback,
            req={"additionalParams": own},
            grant={"additionalParams": own},
        )
        self.assertEqual({"front": {"desired_capacity": 1}}, nfv["VDU"])

    def test_heal_changes_only_requested_values(self) -> None:
        self.assertEqual({}, self.nfv(DefaultUserData.heal, req={}))
        own = {"VDU": {"front": {"vcImageId": "other"}}}
        req = {"additionalParams": {"nfv": own}}
        self.assertEqual(own, self.nfv(DefaultUserData.heal, req=req))

    def test_heal_of_all_uses_the_assets_of_the_grant(self) -> None:
        images = [
            {"vnfdSoftwareImageId": name, "vimSoftwareImageId": "new"}
            for name in ("front", "store_disk")
        ]
        grant = {"vimAssets": {"softwareImages": images}}
        everything = {"additionalParams": {"all": True}}
        new = {"vcImageId": "new"}
        for req, expected in (
            (everything, {"VDU": {"front": new, "store_disk": new}}),
            ({"vnfcInstanceId": ["front-s1"], **everything}, {}),
            ({}, {}),
        ):
            nfv = self.nfv(DefaultUserData.heal, req=req, grant=grant)
            self.assertEqual(expected, nfv)

    def test_networks(self) -> None:
        link = {"resourceId": "net-2", "extCps": [connected("store_cp")]}
        was = {
            "id": "outside",
            "resourceHandle": {"resourceId": "net-1"},
            "currentVnfExtCpData": [connected("store_cp")],
        }
        info = {"extVirtualLinkInfo": [was]}
        options = {"info": info, "req": {"extVirtualLinks": [link]}}
        self.assertEqual(
            {"CP": {"store_cp": {"network": "net-2"}}},
            self.nfv(
                DefaultUserData.change_ext_conn, **copy.deepcopy(options)
            ),
        )
        self.assertEqual(
            {"CP": {"store_cp": {"network": "net-1"}}},
            self.nfv(DefaultUserData.change_ext_conn_rollback, **options),
        )

    def test_addresses_and_ports_are_removed(self) -> None:
        self.write(HOT, CONNECTED)
        points = [connected("store_cp"), connected("front_cp")]
        link = {"resourceId": "net-2", "extCps": points}
        self.assertEqual(
            {
                "CP": {
                    "store_cp": {"network": "net-2", "fixed_ips": []},
                    "front_cp": {"port": None},
                }
            },
            self.nfv(
                DefaultUserData.change_ext_conn,
                req={"extVirtualLinks": [link]},
            ),
        )

    def test_configurations_that_are_not_requested_are_kept(self) -> None:
        self.write(HOT, CONNECTED)
        fixed = {"fixedAddresses": ["192.0.2.7"], "subnetId": "a"}
        was = connected("store_cp", fixed)
        info = {
            "extVirtualLinkInfo": [
                {
                    "id": "outside",
                    "resourceHandle": {"resourceId": "net-1"},
                    "currentVnfExtCpData": [was],
                }
            ]
        }
        for configs, left in (
            ({"b": {}}, [{"ip_address": "192.0.2.7", "subnet": "a"}]),
            ({"a": None, "b": {}}, []),
        ):
            point: Any = {"cpdId": "store_cp", "cpConfig": configs}
            link = {"resourceId": "net-1", "extCps": [point]}
            nfv = self.nfv(
                DefaultUserData.change_ext_conn,
                info=info,
                req={"extVirtualLinks": [link]},
            )
            self.assertEqual(left, nfv["CP"]["store_cp"]["fixed_ips"])

    def test_an_externally_created_port(self) -> None:
        self.write(HOT, CONNECTED)
        port = {"id": "req-p", "resourceHandle": {"resourceId": "port-1"}}
        was = {
            "id": "outside",
            "resourceHandle": {"resourceId": "net-1"},
            "currentVnfExtCpData": [connected("front_cp", port="p")],
            "extLinkPorts": [port],
        }
        point = {"cpdId": "front_cp", "cpConfig": {"b": {}}}
        link = {"id": "outside", "resourceId": "net-1", "extCps": [point]}
        for method, links in (
            (DefaultUserData.change_ext_conn_rollback, []),
            (DefaultUserData.change_ext_conn, [link]),
        ):
            nfv = self.nfv(
                method,
                info={"extVirtualLinkInfo": [was]},
                req={"extVirtualLinks": links},
            )
            self.assertEqual({"front_cp": {"port": "port-1"}}, nfv["CP"])


class TestChangeOfPackage(UserDataCase):
    def setUp(self) -> None:
        super().setUp()
        self.previous_nfv: Any = {
            "VDU": {
                "front": {
                    "computeFlavourId": "m1.old",
                    "vcImageId": "old",
                    "locationConstraints": "east",
                    "desired_capacity": 3,
                },
                "store": {"computeFlavourId": "m1.old"},
                "store_disk": {"vcImageId": "old"},
            },
            "CP": {
                "front_cp": {"network": "net-1"},
                "store_cp": {"network": "net-1"},
            },
        }

    def change_package(
        self, method: Any, grant_req: Any = None, **request: Any
    ) -> Any:
        inst = self.instance(SERVERS, metadata={"nfv": self.previous_nfv})
        grant_request = {"dstVnfdId": self.vnfd.id, **(grant_req or {})}
        return self.call_user_data(
            method, inst, req=request, grant_req=grant_request
        )

    def nfv(self, **options: Any) -> Any:
        result = self.change_package(DefaultUserData.change_vnfpkg, **options)
        return result["parameters"]["nfv"]

    def test_flavours_and_images_of_the_new_package(self) -> None:
        result = self.change_package(DefaultUserData.change_vnfpkg)
        self.assertFalse(result["existing"])
        self.assertIn("front_group", result["template"]["resources"])
        nfv = result["parameters"]["nfv"]
        front = nfv["VDU"]["front"]
        self.assertEqual("m1.tiny", front["computeFlavourId"])
        self.assertEqual("cirros", front["vcImageId"])
        self.assertEqual("east", front["locationConstraints"])
        self.assertEqual(3, front["desired_capacity"])
        self.assertEqual(self.previous_nfv["CP"], nfv["CP"])

    def test_only_requested_vdus_are_updated(self) -> None:
        for vdu, changed in (
            ("front", {"front"}),
            ("store", {"store", "store_disk"}),
        ):
            params = {"vdu_params": [{"vdu_id": vdu}]}
            vdus = self.nfv(additionalParams=params)["VDU"]
            previous_nfv = self.previous_nfv["VDU"]
            request = {
                name
                for name, kept_value in previous_nfv.items()
                if {key: vdus[name][key] for key in kept_value} != kept_value
            }
            self.assertEqual(changed, request)

    def test_new_nodes_of_the_package_are_added(self) -> None:
        del self.previous_nfv["VDU"]["front"]
        del self.previous_nfv["CP"]["front_cp"]
        front = {**LINK, "extCps": LINK["extCps"][:1]}
        params = {"vdu_params": [{"vdu_id": "store"}]}
        nfv = self.nfv(
            additionalParams=params,
            extVirtualLinks=[{**front, "resourceId": "net-2"}],
            grant_req={"addResources": added_computes(front=2)},
        )
        self.assertEqual(
            {
                "computeFlavourId": "m1.tiny",
                "vcImageId": "cirros",
                "locationConstraints": None,
                "desired_capacity": 3,
            },
            nfv["VDU"]["front"],
        )
        networks = {name: at["network"] for name, at in nfv["CP"].items()}
        self.assertEqual({"front_cp": "net-2", "store_cp": "net-1"}, networks)

    def test_requested_networks_are_changed(self) -> None:
        link = {**LINK, "resourceId": "net-2", "extCps": LINK["extCps"][1:]}
        points = self.nfv(extVirtualLinks=[link])["CP"]
        self.assertEqual("net-1", points["front_cp"]["network"])
        self.assertEqual("net-2", points["store_cp"]["network"])

    def test_missing_values_are_named(self) -> None:
        del self.previous_nfv["CP"]["store_cp"]
        error = self.assertRaises(errors.InvalidParameters, self.nfv)
        self.assertIn("nfv.CP.store_cp.network", str(error))
        self.change_package(DefaultUserData.change_vnfpkg_rollback)

    def test_a_rollback_restores_the_stack(self) -> None:
        result = self.change_package(DefaultUserData.change_vnfpkg_rollback)
        self.assertFalse(result["existing"])
        self.assertIn("front_group", result["template"]["resources"])
        self.assertEqual(self.previous_nfv, result["parameters"]["nfv"])
