"""VNF packages of third parties.

TACKER_CNF_REAL_PACKAGES names a directory with their sources, one a
directory; these tests are skipped without it. Scripts that their VNFDs name
may be missing: they are replaced by one that does nothing, or by the parts
that identify a script of the reference implementation.
"""

import hashlib
import os
import re
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fixtures
import testtools
import yaml

from tests.fixtures import reference_scripts
from tests.services.backends import POSTGRESQL
from tests.services.client import INSTANCES, PACKAGES
from tests.services.cluster import CORE, Cluster
from tests.services.deployment import Deployment

SOURCES = os.environ.get("TACKER_CNF_REAL_PACKAGES")
MANIFESTS = "Files/kubernetes"
SCRIPT = re.compile(r"\.\./(Scripts/\S+)")
LEFT_OUT = {reference_scripts.UPDATE: reference_scripts.UPDATE_TEXT}
WORKLOADS = {"Pod", "ReplicaSet", "Deployment", "DaemonSet", "StatefulSet"}


class RealPackage(fixtures.Fixture):
    """A package's source as a CSAR; its TOSCA.meta stays as it is.

    :param vnfd_id: replaces the VNFD's, where two packages have the same
    :param files: path -> text that is added
    """

    def __init__(
        self,
        source: Path,
        vnfd_id: str = "",
        files: Mapping[str, str] = {},
    ) -> None:
        super().__init__()
        self.source = source
        self._vnfd_id = vnfd_id
        self._files = files

    def _setUp(self) -> None:
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.path = folder / "package.csar"
        with zipfile.ZipFile(self.path, "w") as archive:
            for path in sorted(self.source.rglob("*")):
                if path.is_file():
                    name = str(path.relative_to(self.source))
                    archive.writestr(name, self._renamed(path))
            for script in self._scripts():
                archive.writestr(script, LEFT_OUT.get(script, ""))
            for name, text in self._files.items():
                archive.writestr(name, text)

    def _renamed(self, path: Path) -> bytes:
        content = path.read_bytes()
        if not self._vnfd_id or path.parent.name != "Definitions":
            return content
        old, new = self.vnfd_id.encode(), self._vnfd_id.encode()
        return content.replace(old, new)

    def _scripts(self) -> set[str]:
        definitions = (self.source / "Definitions").glob("*.yaml")
        scripts_by_name = {
            name
            for path in definitions
            for name in SCRIPT.findall(path.read_text())
        }
        return {
            name
            for name in scripts_by_name
            if not (self.source / name).exists()
        }

    def read(self) -> bytes:
        return self.path.read_bytes()

    @property
    def vnfd_id(self) -> str:
        (top,) = (self.source / "Definitions").glob("*top.vnfd.yaml")
        found = re.search(r"descriptor_id: (\S+)", top.read_text())
        assert found is not None
        return found[1]

    def documents(self, name: str) -> list[dict[str, Any]]:
        text = (self.source / MANIFESTS / name).read_text()
        return [one for one in yaml.safe_load_all(text) if one]

    def files(self) -> list[str]:
        """Return the manifests, those that others refer to first."""
        names = [p.name for p in (self.source / MANIFESTS).glob("*.yaml")]

        def sort_key(name: str) -> tuple[bool, str]:
            kinds = {one["kind"] for one in self.documents(name)}
            return bool(kinds & WORKLOADS), name

        return sorted(names, key=sort_key)


class RealPackages(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        if SOURCES is None:
            self.skipTest("TACKER_CNF_REAL_PACKAGES is not set")
        kubernetes_options = {
            "failure_grace": 1,
            # the packages have cluster-scoped kinds and directories of nodes
            "allowed_kinds": "*",
            "pod_security": "privileged",
        }
        self.deployment = self.useFixture(
            Deployment(self, POSTGRESQL, kubernetes=kubernetes_options)
        )
        self.cluster = self.useFixture(Cluster())
        self.client = self.deployment.api().client
        self.deployment.conductor()
        self.client.register(self.cluster.vim)

    def onboard(self, name: str) -> RealPackage:
        assert SOURCES is not None
        source = Path(SOURCES) / name
        if not source.is_dir():
            self.skipTest(f"there is no {source}")
        package = self.useFixture(RealPackage(source))
        csar = package.path.read_bytes()
        package_id = self.client.onboard(csar)
        path = f"{PACKAGES}/{package_id}"
        shown = self.client.call_expecting("GET", path, None, 200)
        self.assertEqual("ONBOARDED", shown["onboardingState"])
        self.assertEqual(package.vnfd_id, shown["vnfdId"])
        digest = hashlib.sha256(csar).hexdigest()
        self.assertEqual(digest, shown["checksum"]["hash"])
        self.instance = self.client.create(package.vnfd_id)
        return package

    def instantiation(self, *files: str, **parameters: Any) -> Any:
        names = [f"{MANIFESTS}/{name}" for name in files]
        parameters["lcm-kubernetes-def-files"] = names
        return {"flavourId": "simple", "additionalParams": parameters}

    def vdus(self) -> Counter[str]:
        info = self.client.info(self.instance)
        found = info.get("vnfcResourceInfo", ())
        return Counter(one["vduId"] for one in found)

    def run_task(self, task: str, body: Any) -> Any:
        return self.client.run(self.instance, task, body)

    def finish(self) -> None:
        """Terminate and delete the instance."""
        self.run_task("terminate", {"terminationType": "FORCEFUL"})
        path = f"{INSTANCES}/{self.instance}"
        self.client.call_expecting("DELETE", path, None, 204)


class TestContainerUpdatePackages(RealPackages):
    """Eight VDUs of four kinds, which read ConfigMaps and Secrets."""

    name = "test_cnf_container_update_before"

    def test_life(self) -> None:
        untouched = self.cluster.list_all()
        package = self.onboard(self.name)
        names = package.files()
        self.run_task(
            "instantiate", self.instantiation(*names, namespace="default")
        )
        counts = Counter({f"VDU{number}": 1 for number in range(1, 9)})
        counts["VDU5"] = 2  # a DaemonSet, on two nodes
        self.assertEqual(counts, self.vdus())
        pods = self.cluster.pods()
        self.assertEqual(set(pods), self.client.pods(self.instance))

        self.heal(counts)
        more = {"aspectId": "vdu1_aspect", "numberOfSteps": 1}
        self.run_task("scale", {"type": "SCALE_OUT", **more})
        self.assertEqual(counts + Counter({"VDU1": 1}), self.vdus())
        self.run_task("scale", {"type": "SCALE_IN", **more})
        self.assertEqual(counts, self.vdus())
        self.finish()
        self.assertEqual(untouched, self.cluster.list_all())

    def heal(self, counts: Counter[str]) -> None:
        one = min(self.client.pods(self.instance, "VDU2"))
        self.run_task("heal", {"vnfcInstanceId": [f"VDU2-{one}"]})
        self.assertEqual(counts, self.vdus())
        self.assertNotIn(one, self.cluster.pods())
        self.run_task("heal", {"cause": "a test"})
        self.assertEqual(counts, self.vdus())


class TestContainerUpdatePackagesAfter(TestContainerUpdatePackages):
    name = "test_cnf_container_update_after"


#: file -> the VNFCs of its workload; each VDU has to have one
WORKLOAD_FILES = {
    "pod.yaml": {"VDU1": 1},
    "deployment.yaml": {"VDU2": 2},
    "replicaset_service_secret.yaml": {"VDU3": 1},
    "statefulset.yaml": {"VDU5": 1},
    "daemon-set.yaml": {"VDU6": 2},
}
COUNTS = sum(map(Counter, WORKLOAD_FILES.values()), Counter[str]())
#: binds a Pod to a node that this cluster does not have
BINDING = "bindings.yaml"
#: VDU3 as a Deployment
FAILING = "deployment_fail_test.yaml"
#: limits the CPU time of pods, which not all pods of the package declare
QUOTA = "resource-quota.yaml"
UNSCHEDULABLE = re.compile(
    r"Pod (vdu\S+) is not ready: Unschedulable: "
    r"0/2 nodes are available: 2 Too many pods"
)
#: files that the StatefulSet needs beside its own
NEEDS = (
    "storage-class.yaml",
    "persistent-volume-0.yaml",
    "persistent-volume-1.yaml",
)


class TestPackageOfEveryKind(RealPackages):
    """Manifests of nearly all kinds of a cluster."""

    name = "test_instantiate_cnf_resources"

    def with_workloads(self, *more: str) -> Any:
        """Return the request to instantiate all VDUs, and more files."""
        names = dict.fromkeys((*NEEDS, *more, *WORKLOAD_FILES))
        return self.instantiation(*names)

    def test_each_workload(self) -> None:
        self.onboard(self.name)
        untouched = self.cluster.list_all()
        self.run_task("instantiate", self.with_workloads())
        self.assertEqual(COUNTS, self.vdus())
        for vdu in sorted(COUNTS):
            self.check_heal(vdu)
        before = self.client.pods(self.instance)
        self.run_task("heal", {})
        self.assertEqual(COUNTS, self.vdus())
        # the pod of a StatefulSet keeps its name
        kept_pods = before & self.client.pods(self.instance)
        self.assertEqual({"vdu1", "vdu5-0"}, kept_pods)
        self.finish()
        self.assertEqual(untouched, self.cluster.list_all())

    def check_heal(self, vdu: str) -> None:
        """Heal the VNFCs of a VDU, and of no other."""
        before = self.uids()
        vdu_pods = self.client.pods(self.instance, vdu)
        names = [f"{vdu}-{name}" for name in sorted(vdu_pods)]
        self.run_task("heal", {"vnfcInstanceId": names})
        self.assertEqual(COUNTS, self.vdus(), vdu)
        after = self.uids()
        kept_pods = {
            name for name in before if after.get(name) == before[name]
        }
        self.assertEqual(before.keys() - vdu_pods, kept_pods, vdu)

    def uids(self) -> dict[str, str]:
        """Return the uid of each pod of the instance."""
        found = self.cluster.pods()
        return {
            name: found[name]["metadata"]["uid"]
            for name in self.client.pods(self.instance)
        }

    def test_scaling(self) -> None:
        self.onboard(self.name)
        self.run_task("instantiate", self.with_workloads())
        for vdu in ("VDU2", "VDU3", "VDU5"):
            step = {"aspectId": f"{vdu.lower()}_aspect"}
            self.run_task("scale", {"type": "SCALE_OUT", **step})
            self.assertEqual(COUNTS + Counter({vdu: 1}), self.vdus())
            self.run_task("scale", {"type": "SCALE_IN", **step})
            self.assertEqual(COUNTS, self.vdus())
        self.finish()

    def test_everything_else(self) -> None:
        package = self.onboard(self.name)
        untouched = self.cluster.list_all()
        namespaces = self.cluster.call("GET", f"{CORE}/namespaces")
        for name in package.files():
            if name in {*WORKLOAD_FILES, BINDING, FAILING, QUOTA}:
                continue
            self.run_task("instantiate", self.with_workloads(name))
            self.assertEqual(COUNTS, self.vdus(), name)
            self.check_objects(package.documents(name))
            self.run_task("terminate", {"terminationType": "FORCEFUL"})
            self.assertEqual(untouched, self.cluster.list_all(), name)
        after = self.cluster.call("GET", f"{CORE}/namespaces")
        self.assertEqual(len(namespaces["items"]), len(after["items"]))

    def check_objects(self, documents: list[dict[str, Any]]) -> None:
        """Check that all stored objects exist, with the instance's label."""
        for one in documents:
            if one["kind"].endswith("Review"):
                continue
            version = one["apiVersion"]
            root = "/api" if "/" not in version else "/apis"
            kinds = self.cluster.call("GET", f"{root}/{version}")["resources"]
            (plural,) = (
                kind["name"]
                for kind in kinds
                if kind["kind"] == one["kind"] and "/" not in kind["name"]
            )
            path = f"{root}/{version}/{plural}"
            found = self.cluster.call("GET", path)["items"]
            (existing,) = (
                created
                for created in found
                if created["metadata"]["name"] == one["metadata"]["name"]
            )
            labels = existing["metadata"]["labels"]
            self.assertEqual(self.instance, labels["tacker_vnf_instance_id"])

    def test_deployment_that_cannot_run(self) -> None:
        """It fails clearly if no node takes the pods, and leaves no object."""
        self.onboard(self.name)
        untouched = self.cluster.list_all()
        for number in (1, 2):
            node = f"sandbox-node-{number}"
            self.cluster.sandbox.set_node_capacity(node, pods=0)
        other_files = WORKLOAD_FILES.keys() - {
            "replicaset_service_secret.yaml"
        }
        request = self.instantiation(*NEEDS, *sorted(other_files), FAILING)
        failed = self.fail_instantiation(request)
        self.check_reason(failed["error"]["detail"])
        self.roll_back(failed)
        self.assertEqual(untouched, self.cluster.list_all())

    def test_pods_that_a_quota_rejects(self) -> None:
        self.onboard(self.name)
        untouched = self.cluster.list_all()
        failed = self.fail_instantiation(self.with_workloads(QUOTA))
        self.assertIn(
            "failed quota: curry-rq: must specify cpu",
            failed["error"]["detail"],
        )
        self.roll_back(failed)
        self.assertEqual(untouched, self.cluster.list_all())

    def fail_instantiation(self, request: Any) -> Any:
        """Instantiate without success; return the operation."""
        failed = self.client.wait_operation(
            self.client.start_operation(self.instance, "instantiate", request)
        )
        self.assertEqual("FAILED_TEMP", failed["operationState"], str(failed))
        return failed

    def roll_back(self, failed: Any) -> None:
        """Roll an operation back."""
        rolled = self.client.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", rolled["operationState"], str(rolled))

    def check_reason(self, detail: str) -> None:
        """Check that a failure names a pod that cannot run, and why."""
        found = UNSCHEDULABLE.match(detail)
        assert found is not None, detail
        pods = self.cluster.pods()
        self.assertIn(found[1], pods)
        created = [name for name in pods if name.startswith("vdu3-")]
        self.assertNotEqual([], created)


class TestSources(testtools.TestCase):
    def test_the_life_of_each_package_is_tested(self) -> None:
        """Those for OpenStack are in test_heat_packages."""
        if SOURCES is None:
            self.skipTest("TACKER_CNF_REAL_PACKAGES is not set")
        modules = Path(__file__).parent.glob("test_*_packages.py")
        text = "".join(path.read_text() for path in modules)
        packages = Path(SOURCES).glob("*/TOSCA-Metadata")
        names = {path.parent.name for path in packages}
        self.assertNotEqual(set(), names)
        self.assertEqual(set(), {n for n in names if f'"{n}"' not in text})
