from typing import Any

import msgspec
import testtools

from tacker_cnf.drivers.openstack.zones import ZoneFallback
from tacker_cnf.vnfd.model import AffinityRule, Flavour
from tests.unit.drivers.openstack import stack_resources
from tests.unit.drivers.openstack.stack_resources import SERVER, Listing


def nfv(**zones: str) -> dict[str, Any]:
    return {
        "VDU": {
            name.replace("_", "-"): {"locationConstraints": zone}
            for name, zone in zones.items()
        }
    }


def anti_affinity(*targets: str) -> Flavour:
    rule = AffinityRule(
        id="r", kind="ANTI_AFFINITY", scope="ZONE", targets=targets
    )
    return msgspec.structs.replace(
        stack_resources.a_flavour(), affinity_rules=(rule,)
    )


class TestNext(testtools.TestCase):
    def failed(self, *names: str, well: tuple[str, ...] = ()) -> Listing:
        listing = Listing()
        for name in names:
            listing.add(
                name,
                SERVER,
                status="CREATE_FAILED",
                reason="ResourceInError: No valid host was found.",
            )
        for name in well:
            listing.add(name, SERVER)
        return listing

    def test_each_zone_is_tried_once(self) -> None:
        tried = ZoneFallback(["a", "b", "c"])
        tree = self.failed("store", well=("web",)).tree()
        given: Any = nfv(web="a", store="a")
        seen = []
        while True:
            moved = tried.next_nfv(given, tree, stack_resources.a_flavour())
            if moved is None:
                break
            given = moved
            seen.append(given["VDU"]["store"]["locationConstraints"])
            self.assertEqual("a", given["VDU"]["web"]["locationConstraints"])
        self.assertEqual(["b", "c"], seen)

    def test_a_zone_of_what_is_to_be_elsewhere_is_none(self) -> None:
        tree = self.failed("store", well=("web",)).tree()
        moved = ZoneFallback(["a", "b", "c"]).next_nfv(
            nfv(web="b", store="a"), tree, anti_affinity("web", "store")
        )
        assert moved
        self.assertEqual("c", moved["VDU"]["store"]["locationConstraints"])

    def test_vnfcs_of_one_vdu_may_have_to_be_apart(self) -> None:
        tree = self.failed("web-1", well=("web-0",)).tree()
        moved = ZoneFallback(["a", "b", "c"]).next_nfv(
            nfv(web_0="b", web_1="a"), tree, anti_affinity("web")
        )
        assert moved
        self.assertEqual("c", moved["VDU"]["web-1"]["locationConstraints"])

    def test_a_group_with_members_elsewhere_stays(self) -> None:
        tree = self.failed("web", well=("web",)).tree()
        self.assertIsNone(
            ZoneFallback(["b"]).next_nfv(
                nfv(web="a"), tree, stack_resources.a_flavour()
            )
        )

    def test_another_reason_is_no_matter_of_zones(self) -> None:
        listing = Listing()
        listing.add(
            "store", SERVER, status="CREATE_FAILED", reason="BadRequest: no"
        )
        self.assertIsNone(
            ZoneFallback(["b"]).next_nfv(
                nfv(store="a"), listing.tree(), stack_resources.a_flavour()
            )
        )
