"""Third-party VNF packages on a real Heat.

TACKER_CNF_REAL_PACKAGES is a directory with their sources; these tests are
skipped without it. Each uses the user data of its package; sources without
their scripts get one that is written with the same modules.
"""

import uuid
from pathlib import Path
from typing import Any, Final

import testtools

from tests.fixtures import reference_user_data
from tests.fixtures.openstack import Project
from tests.fixtures.openstack_vnf import FORCEFUL, a_link
from tests.fixtures.vnfm import Vnfm
from tests.services.test_third_party_packages import SOURCES, RealPackage

ASPECT: Final = "VDU1_scale"
READY: Final = ("VDU2_CP1-1", "VDU2_CP1-2")


def ext_cp(cpd: str, *addresses: dict[str, Any]) -> dict[str, Any]:
    """Build a connection point with addresses on subnets."""
    data = {
        "layerProtocol": "IP_OVER_ETHERNET",
        "ipOverEthernet": {
            "ipAddresses": [{"type": "IPV4", **data} for data in addresses]
        },
    }
    return {"cpdId": cpd, "cpConfig": {cpd: {"cpProtocolData": [data]}}}


def ext_links(network: str) -> dict[str, Any]:
    """Build the link of all connection points with addresses."""
    first = {"numDynamicAddresses": 1, "subnetId": "subnet-1"}
    second = {"numDynamicAddresses": 1, "subnetId": "subnet-2"}
    fixed = {"fixedAddresses": ["198.51.100.7"], "subnetId": "subnet-1"}
    return {
        **a_link(
            network,
            ext_cp("VDU1_CP1", first),
            ext_cp("VDU1_CP2", second),
            ext_cp("VDU2_CP2", fixed, second),
        ),
        "id": "outside",
    }


def ext_links_on_ports() -> dict[str, Any]:
    """Build the link of connection points on externally created ports."""
    points = [
        {"cpdId": name, "cpConfig": {name: {"linkPortId": f"port-{name}"}}}
        for name in READY
    ]
    ports = [
        {
            "id": f"port-{name}",
            "resourceHandle": {"resourceId": str(uuid.uuid4())},
        }
        for name in READY
    ]
    return {**a_link("net-2", *points), "extLinkPorts": ports}


class PackageCase(testtools.TestCase):
    """A VNF with the VDU1, which scales, and VDU2, which does not."""

    #: the user data in the package, its class, and what takes its place
    path = ""
    class_name = ""
    text = ""
    #: the operations that use it; all others use the default user data
    tasks: frozenset[str] = frozenset()

    def create_instance(self, name: str) -> None:
        """Create an instance of a package."""
        if SOURCES is None:
            self.skipTest("TACKER_CNF_REAL_PACKAGES is not set")
        source = Path(SOURCES) / name
        if not source.is_dir():
            self.skipTest(f"{source} does not exist")
        # only administrators create volume types
        self.project = self.useFixture(Project(self, "admin"))
        if self.project.tier != "core":
            self.skipTest("a full OpenStack lacks the images and subnets")
        # the metadata of the packages lists no files
        options = {"unlisted_files": True}
        shown = {"public_names": ["nfv"]}
        self.vnfm = self.useFixture(Vnfm(scripts=options, secrets=shown))
        vim = {
            **self.project.vim,
            "name": "cloud",
            "is_default": True,
            # the packages create types of volumes
            "extra": {
                "policy": {
                    "allowed_resource_types": ["OS::Cinder::VolumeType"]
                }
            },
        }
        made = self.vnfm.call("POST", "/v1.0/vims", {"vim": vim})
        self.assertEqual(201, made.status)
        files = {} if (source / self.path).exists() else {self.path: self.text}
        package = self.useFixture(RealPackage(source, files=files))
        self.instance = self.vnfm.create(self.vnfm.onboard(package))
        self.stack = f"vnf-{self.instance}"

    def run_task(self, task: str, **body: Any) -> Any:
        """Run an operation; check that it completes."""
        parameters = {
            "lcm-operation-user-data": f"./{self.path}",
            "lcm-operation-user-data-class": self.class_name,
        }
        if task in self.tasks:
            own = body.get("additionalParams", {})
            body["additionalParams"] = {**parameters, **own}
        op_occ = self.vnfm.run(self.instance, task, body)
        self.assertEqual("COMPLETED", op_occ["operationState"], op_occ)
        return op_occ

    def info(self) -> Any:
        return self.vnfm.instance(self.instance)["instantiatedVnfInfo"]

    def servers(self, vdu: str | None = None) -> set[str]:
        """Return the servers of the VNF or a VDU; compare them with Heat's."""
        found = self.info()["vnfcResourceInfo"]
        self.assertEqual(
            set(self.project.servers(self.stack)),
            {vnfc["id"] for vnfc in found},
        )
        return {v["id"] for v in found if vdu in {None, v["vduId"]}}

    def volumes(self) -> set[str]:
        found = self.info()["virtualStorageResourceInfo"]
        return {item["storageResource"]["resourceId"] for item in found}

    def stack_id(self) -> str:
        """Return the stack's id; check that the instance has the same."""
        found = str(self.project.stacks()[self.stack]["id"])
        self.assertEqual(found, self.info()["metadata"]["stack_id"])
        return found

    def run_lifecycle(self, *links: Any) -> None:
        """Run all operations."""
        network = self.project.network()
        self.run_task(
            "instantiate",
            flavourId="simple",
            extVirtualLinks=[ext_links(network), *links],
        )
        self.assertEqual(1, len(self.servers("VDU1")))
        self.assertEqual(1, len(self.servers("VDU2")))
        self.scale()
        self.heal_one()
        self.heal_with_storage()
        self.heal_servers()
        self.heal_stack()
        self.connect(network)
        self.vnfm.run(self.instance, "terminate", FORCEFUL)
        self.assertNotIn(self.stack, self.project.stacks())

    def scale(self) -> None:
        first = self.servers()
        self.run_task("scale", type="SCALE_OUT", aspectId=ASPECT)
        both = self.servers()
        self.assertLess(first, both)
        self.run_task("scale", type="SCALE_OUT", aspectId=ASPECT)
        self.assertEqual(3, len(self.servers("VDU1")))
        # the last created is removed first
        self.run_task("scale", type="SCALE_IN", aspectId=ASPECT)
        self.assertEqual(both, self.servers())

    def heal_one(self) -> None:
        for vdu in ("VDU1", "VDU2"):
            before, of_vdu = self.servers(), self.servers(vdu)
            kept = self.volumes(), self.stack_id()
            server = max(of_vdu)
            self.run_task("heal", vnfcInstanceId=[f"{vdu}-{server}"])
            self.assertEqual({server}, before - self.servers())
            self.assertEqual(len(of_vdu), len(self.servers(vdu)))
            self.assertEqual(kept, (self.volumes(), self.stack_id()))

    def heal_with_storage(self) -> None:
        before, volumes = self.servers("VDU1"), self.volumes()
        (server,) = self.servers("VDU2")
        self.run_task(
            "heal",
            vnfcInstanceId=[f"VDU2-{server}"],
            additionalParams={"all": True},
        )
        self.assertEqual(before, self.servers("VDU1"))
        self.assertEqual(1, len(volumes - self.volumes()))

    def heal_servers(self) -> None:
        before, kept = self.servers(), (self.volumes(), self.stack_id())
        self.run_task("heal")
        self.assertEqual(set(), before & self.servers())
        self.assertEqual(len(before), len(self.servers()))
        self.assertEqual(kept, (self.volumes(), self.stack_id()))

    def heal_stack(self) -> None:
        before, volumes = self.servers(), self.volumes()
        stack = self.stack_id()
        self.run_task("heal", additionalParams={"all": True})
        self.assertEqual(set(), before & self.servers())
        self.assertEqual(len(before), len(self.servers()))
        self.assertEqual(set(), volumes & self.volumes())
        self.assertNotEqual(stack, self.stack_id())

    def connect(self, old: str) -> None:
        new = self.project.network()
        op_occ = self.run_task(
            "change_ext_conn", extVirtualLinks=[ext_links(new)]
        )
        points = self.info()["metadata"]["nfv"]["CP"]
        networks = {
            point.get("network")
            for name, point in points.items()
            if self.is_used(name)
        }
        self.assertIn(new, networks)
        self.assertNotIn(old, networks)
        links = self.info()["extVirtualLinkInfo"]
        self.assertEqual(links, op_occ["changedExtConnectivity"])

    def is_used(self, _name: str) -> bool:
        """Check whether a VNFC has this connection point."""
        return True


class TestMax(PackageCase):
    """VDU1 is a Heat group, and VDU2 has two externally created ports."""

    path = "UserData/userdata.py"
    class_name = "UserData"
    text = reference_user_data.OF_GROUPS
    tasks = frozenset({"instantiate"})

    def test_lifecycle(self) -> None:
        self.create_instance("basic_lcms_max")
        self.run_lifecycle(ext_links_on_ports())


class TestIndividual(PackageCase):
    """Each VNFC is a separate resource."""

    path = "UserData/userdata_standard.py"
    class_name = "StandardUserData"
    text = reference_user_data.OF_VNFCS
    tasks = frozenset({"instantiate", "scale", "heal", "change_ext_conn"})

    def test_lifecycle(self) -> None:
        self.create_instance("basic_lcms_max_individual_vnfc")
        self.run_lifecycle()

    def is_used(self, name: str) -> bool:
        """The user data keeps the values of VNFCs that were removed."""
        indexes = {
            f"{vnfc['vduId']}-{vnfc['metadata']['vdu_idx']}"
            for vnfc in self.info()["vnfcResourceInfo"]
        }
        cp, _, index = name.rpartition("-")
        return f"{cp.partition('_')[0]}-{index}" in indexes
