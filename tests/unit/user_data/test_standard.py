"""The user data that creates a resource for each VNFC."""

from typing import Any

from tacker_cnf.user_data.standard import StandardUserData
from tests.fixtures.user_data import (
    LINK,
    UserDataCase,
    added_computes,
    grant_with_zones,
    removed_computes,
)

SERVERS: Any = {"s0": ("front", 0), "s2": ("front", 2), "s3": ("store", 0)}
CONNECTED_INFO = {
    "extVirtualLinkInfo": [
        {
            "id": "outside",
            "resourceHandle": {"resourceId": "net-1"},
            "currentVnfExtCpData": LINK["extCps"],
        }
    ]
}


#: a template that reads addresses and ports of each VNFC
CONNECTED = """\
heat_template_version: 2021-04-16
parameters: {nfv: {type: json}}
resources:
  front:
    type: front.yaml
    properties:
      port: {get_param: [nfv, CP, front_cp, port]}
      fixed_ips:
      - ip_address: {get_param: [nfv, CP, front_cp, fixed_ips, 0, ip_address]}
        subnet: {get_param: [nfv, CP, front_cp, fixed_ips, 0, subnet]}
      - ip_address: {get_param: [nfv, CP, front_cp, fixed_ips, 1, ip_address]}
        subnet: {get_param: [nfv, CP, front_cp, fixed_ips, 1, subnet]}
      - subnet: {get_param: [nfv, CP, front_cp, fixed_ips, 2, subnet]}
"""


class StandardCase(UserDataCase):
    flavour = "single"

    def call_user_data_once(self, method: Any, **options: Any) -> Any:
        info = CONNECTED_INFO | options.pop("info", {})
        return self.call_user_data(
            method, self.instance(SERVERS, **info), **options
        )


class TestInstantiate(StandardCase):
    def test_a_resource_is_created_for_each_vnfc(self) -> None:
        result = self.call_user_data(
            StandardUserData.instantiate,
            grant_req={"addResources": added_computes(front=2, store=1)},
            grant=grant_with_zones(front1="east"),
        )
        self.assertFalse(result["existing"])
        resources = result["template"]["resources"]
        self.assertEqual(
            {"front-0", "front-1", "store-0", "inside", "inside_subnet"},
            set(resources),
        )
        properties = resources["front-1"]["properties"]
        self.assertEqual(
            {"get_param": ["nfv", "VDU", "front-1", "vcImageId"]},
            properties["image"],
        )
        self.assertEqual({"get_resource": "inside"}, properties["inside"])
        nfv = result["parameters"]["nfv"]
        front = {"computeFlavourId": "m1.tiny", "vcImageId": "cirros"}
        store = {"computeFlavourId": "m1.tiny", "locationConstraints": None}
        self.assertEqual(
            {
                "front-0": front | {"locationConstraints": None},
                "front-1": front | {"locationConstraints": "east"},
                "store-0": store,
                "store_disk-0": {"vcImageId": "cirros"},
            },
            nfv["VDU"],
        )
        points = ("front_cp-0", "front_cp-1", "store_cp-0")
        networks = {point: {"network": "net-1"} for point in points}
        self.assertEqual(networks, nfv["CP"])
        self.assertEqual({"front.yaml", "store.yaml"}, result["files"].keys())


class TestConfigurations(StandardCase):
    """A connection point with a configuration for each VNFC."""

    def setUp(self) -> None:
        super().setUp()
        (template,) = (self.folder / "BaseHOT" / "single").glob("*.yaml")
        template.write_text(CONNECTED)

    def link(self) -> Any:
        configs = {
            f"c{number}": {
                "linkPortId": f"p{number}",
                "cpProtocolData": [
                    {
                        "ipOverEthernet": {
                            "ipAddresses": [
                                {
                                    "fixedAddresses": [
                                        f"192.0.2.1{number}",
                                        f"192.0.2.2{number}",
                                    ],
                                    "subnetId": "a",
                                },
                                {"numDynamicAddresses": 1, "subnetId": "b"},
                            ]
                        }
                    }
                ],
            }
            for number in (0, 1)
        }
        ports = [
            {
                "id": f"p{number}",
                "resourceHandle": {"resourceId": f"port-{number}"},
            }
            for number in (0, 1)
        ]
        return {
            "id": "outside",
            "resourceId": "net-1",
            "extCps": [{"cpdId": "front_cp", "cpConfig": configs}],
            "extLinkPorts": ports,
        }

    def test_each_vnfc_has_its_own_configuration(self) -> None:
        self.request["extVirtualLinks"] = [self.link()]
        result = self.call_user_data(
            StandardUserData.instantiate,
            grant_req={"addResources": added_computes(front=3)},
        )
        # the last one is shared if there are too few
        self.assert_connected(result, {0: 0, 1: 1, 2: 1})

    def test_the_index_of_the_vnfc_selects_its_configuration(self) -> None:
        link = self.link()
        metadata = {
            "id": "outside",
            "resourceHandle": {"resourceId": "net-1"},
            "currentVnfExtCpData": link["extCps"],
            "extLinkPorts": [
                {**port, "id": f"req-{port['id']}"}
                for port in link["extLinkPorts"]
            ],
        }
        result = self.call_user_data_once(
            StandardUserData.scale,
            info={"extVirtualLinkInfo": [metadata]},
            req={"type": "SCALE_OUT"},
            grant_req={"addResources": added_computes(front=1)},
        )
        self.assert_connected(result, {1: 1})
        result = self.call_user_data_once(
            StandardUserData.change_ext_conn, req={"extVirtualLinks": [link]}
        )
        self.assert_connected(result, {0: 0, 2: 1})

    def assert_connected(self, result: Any, configs: dict[int, int]) -> None:
        points = result["parameters"]["nfv"]["CP"]
        self.assertEqual(
            {
                f"front_cp-{vnfc}": {
                    "port": f"port-{number}",
                    "fixed_ips": [
                        {"ip_address": f"192.0.2.1{number}", "subnet": "a"},
                        {"ip_address": f"192.0.2.2{number}", "subnet": "a"},
                        {"subnet": "b"},
                    ],
                }
                for vnfc, number in configs.items()
            },
            points,
        )


class TestScale(StandardCase):
    def test_scale_out_uses_free_indexes(self) -> None:
        result = self.call_user_data_once(
            StandardUserData.scale,
            req={"type": "SCALE_OUT"},
            grant_req={"addResources": added_computes(front=2)},
            grant=grant_with_zones(front0="east"),
        )
        self.assertEqual(
            {"front-1", "front-3"}, set(result["template"]["resources"])
        )
        nfv = result["parameters"]["nfv"]
        self.assertEqual({"front-1", "front-3"}, set(nfv["VDU"]))
        self.assertEqual("east", nfv["VDU"]["front-1"]["locationConstraints"])
        self.assertEqual("net-1", nfv["CP"]["front_cp-3"]["network"])

    def test_scale_out_on_externally_managed_networks(self) -> None:
        link = {
            "vnfVirtualLinkDescId": "inside",
            "networkResource": {"resourceId": "managed"},
        }
        result = self.call_user_data_once(
            StandardUserData.scale,
            info={"extManagedVirtualLinkInfo": [link]},
            req={"type": "SCALE_OUT"},
            grant_req={"addResources": added_computes(front=1)},
        )
        (front,) = result["template"]["resources"].values()
        self.assertEqual("managed", front["properties"]["inside"])
        self.assertNotIn("depends_on", front)

    def test_scale_out_rollback(self) -> None:
        result = self.call_user_data_once(
            StandardUserData.scale_rollback,
            req={"type": "SCALE_OUT"},
            grant_req={"addResources": added_computes(front=2)},
        )
        none = {"front-1": None, "front-3": None}
        self.assertEqual(none, result["template"]["resources"])
        nfv = result["parameters"]["nfv"]
        self.assertEqual(none, nfv["VDU"])
        self.assertIn("front_cp-3", nfv["CP"])

    def test_scale_in_removes_the_granted_vnfcs(self) -> None:
        result = self.call_user_data_once(
            StandardUserData.scale,
            req={"type": "SCALE_IN"},
            grant_req={"removeResources": removed_computes("s2")},
        )
        self.assertEqual({"resources": {"front-2": None}}, result["template"])
        self.assertEqual(
            {
                "VDU": {"front-2": None},
                "CP": {"front_cp-2": None, "front_inside_cp-2": None},
            },
            result["parameters"]["nfv"],
        )


class TestOtherOperations(StandardCase):
    def test_networks_of_every_vnfc(self) -> None:
        result = self.call_user_data_once(
            StandardUserData.change_ext_conn,
            req={"extVirtualLinks": [LINK | {"resourceId": "net-2"}]},
        )
        points = ("front_cp-0", "front_cp-2", "store_cp-0")
        networks = {point: {"network": "net-2"} for point in points}
        self.assertEqual({"CP": networks}, result["parameters"]["nfv"])
        result = self.call_user_data_once(
            StandardUserData.change_ext_conn_rollback
        )
        networks = {point: {"network": "net-1"} for point in points}
        self.assertEqual({"CP": networks}, result["parameters"]["nfv"])

    def test_networks_of_requested_connection_points(self) -> None:
        link = {
            "resourceId": "net-2",
            "extCps": [{"cpdId": "store_cp", "cpConfig": {"a": {}}}],
        }
        result = self.call_user_data_once(
            StandardUserData.change_ext_conn, req={"extVirtualLinks": [link]}
        )
        points = {"store_cp-0": {"network": "net-2"}}
        self.assertEqual({"CP": points}, result["parameters"]["nfv"])

    def test_heal_uses_the_images_of_the_grant(self) -> None:
        images = [
            {"vnfdSoftwareImageId": "front", "vimSoftwareImageId": "new"}
        ]
        result = self.call_user_data_once(
            StandardUserData.heal,
            req={},
            grant_req={"removeResources": removed_computes("s2")},
            grant={"vimAssets": {"softwareImages": images}},
        )
        self.assertEqual(
            {"VDU": {"front-2": {"vcImageId": "new"}}},
            result["parameters"]["nfv"],
        )
        result = self.call_user_data_once(StandardUserData.heal, req={})
        self.assertEqual({"VDU": {}}, result["parameters"]["nfv"])

    def test_heal_of_storages_uses_their_images(self) -> None:
        images = [
            {"vnfdSoftwareImageId": "store_disk", "vimSoftwareImageId": "new"}
        ]
        for req, expected in (
            ({}, {}),
            (
                {"additionalParams": {"all": True}},
                {"store_disk-0": {"vcImageId": "new"}},
            ),
        ):
            removed = [
                {**removed_computes("s3")[0], "resourceTemplateId": "store"}
            ]
            result = self.call_user_data_once(
                StandardUserData.heal,
                req=req,
                grant_req={"removeResources": removed},
                grant={"vimAssets": {"softwareImages": images}},
            )
            self.assertEqual({"VDU": expected}, result["parameters"]["nfv"])


PREVIOUS_NFV: Any = {
    "VDU": {
        "front-0": {"locationConstraints": "east", "vcImageId": "old"},
        "front-2": {"locationConstraints": "west", "vcImageId": "old"},
        "store_disk-0": {"vcImageId": "old"},
    },
    "CP": {
        "front_cp-0": {"network": "net-1"},
        "front_cp-2": {"network": "net-1"},
        "store_cp-0": {"network": "net-1"},
    },
}


class TestPackageChange(StandardCase):
    def change_package(
        self, method: Any, servers: Any = SERVERS, **options: Any
    ) -> tuple[set[str], Any]:
        """Return the names of the resources, and the nfv."""
        inst = self.instance(
            servers, **CONNECTED_INFO, metadata={"nfv": PREVIOUS_NFV}
        )
        options.setdefault("req", {})
        grant_req = {"dstVnfdId": self.vnfd.id, **options.pop("grant_req", {})}
        result = self.call_user_data(
            method, inst, grant_req=grant_req, **options
        )
        self.assertFalse(result["existing"])
        return set(result["template"]["resources"]), result["parameters"][
            "nfv"
        ]

    def test_all_vdus(self) -> None:
        added = added_computes(front=2, store=1)
        resources, nfv = self.change_package(
            StandardUserData.change_vnfpkg,
            grant_req={
                "addResources": added,
                "removeResources": added,
            },
        )
        self.assertEqual(
            {"front-0", "front-2", "store-0", "inside", "inside_subnet"},
            resources,
        )
        for name, zone in (("front-0", "east"), ("front-2", "west")):
            self.assertEqual(
                {
                    "computeFlavourId": "m1.tiny",
                    "vcImageId": "cirros",
                    "locationConstraints": zone,
                },
                nfv["VDU"][name],
            )
        self.assertEqual(PREVIOUS_NFV["CP"], nfv["CP"])

    def test_only_requested_vdus_are_updated(self) -> None:
        params = {"vdu_params": [{"vdu_id": "store"}]}
        _, nfv = self.change_package(
            StandardUserData.change_vnfpkg, req={"additionalParams": params}
        )
        images = {
            name: entry["vcImageId"]
            for name, entry in nfv["VDU"].items()
            if "vcImageId" in entry
        }
        self.assertEqual(
            {"front-0": "old", "front-2": "old", "store_disk-0": "cirros"},
            images,
        )

    def test_a_new_vdu(self) -> None:
        fronts = {name: SERVERS[name] for name in ("s0", "s2")}
        added = added_computes(front=2)
        link = {**LINK, "resourceId": "net-2", "extCps": LINK["extCps"][1:]}
        resources, nfv = self.change_package(
            StandardUserData.change_vnfpkg,
            fronts,
            req={"extVirtualLinks": [link]},
            grant_req={
                "addResources": [*added, *added_computes(store=1)],
                "removeResources": added,
            },
            grant=grant_with_zones(store0="north"),
        )
        self.assertIn("store-0", resources)
        store = nfv["VDU"]["store-0"]
        self.assertEqual("north", store["locationConstraints"])
        self.assertEqual("m1.tiny", store["computeFlavourId"])
        self.assertEqual("net-2", nfv["CP"]["store_cp-0"]["network"])
        self.assertEqual("net-1", nfv["CP"]["front_cp-0"]["network"])

    def test_rollback(self) -> None:
        resources, nfv = self.change_package(
            StandardUserData.change_vnfpkg_rollback,
            grant_req={"addResources": added_computes(store=1)},
        )
        self.assertNotIn("store-1", resources)
        self.assertEqual(PREVIOUS_NFV, nfv)
