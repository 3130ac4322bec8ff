"""The sample VNF, as user data is asked about it."""

from pathlib import Path
from typing import Any

import fixtures
import testtools
import yaml

from samples import build
from tacker_cnf.user_data import parameters
from tacker_cnf.vnfd import csar, descriptor

SAMPLE = Path(build.__file__).parent / "vnf"
INSTANCE = "6b1d2f0c-8a35-4e9b-bd17-0c4f7e2a9d51"
LINK = {
    "id": "outside",
    "resourceId": "net-1",
    "extCps": [
        {"cpdId": "front_cp", "cpConfig": {"a": {}}},
        {"cpdId": "store_cp", "cpConfig": {"b": {}}},
    ],
}


def computes(**counts: int) -> list[dict[str, Any]]:
    """Make what a grant request says of VNFCs that are added."""
    return [
        {"id": f"{vdu}{n}", "type": "COMPUTE", "resourceTemplateId": vdu}
        for vdu, count in counts.items()
        for n in range(count)
    ]


def gone(*servers: str) -> list[dict[str, Any]]:
    """Make what a grant request says of VNFCs of front that are removed."""
    return [
        {
            "id": f"gone-{server}",
            "type": "COMPUTE",
            "resourceTemplateId": "front",
            "resource": {"resourceId": server},
        }
        for server in servers
    ]


def zones(**placed: str) -> dict[str, Any]:
    """Make a grant: resource -> zone."""
    return {
        "zones": [{"id": f"id-{z}", "zoneId": z} for z in placed.values()],
        "addResources": [
            {"resourceDefinitionId": name, "zoneId": f"id-{zone}"}
            for name, zone in placed.items()
        ],
    }


class UserDataCase(testtools.TestCase):
    """A test of user data on the sample VNF."""

    flavour = "simple"

    def setUp(self) -> None:
        super().setUp()
        root = Path(self.useFixture(fixtures.TempDir()).path)
        self.folder = root / "tree"
        package = build.build(SAMPLE, root / "vnf.csar")
        opened = csar.unpack(package, self.folder)
        self.vnfd = descriptor.read(self.folder, opened.entry_definitions)
        self.request: dict[str, Any] = {
            "flavourId": self.flavour,
            "extVirtualLinks": [LINK],
        }

    def instance(
        self, servers: dict[str, tuple[str, int | None]], **info: Any
    ) -> dict[str, Any]:
        """Make an instance: server -> VDU, number of the VNFC."""
        vnfcs = [
            {
                "id": server,
                "vduId": vdu,
                "computeResource": {"resourceId": server},
                "metadata": {} if number is None else {"vdu_idx": number},
            }
            for server, (vdu, number) in servers.items()
        ]
        about = {"flavourId": self.flavour, "vnfcResourceInfo": vnfcs}
        return {
            "id": INSTANCE,
            "vnfdId": self.vnfd.id,
            "instantiatedVnfInfo": about | info,
        }

    def ask(
        self,
        method: Any,
        inst: Any = None,
        req: Any = None,
        grant_req: Any = None,
        grant: Any = None,
    ) -> Any:
        """Ask a method of user data; its template comes out as JSON."""
        folder = str(self.folder)
        inst = inst or {"id": INSTANCE, "vnfdId": self.vnfd.id}
        with parameters.knowing(folder, self.vnfd):
            said = method(
                self.request if req is None else req,
                inst,
                grant_req or {},
                grant or {},
                folder,
            )
        if said.get("template"):
            said["template"] = yaml.safe_load(said["template"])
        return said

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
