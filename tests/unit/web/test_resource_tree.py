"""The resources of a VNF as a tree."""

from typing import Any

import msgspec
import testtools

from tacker_cnf.lcm.vnfc_ids import LOST
from tacker_cnf.sol.vnf_instance import InstantiatedVnfInfo
from tacker_cnf.web import resource_tree


def a_resource(number: int, **values: Any) -> dict[str, Any]:
    return {
        "id": f"resource-{number}",
        "vduId": "web",
        "computeResource": {"resourceId": f"pod-{number}"},
        **values,
    }


INFO = msgspec.convert(
    {
        "flavourId": "simple",
        "vnfState": "STOPPED",
        "vnfcResourceInfo": [
            a_resource(1, storageResourceIds=["storage-2", "unknown"]),
            a_resource(2, metadata={LOST: True}),
            a_resource(3),
        ],
        "vnfcInfo": [
            {
                "id": f"vnfc-{number}",
                "vduId": "web",
                "vnfcResourceInfoId": f"resource-{number}",
                "vnfcState": "STARTED",
            }
            for number in (1, 2)
        ],
        "virtualStorageResourceInfo": [
            {
                "id": f"storage-{number}",
                "virtualStorageDescId": "disk",
                "storageResource": {"resourceId": f"volume-{number}"},
            }
            for number in (1, 2)
        ],
    },
    InstantiatedVnfInfo,
)


class TestBuild(testtools.TestCase):
    def test_vnfcs(self) -> None:
        self.assertEqual(
            [
                ("vnfc-1", "pod-1", "STARTED"),
                ("vnfc-2", "pod-2", "LOST"),
                ("resource-3", "pod-3", "STOPPED"),
            ],
            [
                (vnfc.id, vnfc.resource_id, vnfc.state)
                for vnfc in resource_tree.build(INFO).vnfcs
            ],
        )

    def test_storages(self) -> None:
        leaves = [vnfc.leaves for vnfc in resource_tree.build(INFO).vnfcs]
        disk = resource_tree.Leaf("Storage", "disk", "volume-2")
        self.assertEqual([(disk,), (), ()], leaves)
