"""A change of package of a VNF on a real Heat."""

from typing import Any

import testtools

from tests.fixtures.openstack import NEXT
from tests.fixtures.vnf import OUT, SINGLE, VnfService, a_link, a_point
from tests.fixtures.vnfm import Csar

IMAGE = "name: cirros\n          version: '0.6'"
#: of the flavours, which have the same VDUs
SOURCES = [
    f"Definitions/front_and_store_df_{name}.yaml"
    for name in ("simple", "single")
]


class TestSingle(testtools.TestCase):
    """Each VNFC is a resource of its own."""

    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.useFixture(VnfService(self))
        self.vnf.start(flavourId="single", additionalParams=SINGLE)

    def another(self) -> str:
        """Onboard a package with other images; give its VNFD's id."""
        texts = {
            name: (Csar.source("vnf") / name).read_text() for name in SOURCES
        }
        files = {
            name: text.replace(IMAGE, IMAGE.replace("cirros", NEXT))
            for name, text in texts.items()
        }
        self.assertNotEqual(texts, files)
        return self.vnf.onboard(self.useFixture(Csar("vnf", files=files)))

    def request(self, vdu: str) -> dict[str, Any]:
        parameters = {
            "upgrade_type": "RollingUpdate",
            "vdu_params": [{"vdu_id": vdu}],
            **SINGLE,
        }
        return {"vnfdId": self.another(), "additionalParams": parameters}

    def events(self) -> list[tuple[str, str]]:
        """Tell what happened to the resources of the stack, in order."""
        vnf = self.vnf
        path = f"/stacks/{vnf.stack}/{vnf.stack_id}/events?sort_dir=asc"
        return [
            (event["resource_name"], event["resource_status"])
            for event in vnf.project.heat("GET", path)["events"]
        ]

    def images(self) -> dict[str, str]:
        vdus = self.vnf.info["metadata"]["nfv"]["VDU"]
        return {
            name: vdu["vcImageId"]
            for name, vdu in vdus.items()
            if "vcImageId" in vdu
        }

    def test_what_fails_is_taken_back(self) -> None:
        vnf = self.vnf
        former, store = self.images(), vnf.ids("store")
        body = self.request("front")
        vnf.project.fail("front", "No room.")
        failed = vnf.do("change_vnfpkg", body, "FAILED_TEMP")
        vnf.project.mend("front")
        vnf.then(failed, "rollback", "ROLLED_BACK")
        self.assertEqual(former, self.images())
        self.assertEqual(store, vnf.ids("store"))
        vnf.do("change_vnfpkg", body)
        image = vnf.project.image(NEXT)
        self.assertEqual({**former, "front-0": image}, self.images())

    def test_the_vdu_that_is_named_is_rolled(self) -> None:
        vnf = self.vnf
        vnf.do("scale", {**OUT, "additionalParams": SINGLE})
        former = self.images()
        (store,) = vnf.ids("store")
        known = len(self.events())
        vnf.do("change_vnfpkg", self.request("front"))
        image = vnf.project.image(NEXT)
        self.assertEqual(
            {**former, "front-0": image, "front-1": image}, self.images()
        )
        self.assertEqual({store}, vnf.ids("store"))
        self.assertEqual(vnf.servers(), vnf.ids())
        happened = self.events()[known:]
        self.assertLess(
            happened.index(("front-0", "UPDATE_COMPLETE")),
            happened.index(("front-1", "UPDATE_IN_PROGRESS")),
        )
        # and nobody waits any more: the first may go before the second
        first = vnf.vnfcs("front")[1]
        vnf.do(
            "heal",
            {"vnfcInstanceId": [first["id"]], "additionalParams": SINGLE},
        )
        self.assertEqual(vnf.servers(), vnf.ids())

    def test_it_gets_other_networks_with_its_package(self) -> None:
        vnf = self.vnf
        other = vnf.project.network()
        links = [a_link(other, a_point("store_cp"))]
        body = {**self.request("store"), "extVirtualLinks": links}
        vnf.do("change_vnfpkg", body)
        points = vnf.info["metadata"]["nfv"]["CP"]
        self.assertEqual(other, points["store_cp-0"]["network"])
        self.assertEqual(vnf.network, points["front_cp-0"]["network"])
        self.assertEqual(
            {vnf.network, other},
            {
                link["resourceHandle"]["resourceId"]
                for link in vnf.info["extVirtualLinkInfo"]
            },
        )
