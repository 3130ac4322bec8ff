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
    def failed(self, *names: str, healthy: tuple[str, ...] = ()) -> Listing:
        listing = Listing()
        for name in names:
            listing.add(
                name,
                SERVER,
                status="CREATE_FAILED",
                reason="ResourceInError: No valid host was found.",
            )
        for name in healthy:
            listing.add(name, SERVER)
        return listing

    def test_each_zone_is_tried_once(self) -> None:
        tried = ZoneFallback(["a", "b", "c"])
        tree = self.failed("store", healthy=("web",)).tree()
        current: Any = nfv(web="a", store="a")
        seen = []
        while True:
            moved = tried.next_nfv(current, tree, stack_resources.a_flavour())
            if moved is None:
                break
            current = moved
            seen.append(current["VDU"]["store"]["locationConstraints"])
            self.assertEqual("a", current["VDU"]["web"]["locationConstraints"])
        self.assertEqual(["b", "c"], seen)

    def test_the_zone_of_an_anti_affine_vdu_is_excluded(self) -> None:
        tree = self.failed("store", healthy=("web",)).tree()
        moved = ZoneFallback(["a", "b", "c"]).next_nfv(
            nfv(web="b", store="a"), tree, anti_affinity("web", "store")
        )
        assert moved
        self.assertEqual("c", moved["VDU"]["store"]["locationConstraints"])

    def test_the_zones_of_anti_affine_vnfcs_are_excluded(self) -> None:
        tree = self.failed("web-1", healthy=("web-0",)).tree()
        moved = ZoneFallback(["a", "b", "c"]).next_nfv(
            nfv(web_0="b", web_1="a"), tree, anti_affinity("web")
        )
        assert moved
        self.assertEqual("c", moved["VDU"]["web-1"]["locationConstraints"])

    def test_a_group_with_running_members_is_not_moved(self) -> None:
        tree = self.failed("web", healthy=("web",)).tree()
        self.assertIsNone(
            ZoneFallback(["b"]).next_nfv(
                nfv(web="a"), tree, stack_resources.a_flavour()
            )
        )

    def test_a_failure_for_another_reason_is_not_retried(self) -> None:
        listing = Listing()
        listing.add(
            "store", SERVER, status="CREATE_FAILED", reason="BadRequest: no"
        )
        self.assertIsNone(
            ZoneFallback(["b"]).next_nfv(
                nfv(store="a"), listing.tree(), stack_resources.a_flavour()
            )
        )
