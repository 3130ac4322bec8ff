"""Leftovers: objects on a VIM of a VNF instance that should have none."""

import contextlib
import threading
import uuid
from pathlib import Path
from typing import Any

import fixtures
import sqlalchemy as sa
import testtools

from tacker_cnf import errors
from tacker_cnf.cmd import manage
from tacker_cnf.conductor.synchronizer import RESYNC_LEASE
from tacker_cnf.db import models
from tacker_cnf.sol.common import ResourceHandle
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo
from tests.fixtures import waiting
from tests.fixtures.clock import ManualClock
from tests.fixtures.cluster import APPS, CORE, CnfCase, CnfService
from tests.fixtures.vnfm import FAKE_VIM, Vnfm

INSTANCES = "/vnflcm/v2/vnf_instances"
TERMINATE = {"terminationType": "FORCEFUL"}
REQUEST = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
A_VNFC = VnfcResourceInfo(
    id="late",
    vdu_id="web",
    compute_resource=ResourceHandle(resource_id="late"),
)
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: probe}
spec:
  containers:
  - {name: probe, image: "registry/invalid:1"}
"""


class LeftoverCase(CnfCase):
    def create_failing(self) -> Any:
        """Instantiate a VNF with an image that does not exist."""
        instance_id = self.vnfm.create_with_files(pod=POD)
        failed = self.vnfm.run(instance_id, "instantiate", self.request())
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        return failed

    def request(self, **changes: Any) -> dict[str, Any]:
        return self.vnfm.request(**changes)

    def register(self) -> str:
        """Register the cluster; return the ID of the VIM."""
        sandbox = self.cluster.sandbox
        vim = {
            "name": "registered",
            "type": "kubernetes",
            "auth_url": sandbox.endpoint,
            "auth_cred": {
                "bearer_token": sandbox.token,
                "ssl_ca_cert": sandbox.ca_pem,
            },
        }
        response = self.vnfm.call("POST", "/v1.0/vims", {"vim": vim})
        return str(response.json["vim"]["id"])

    def delete(self, instance_id: str) -> Any:
        return self.vnfm.call("DELETE", f"{INSTANCES}/{instance_id}")

    def create_late_objects(self, instance_id: str) -> None:
        """Create labelled objects, as a conductor does after its lease."""
        labels = {"tacker_vnf_instance_id": instance_id}
        meta = {"name": "late", "labels": labels}
        core = f"{CORE}/namespaces/{self.vnfm.namespace}"
        port = {"ports": [{"port": 80}]}
        self.cluster.call("POST", f"{core}/configmaps", {"metadata": meta})
        self.cluster.call(
            "POST", f"{core}/services", {"metadata": meta, "spec": port}
        )
        container = {"name": "c", "image": "i"}
        template = {
            "metadata": {"labels": labels},
            "spec": {"containers": [container]},
        }
        spec = {"selector": {"matchLabels": labels}, "template": template}
        self.cluster.call(
            "POST",
            f"{APPS}/namespaces/{self.vnfm.namespace}/deployments",
            {"metadata": meta, "spec": spec},
        )

    def labelled(self, instance_id: str) -> set[str]:
        """List the objects with the label of an instance."""
        core = f"{CORE}/namespaces/{self.vnfm.namespace}"
        found = self.cluster.call("GET", f"{core}/configmaps")["items"]
        found += self.objects().values()
        return {
            one["metadata"]["name"]
            for one in found
            if one["metadata"].get("labels", {}).get("tacker_vnf_instance_id")
            == instance_id
        }

    def full_resync(self) -> None:
        """Run a full resync of the conductor."""
        synchronizer = self.vnfm.conductor.synchronizer
        self.assertTrue(synchronizer.lease_set.acquire(RESYNC_LEASE))
        synchronizer.full_resync()

    def wait_removed(self, instance_id: str) -> None:
        """Wait until an instance has no objects."""
        waiting.until(lambda: not self.labelled(instance_id), "the removal")


class TestFailed(LeftoverCase):
    """Objects of an instantiation that was failed."""

    def test_the_deletion_waits_until_they_are_removed(self) -> None:
        failed = self.create_failing()
        instance_id = failed["vnfInstanceId"]
        self.vnfm.decide(failed["id"], "fail")
        self.assertIn("web-config", self.labelled(instance_id))
        refused = self.delete(instance_id)
        self.assertEqual(409, refused.status)
        self.assertIn(failed["id"], refused.detail)
        self.assertIn("request the deletion again", refused.detail)
        waiting.until(
            lambda: self.delete(instance_id).status == 204, "the deletion"
        )
        self.assertEqual(set(), self.labelled(instance_id))

    def test_a_sync_removes_them_and_allows_another_instantiation(
        self,
    ) -> None:
        failed = self.create_failing()
        instance_id = failed["vnfInstanceId"]
        self.vnfm.decide(failed["id"], "fail")
        # another request would leave the objects of the first one
        other = self.vnfm.deployment_only()
        # a refusal wakes a conductor, which must not have ended before the sync
        with self.cluster.sandbox.block_api_server():
            refused = self.vnfm.task(instance_id, "instantiate", other)
            synced = self.vnfm.task(instance_id, "sync", None)
        self.assertEqual(409, refused.status)
        self.assertIn(failed["id"], refused.detail)
        self.assertEqual(202, synced.status)
        waiting.until(lambda: self.is_clean(instance_id), "the end of it")
        self.assertEqual(set(), self.labelled(instance_id))
        again = self.vnfm.run(instance_id, "instantiate", other)
        self.assertEqual("COMPLETED", again["operationState"], again)
        self.full_resync()
        self.assertIn("web-config", self.labelled(instance_id))

    def is_clean(self, instance_id: str) -> bool:
        response = self.vnfm.task(instance_id, "sync", None)
        return (
            response.status == 409 and "has no objects on" in response.detail
        )

    def test_a_full_resync_removes_them(self) -> None:
        failed = self.create_failing()
        self.full_resync()  # an operation holds the instance
        instance_id = failed["vnfInstanceId"]
        self.assertIn("web-config", self.labelled(instance_id))
        self.vnfm.decide(failed["id"], "fail")
        self.full_resync()
        self.wait_removed(instance_id)


class TestOrphans(LeftoverCase):
    """Objects that a conductor created after it lost its operation."""

    def test_a_full_resync_removes_objects_created_after_the_rollback(
        self,
    ) -> None:
        failed = self.create_failing()
        instance_id = failed["vnfInstanceId"]
        self.vnfm.decide(failed["id"], "rollback")
        self.wait_removed(instance_id)
        self.create_late_objects(instance_id)
        self.full_resync()
        self.wait_removed(instance_id)
        self.assertEqual(204, self.delete(instance_id).status)

    def test_objects_of_a_deleted_instance_and_of_an_unknown_one(self) -> None:
        # credentials of a request are deleted with the instance
        vim = {"vim1": {"vimId": self.register()}}
        request = self.request(vimConnectionInfo=vim)
        instance_id = self.vnfm.start_vnf(request)
        self.vnfm.run(instance_id, "terminate", TERMINATE)
        self.assertEqual(204, self.delete(instance_id).status)
        unknown = str(uuid.uuid4())
        self.create_late_objects(instance_id)
        orphans = self.vnfm.conductor.synchronizer.sync.orphans
        ((key, task),) = orphans.build_search_tasks(lambda: True).items()
        self.assertEqual([], orphans.search("another", task))
        self.assertIn("found on another VIM", self.vnfm.logger.output)
        self.assertEqual([instance_id], orphans.search(key, task))
        self.full_resync()
        self.wait_removed(instance_id)
        self.create_late_objects(unknown)
        self.full_resync()
        self.full_resync()
        self.assertIn("late", self.labelled(unknown))
        log = self.vnfm.logger.output
        self.assertIn(f"vnf_instance_id={instance_id}", log)
        (line,) = [one for one in log.splitlines() if unknown in one]
        self.assertIn("Objects of an unknown VNF instance found", line)

    def test_credentials_for_one_namespace(self) -> None:
        rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        self.cluster.allow_viewer(self.vnfm.namespace, rule)
        token = self.cluster.sandbox.viewer_token
        vim = self.cluster.vim(bearer_token=token)
        request = self.vnfm.deployment_only(vimConnectionInfo=vim)
        instance_id = self.vnfm.start_vnf(request)
        self.vnfm.run(instance_id, "terminate", TERMINATE)
        self.create_late_objects(instance_id)
        self.full_resync()
        self.wait_removed(instance_id)


class TestWatch(LeftoverCase):
    def create_service(self) -> CnfService:
        return CnfService({"sync_watch": True})

    def other_namespace_request(self) -> dict[str, Any]:
        """Build a request for another namespace of the same cluster."""
        request = self.vnfm.deployment_only()
        request["additionalParams"]["namespace"] = self.cluster.namespace()
        return request

    def test_late_pods_are_removed_at_once(self) -> None:
        self.vnfm.start_vnf(self.other_namespace_request())
        failed = self.create_failing()
        instance_id = failed["vnfInstanceId"]
        self.vnfm.decide(failed["id"], "rollback")
        self.create_late_objects(instance_id)
        self.wait_removed(instance_id)


class TestClaim(testtools.TestCase):
    """The removal and the operations of an instance exclude each other."""

    def setUp(self) -> None:
        super().setUp()
        self.clock = ManualClock()
        self.vnfm = self.useFixture(Vnfm(self.clock))
        self.driver = self.vnfm.driver
        self.vnf = self.vnfm.create()

    def instantiate(self) -> Any:
        return self.vnfm.task(self.vnf, "instantiate", REQUEST)

    def fail_instantiation(self) -> None:
        """Let an instantiation fail after it has created an object."""

        def fail_with_leftover(_: Any) -> None:
            self.driver.vnfcs[self.vnf] = (A_VNFC,)
            raise errors.NotReady("It is broken.")

        self.driver.before["apply"] = fail_with_leftover
        failed = self.vnfm.run(self.vnf, "instantiate", REQUEST)
        self.vnfm.decide(failed["id"], "fail")
        self.driver.before.clear()

    def clean(self) -> None:
        self.vnfm.conductor.synchronizer.sync.sync_instance(self.vnf)

    def test_no_operation_starts_during_the_removal(self) -> None:
        self.fail_instantiation()
        responses = []
        self.driver.before["clean"] = lambda _: responses.append(
            self.instantiate()
        )
        self.assertRaises(errors.OperationInProgress, self.clean)
        (response,) = responses
        self.assertEqual(409, response.status)
        self.assertIn("retry in some seconds", response.detail)
        self.assertNotIn(self.vnf, self.driver.vnfcs)
        self.assertEqual(202, self.instantiate().status)

    def test_a_claim_of_a_lost_conductor_expires(self) -> None:
        self.fail_instantiation()
        claim_started, resumed = threading.Event(), threading.Event()
        self.addCleanup(resumed.set)

        def freeze(_: Any) -> None:
            claim_started.set()
            resumed.wait(60)

        self.driver.before["clean"] = freeze
        thread = threading.Thread(target=self.try_to_clean)
        thread.start()
        self.assertTrue(claim_started.wait(60))
        self.driver.before.clear()
        self.assertEqual(409, self.instantiate().status)
        with self.vnfm.parts.store.writer() as session:
            session.execute(
                sa.update(models.VnfInstance).values(cleanup_until=0.0)
            )
        self.clock.advance(self.vnfm.conf.conductor.lease)
        self.assertEqual(202, self.instantiate().status)
        waiting.until(lambda: self.state() == "INSTANTIATED", "its end")
        # the lost conductor's result is ignored, and nothing is deleted
        resumed.set()
        thread.join(60)
        self.assertIn(self.vnf, self.driver.vnfcs)

    def manage(self, *arguments: str) -> str:
        config_args = ("--config-dir", str(self.vnfm.state_path))
        stdout = self.useFixture(fixtures.StringStream("stdout")).stream
        with contextlib.redirect_stdout(stdout):
            self.assertEqual(
                0, manage.main([*config_args, "leftovers", *arguments])
            )
        stdout.seek(0)
        return str(stdout.read())

    def test_an_administrator_drops_it(self) -> None:
        def unreachable(_: Any) -> None:
            raise errors.VimUnreachable("It was shut down.")

        Path(self.vnfm.state_path, "own.conf").write_text(
            f"[DEFAULT]\nstate_path = {self.vnfm.state_path}\n"
        )
        self.assertIn("No VNF instance has leftovers.", self.manage("list"))
        self.fail_instantiation()
        self.driver.before["clean"] = unreachable
        path = f"{INSTANCES}/{self.vnf}"
        self.assertEqual(409, self.vnfm.call("DELETE", path).status)
        self.assertIn(self.vnf, self.manage("list"))
        self.assertIn("may be deleted", self.manage("drop", self.vnf))
        waiting.until(
            lambda: self.vnfm.call("DELETE", path).status == 204, "its end"
        )

    def try_to_clean(self) -> None:
        with contextlib.suppress(errors.VnfmError):
            self.clean()

    def state(self) -> str:
        return str(self.vnfm.instance(self.vnf)["instantiationState"])

    def test_a_suspect_is_cleaned_until_nothing_is_found(self) -> None:
        self.vnfm.run(self.vnf, "instantiate", REQUEST)
        self.vnfm.run(self.vnf, "terminate", TERMINATE)
        cleaned: list[Any] = []
        self.driver.before["clean"] = cleaned.append
        self.driver.vnfcs[self.vnf] = (A_VNFC,)
        self.vnfm.conductor.synchronizer.sync.orphans.suspect(self.vnf)
        self.assertRaises(errors.OperationInProgress, self.clean)
        self.clean()
        self.assertEqual(2, len(cleaned))
        self.clean()
        self.assertEqual(2, len(cleaned))

    def test_a_conductor_that_lost_its_claim_has_its_writes_removed(
        self,
    ) -> None:
        def take_over(_: Any) -> None:
            """Let another conductor roll back the operation."""
            op_occ, instance = models.VnfLcmOpOcc, models.VnfInstance
            with self.vnfm.parts.store.writer() as session:
                session.execute(
                    sa.update(op_occ).values(
                        fence=op_occ.fence + 1, operation_state="ROLLED_BACK"
                    )
                )
                session.execute(sa.update(instance).values(busy_with=None))

        self.driver.before["apply"] = take_over
        cleaned = threading.Event()
        self.driver.before["clean"] = lambda _: cleaned.set()
        self.vnfm.run(self.vnf, "instantiate", REQUEST)
        self.assertTrue(cleaned.wait(60))
        waiting.until(lambda: self.vnf not in self.driver.vnfcs, "the end")
