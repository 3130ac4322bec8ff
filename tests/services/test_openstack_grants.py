"""Zones, images and flavours of grants on a real OpenStack."""

from typing import Any

import testtools

from tests.fixtures.openstack import require_fault_injection
from tests.fixtures.openstack_vnf import OUT, SINGLE, VnfService

ZONE = "nova"


class TestLocalGrant(testtools.TestCase):
    """An installation without an NFVO."""

    def setUp(self) -> None:
        super().setUp()
        options = {"nfvo": {"zones": [ZONE]}}
        self.vnf = self.useFixture(VnfService(self, **options))

    def image(self) -> str:
        """Return the sample's image, as templates have it."""
        return self.vnf.project.image("cirros")

    def test_instantiate_sets_zones_images_and_flavours(self) -> None:
        vnf = self.vnf
        vnf.start()
        image = self.image()
        for vnfc in vnf.vnfcs():
            self.assertEqual(ZONE, vnfc["zoneId"])
            self.assertEqual("m1.tiny", vnfc["metadata"]["flavor"])
        (front,), (store,) = vnf.vnfcs("front"), vnf.vnfcs("store")
        self.assertEqual(image, front["metadata"]["image-front"])
        self.assertEqual(image, store["metadata"]["image-store_disk"])

    def test_scale_out_sets_zones_and_images(self) -> None:
        vnf = self.vnf
        vnf.start(flavourId="single", additionalParams=SINGLE)
        vnf.run_operation("scale", {**OUT, "additionalParams": SINGLE})
        image = self.image()
        last, first = vnf.vnfcs("front")
        for vnfc in (last, first):
            self.assertEqual(ZONE, vnfc["zoneId"])
            self.assertEqual(image, vnfc["metadata"]["image-front"])


class TestHeal(testtools.TestCase):
    """A heal whose VNFC gets no valid host in its zone."""

    def test_the_vnfc_is_moved_to_another_zone(self) -> None:
        require_fault_injection(self)  # a zone that is full
        options = {"openstack": {"fallback_zones": ["full", ZONE]}}
        vnf = self.useFixture(VnfService(self, **options))
        vnf.start()
        full = {"nfv": {"VDU": {"store": {"locationConstraints": "full"}}}}
        for everything in ({}, {"all": True}):
            front, store = vnf.ids("front"), vnf.vnfcs("store")[0]["id"]
            body: dict[str, Any] = {"additionalParams": {**full, **everything}}
            if not everything:
                body["vnfcInstanceId"] = [store]
            vnf.run_operation("heal", body)
            (healed,) = vnf.vnfcs("store")
            self.assertNotEqual(store, healed["id"])
            self.assertEqual(ZONE, healed["zoneId"])
            self.assertEqual(bool(everything), front != vnf.ids("front"))
            self.assertEqual(vnf.servers(), vnf.ids())
