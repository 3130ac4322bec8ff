"""The instantiatedVnfInfo of a VNF on a real Heat."""

import testtools

from tests.fixtures.openstack_vnf import SINGLE, VnfService


class TestAddresses(testtools.TestCase):
    """Addresses of ports that Heat created."""

    def test_assigned_addresses_are_recorded(self) -> None:
        vnf = self.useFixture(VnfService(self))
        vnf.start()
        points = {
            point["cpdId"]: [
                address
                for protocol in point.get("cpProtocolInfo", ())
                for address in protocol["ipOverEthernet"]["ipAddresses"]
            ]
            for vnfc in vnf.vnfcs()
            for point in vnfc["vnfcCpInfo"]
        }
        self.assertEqual(
            {"front_cp", "front_inside_cp", "store_cp", "store_inside_cp"},
            points.keys(),
        )
        seen = set()
        for addresses in points.values():
            (address,) = addresses
            self.assertEqual("IPV4", address["type"])
            self.assertTrue(address["isDynamic"])
            seen |= set(address["addresses"])
        self.assertEqual(4, len(seen))
        outside = {
            cp["cpdId"]: cp["cpProtocolInfo"][0]["ipOverEthernet"]
            for cp in vnf.info["extCpInfo"]
        }
        self.assertEqual(
            points["front_cp"], outside["front_cp"]["ipAddresses"]
        )


class TestNames(testtools.TestCase):
    """VNFC ids set in the metadata of an instance."""

    def test_a_vnfc_keeps_its_id_when_it_is_healed(self) -> None:
        vnf = self.useFixture(VnfService(self))
        vnf.start(flavourId="single", additionalParams=SINGLE)
        names = {"front": ["the front"], "store": ["the store"]}
        vnf.modify(vnf.id, {"metadata": {"VDU_VNFc_mapping": names}})
        before = {v["id"]: v for v in vnf.info["vnfcInfo"]}
        self.assertEqual({"the front", "the store"}, before.keys())
        done = vnf.run_operation(
            "heal",
            {
                "vnfcInstanceId": ["the store"],
                "additionalParams": {"all": True, **SINGLE},
            },
        )
        after = {v["id"]: v for v in vnf.info["vnfcInfo"]}
        self.assertEqual(before["the front"], after["the front"])
        self.assertNotEqual(before["the store"], after["the store"])
        # its storage was replaced, too
        removed, added = sorted(
            done["resourceChanges"]["affectedVnfcs"],
            key=lambda vnfc: str(vnfc["changeType"]),
            reverse=True,
        )
        (store,) = vnf.vnfcs("store")
        self.assertEqual(store["id"], added["id"])
        self.assertEqual(
            store["storageResourceIds"], added["addedStorageResourceIds"]
        )
        self.assertNotEqual(
            store["storageResourceIds"], removed["removedStorageResourceIds"]
        )
