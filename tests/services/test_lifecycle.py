"""The lifecycle of a VNF on real servers, with API and conductor processes."""

from typing import Any

import testtools

from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import INSTANCES, PACKAGES, instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment

VDUS = {"probe": 1, "cache": 1, "web": 1, "agent": 2, "store": 1}
#: limit of the resident memory of an idle process, in MiB
MEMORY = 120


def changed(op_occ: Any) -> list[tuple[str, str]]:
    """Return the resource changes of an operation: (change, VDU)."""
    affected = op_occ.get("resourceChanges", {}).get("affectedVnfcs", ())
    return sorted((one["changeType"], one["vduId"]) for one in affected)


class TestOnPostgresql(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        deployment = Deployment(self, self.server)
        # the memory of a process is measured
        deployment.preloaded = False
        self.deployment = self.useFixture(deployment)
        self.cluster = self.useFixture(Cluster())
        self.api = self.deployment.api()
        self.conductor = self.deployment.conductor()
        self.client = self.api.client

    def check_running(self, counts: dict[str, int]) -> None:
        """Check that record and cluster have these numbers of pods."""
        info = self.client.info(self.instance)
        vnfc_resources = info["vnfcResourceInfo"]
        found = {
            vdu: sum(one["vduId"] == vdu for one in vnfc_resources)
            for vdu in counts
        }
        self.assertEqual(counts, found)
        pods = self.cluster.pods()
        self.assertEqual(set(pods), {one["id"] for one in vnfc_resources})
        for one in vnfc_resources:
            self.assertEqual(one["id"], one["computeResource"]["resourceId"])
        self.assertEqual(
            {
                (f"{one['vduId']}-{one['id']}", one["id"])
                for one in vnfc_resources
            },
            {(v["id"], v["vnfcResourceInfoId"]) for v in info["vnfcInfo"]},
        )
        for pod in pods.values():
            self.assertEqual("Running", pod["status"]["phase"])

    def run_task(self, task: str, body: Any) -> list[tuple[str, str]]:
        return changed(self.client.run(self.instance, task, body))

    def test_the_lifecycle_from_package_to_deletion(self) -> None:
        untouched = self.cluster.list_all()
        vnfd_id = self.client.onboard_sample()
        package = self.client.call_expecting("GET", PACKAGES, None, 200)[0]
        self.assertEqual("ONBOARDED", package["onboardingState"])
        vim = self.client.register(self.cluster.vim)
        self.instance = self.client.create(vnfd_id)
        self.instantiate()
        self.scale()
        self.heal()
        self.delete_all(f"{PACKAGES}/{package['id']}", vim, untouched)
        self.check_memory()

    def instantiate(self) -> None:
        done = self.run_task("instantiate", instantiation())
        self.assertEqual(
            sorted(("ADDED", vdu) for vdu in VDUS for _ in range(VDUS[vdu])),
            done,
        )
        self.check_running(VDUS)
        shown = self.client.show(self.instance)
        self.assertEqual("INSTANTIATED", shown["instantiationState"])

    def scale(self) -> None:
        for vdu in ("web", "cache", "store"):
            step = {"aspectId": f"{vdu}_aspect", "numberOfSteps": 2}
            before = self.client.pods(self.instance)
            done = self.run_task("scale", {"type": "SCALE_OUT", **step})
            self.assertEqual([("ADDED", vdu)] * 2, done)
            self.check_running({**VDUS, vdu: 3})
            self.assertLess(before, self.client.pods(self.instance))
            done = self.run_task("scale", {"type": "SCALE_IN", **step})
            self.assertEqual([("REMOVED", vdu)] * 2, done)
            self.check_running(VDUS)

    def heal(self) -> None:
        for vdu in VDUS:
            pod = min(self.client.pods(self.instance, vdu))
            uid = self.cluster.pods()[pod]["metadata"]["uid"]
            body = {"vnfcInstanceId": [f"{vdu}-{pod}"]}
            self.client.run(self.instance, "heal", body)
            self.check_running(VDUS)
            self.assertNotIn(uid, self.uids())
        before = self.uids()
        self.client.run(self.instance, "heal", {"cause": "a test"})
        self.check_running(VDUS)
        self.assertEqual(set(), before & self.uids())

    def uids(self) -> set[str]:
        pods = self.cluster.pods().values()
        return {pod["metadata"]["uid"] for pod in pods}

    def delete_all(
        self, package: str, vim: str, untouched: set[tuple[str, str, str]]
    ) -> None:
        before = self.client.pods(self.instance)
        done = self.run_task("terminate", {"terminationType": "FORCEFUL"})
        self.assertEqual(len(before), len(done))
        self.assertEqual({"REMOVED"}, {how for how, _ in done})
        self.assertEqual(untouched, self.cluster.list_all())
        shown = self.client.show(self.instance)
        self.assertEqual("NOT_INSTANTIATED", shown["instantiationState"])
        call = self.client.call_expecting
        call("DELETE", f"{INSTANCES}/{self.instance}", None, 204)
        call("PATCH", package, {"operationalState": "DISABLED"}, 200)
        call("DELETE", package, None, 204)
        call("DELETE", f"/v1.0/vims/{vim}", None, 204)
        for path in (INSTANCES, PACKAGES):
            self.assertEqual([], call("GET", path, None, 200))

    def check_memory(self) -> None:
        for program in (self.api, self.conductor):
            for pid, resident in program.memory().items():
                self.assertLess(resident, MEMORY, pid)


class TestOnMariadb(TestOnPostgresql):
    server = MARIADB
