"""The user data by which each VNFC is a resource of its own."""

from typing import Any

from tacker_cnf.user_data.standard import StandardUserData
from tests.fixtures.user_data import (
    LINK,
    UserDataCase,
    computes,
    gone,
    zones,
)

SERVERS: Any = {"s0": ("front", 0), "s2": ("front", 2), "s3": ("store", 0)}
THERE = {
    "extVirtualLinkInfo": [
        {
            "id": "outside",
            "resourceHandle": {"resourceId": "net-1"},
            "currentVnfExtCpData": LINK["extCps"],
        }
    ]
}


class StandardCase(UserDataCase):
    flavour = "single"

    def said(self, method: Any, **asked: Any) -> Any:
        info = THERE | asked.pop("info", {})
        return self.ask(method, self.instance(SERVERS, **info), **asked)


class TestInstantiate(StandardCase):
    def test_a_resource_of_each_vnfc(self) -> None:
        said = self.ask(
            StandardUserData.instantiate,
            grant_req={"addResources": computes(front=2, store=1)},
            grant=zones(front1="east"),
        )
        self.assertFalse(said["existing"])
        resources = said["template"]["resources"]
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
        nfv = said["parameters"]["nfv"]
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
        self.assertEqual({"front.yaml", "store.yaml"}, said["files"].keys())


class TestScale(StandardCase):
    def test_out_takes_free_numbers(self) -> None:
        said = self.said(
            StandardUserData.scale,
            req={"type": "SCALE_OUT"},
            grant_req={"addResources": computes(front=2)},
            grant=zones(front0="east"),
        )
        self.assertEqual(
            {"front-1", "front-3"}, set(said["template"]["resources"])
        )
        nfv = said["parameters"]["nfv"]
        self.assertEqual({"front-1", "front-3"}, set(nfv["VDU"]))
        self.assertEqual("east", nfv["VDU"]["front-1"]["locationConstraints"])
        self.assertEqual("net-1", nfv["CP"]["front_cp-3"]["network"])

    def test_out_on_networks_that_others_manage(self) -> None:
        link = {
            "vnfVirtualLinkDescId": "inside",
            "networkResource": {"resourceId": "managed"},
        }
        said = self.said(
            StandardUserData.scale,
            info={"extManagedVirtualLinkInfo": [link]},
            req={"type": "SCALE_OUT"},
            grant_req={"addResources": computes(front=1)},
        )
        (front,) = said["template"]["resources"].values()
        self.assertEqual("managed", front["properties"]["inside"])
        self.assertNotIn("depends_on", front)

    def test_out_undone(self) -> None:
        said = self.said(
            StandardUserData.scale_rollback,
            req={"type": "SCALE_OUT"},
            grant_req={"addResources": computes(front=2)},
        )
        none = {"front-1": None, "front-3": None}
        self.assertEqual(none, said["template"]["resources"])
        nfv = said["parameters"]["nfv"]
        self.assertEqual(none, nfv["VDU"])
        self.assertIn("front_cp-3", nfv["CP"])

    def test_in_takes_those_that_are_granted(self) -> None:
        said = self.said(
            StandardUserData.scale,
            req={"type": "SCALE_IN"},
            grant_req={"removeResources": gone("s2")},
        )
        self.assertEqual({"resources": {"front-2": None}}, said["template"])
        self.assertEqual(
            {
                "VDU": {"front-2": None},
                "CP": {"front_cp-2": None, "front_inside_cp-2": None},
            },
            said["parameters"]["nfv"],
        )


class TestOthers(StandardCase):
    def test_networks_of_every_vnfc(self) -> None:
        said = self.said(
            StandardUserData.change_ext_conn,
            req={"extVirtualLinks": [LINK | {"resourceId": "net-2"}]},
        )
        points = ("front_cp-0", "front_cp-2", "store_cp-0")
        networks = {point: {"network": "net-2"} for point in points}
        self.assertEqual({"CP": networks}, said["parameters"]["nfv"])
        said = self.said(StandardUserData.change_ext_conn_rollback)
        networks = {point: {"network": "net-1"} for point in points}
        self.assertEqual({"CP": networks}, said["parameters"]["nfv"])

    def test_networks_of_those_that_are_named(self) -> None:
        link = {
            "resourceId": "net-2",
            "extCps": [{"cpdId": "store_cp", "cpConfig": {"a": {}}}],
        }
        said = self.said(
            StandardUserData.change_ext_conn, req={"extVirtualLinks": [link]}
        )
        points = {"store_cp-0": {"network": "net-2"}}
        self.assertEqual({"CP": points}, said["parameters"]["nfv"])

    def test_heal_takes_the_images_of_the_grant(self) -> None:
        images = [
            {"vnfdSoftwareImageId": "front", "vimSoftwareImageId": "new"}
        ]
        said = self.said(
            StandardUserData.heal,
            req={},
            grant_req={"removeResources": gone("s2")},
            grant={"vimAssets": {"softwareImages": images}},
        )
        self.assertEqual(
            {"VDU": {"front-2": {"vcImageId": "new"}}},
            said["parameters"]["nfv"],
        )
        said = self.said(StandardUserData.heal, req={})
        self.assertEqual({"VDU": {}}, said["parameters"]["nfv"])

    def moved(self, method: Any, kept: Any) -> Any:
        said = self.said(
            method,
            info={"metadata": {"nfv": kept}},
            req={},
            grant_req={"dstVnfdId": self.vnfd.id},
        )
        self.assertFalse(said["existing"])
        self.assertEqual(
            {"front-0", "front-2", "store-0", "inside", "inside_subnet"},
            set(said["template"]["resources"]),
        )
        return said["parameters"]["nfv"]

    def test_another_package(self) -> None:
        kept = {"VDU": {"front-0": {"locationConstraints": "east"}}}
        vdus = self.moved(StandardUserData.change_vnfpkg, kept)["VDU"]
        front = {"computeFlavourId": "m1.tiny", "vcImageId": "cirros"}
        self.assertEqual(front, vdus["front-2"])
        self.assertEqual("east", vdus["front-0"]["locationConstraints"])

    def test_another_package_undone(self) -> None:
        kept = {
            "VDU": {"front-0": {"vcImageId": "granted"}},
            "CP": {"front_cp-0": {"network": "net-1"}},
        }
        nfv = self.moved(StandardUserData.change_vnfpkg_rollback, kept)
        self.assertEqual(kept, nfv)
