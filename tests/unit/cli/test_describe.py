"""The tree of a VNF instance."""

import io
from collections.abc import Sequence
from typing import Any, Final

import testtools

from tacker_cnf.cli import describe
from tacker_cnf.cli.api_types import convert
from tacker_cnf.cli.op_display import open_console
from tacker_cnf.cli.op_types import OpOcc
from tacker_cnf.cli.vnf_types import Vim, VnfInstance
from tests.unit.cli.operations import an_op_occ

INSTANCE: Final[dict[str, Any]] = {
    "id": "b152ad6d-ad2a-4e3e-a7b6-a1eaf728372c",
    "vnfInstanceName": "demo",
    "vnfProductName": "Five Kinds",
    "vnfSoftwareVersion": "1.0",
    "instantiationState": "NOT_INSTANTIATED",
}
VIM: Final = Vim(id="v", name="cluster", status="REACHABLE")
INFO: Final = {
    "vnfState": "STARTED",
    "scaleStatus": [
        {"aspectId": "web_aspect", "scaleLevel": 1},
        {"aspectId": "free_aspect", "scaleLevel": 0},
    ],
    "maxScaleLevels": [{"aspectId": "web_aspect", "scaleLevel": 4}],
    "vnfcResourceInfo": [
        {
            "id": "web-1",
            "vduId": "web",
            "zoneId": "z",
            "computeResource": {
                "resourceId": "web-1",
                "vimLevelResourceType": "Deployment",
            },
        },
        {
            "id": "lost",
            "vduId": "web",
            "computeResource": {"resourceId": "web-2"},
        },
    ],
    "vnfcInfo": [
        {
            "id": "web-web-1",
            "vduId": "web",
            "vnfcResourceInfoId": "web-1",
            "vnfcState": "STARTED",
        }
    ],
    "virtualStorageResourceInfo": [
        {
            "virtualStorageDescId": "data",
            "storageResource": {
                "resourceId": "data-0",
                "vimLevelResourceType": "PersistentVolumeClaim",
            },
        }
    ],
    "vnfVirtualLinkResourceInfo": [
        {
            "vnfVirtualLinkDescId": "internal",
            "networkResource": {"resourceId": "net-1"},
        }
    ],
    "extVirtualLinkInfo": [
        {"id": "external", "resourceHandle": {"resourceId": "net-2"}}
    ],
}


class TestTree(testtools.TestCase):
    def render(
        self,
        instance: dict[str, Any],
        op_occ: OpOcc | None,
        vims: Sequence[Vim] | None = (),
    ) -> list[str]:
        stream = io.StringIO()
        open_console(stream).print(
            describe.render(
                describe.build(convert(instance, VnfInstance), op_occ, vims)
            )
        )
        lines = stream.getvalue().splitlines()
        return [" ".join(line.split()) for line in lines]

    def test_without_resources(self) -> None:
        self.assertEqual(
            [
                "NAME STATE MESSAGE",
                "VNF/demo NOT_INSTANTIATED Five Kinds 1.0",
                "└─Conditions",
                "├─Instantiated False",
                "├─Started False",
                "└─OperationInProgress False",
            ],
            self.render(INSTANCE, None),
        )

    def test_without_the_right_to_list_vims(self) -> None:
        instance = INSTANCE | {"vimConnectionInfo": {"one": {"vimId": "v"}}}
        self.assertEqual(
            self.render(INSTANCE, None), self.render(instance, None, None)
        )

    def test_with_everything(self) -> None:
        instance = INSTANCE | {
            "instantiationState": "INSTANTIATED",
            "instantiatedVnfInfo": INFO,
            "vimConnectionInfo": {
                "one": {"vimId": "v", "vimType": "kubernetes"},
                "two": {"vimType": "openstack"},
            },
        }
        op_occ = an_op_occ("PROCESSING")
        self.assertEqual(
            [
                "NAME STATE MESSAGE",
                "VNF/demo INSTANTIATED Five Kinds 1.0",
                "├─Conditions",
                "│ ├─Instantiated True",
                "│ ├─Started True",
                f"│ ├─OperationInProgress True SCALE PROCESSING {op_occ.id}",
                "│ ├─VimReachable/one True cluster",
                "│ └─VimReachable/two Unknown openstack",
                "├─Scale levels",
                "│ ├─Aspect/web_aspect 1 of 4",
                "│ └─Aspect/free_aspect 0",
                "├─VDU/web 1/2 started",
                "│ ├─VNFC/web-web-1 STARTED web-1 (Deployment) in zone z",
                "│ └─VNFC/lost web-2",
                "├─Storage",
                "│ └─Storage/data data-0 (PersistentVolumeClaim)",
                "└─Links",
                "├─VirtualLink/internal net-1",
                "└─ExternalVirtualLink/external net-2",
            ],
            self.render(instance, op_occ, [VIM]),
        )
