"""The sample driver in a service that finds it by its entry point."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fixtures
import testtools

from tacker_cnf.lcm.vnf_plan import ActionType, VnfPlan
from tacker_cnf.sol import base
from tests.fixtures import waiting
from tests.fixtures.sample_driver import InstalledDriver
from tests.services.backends import POSTGRESQL
from tests.services.client import INSTANCES, OP_OCCS
from tests.services.deployment import Conductor, Deployment

INSTANTIATE = {"flavourId": "simple"}
OUT = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
IN = {"type": "SCALE_IN", "aspectId": "web_aspect"}
TERMINATE = {"terminationType": "FORCEFUL"}
#: VNFCs of the instantiation level
VNFCS = 5


class DeploymentWithDriver(Deployment):
    """A service whose programs find the installed driver."""

    preloaded = False

    def _prepare(self) -> None:
        self.programs = self.useFixture(InstalledDriver()).programs
        super()._prepare()


class TestSampleDriver(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.deployment = self.useFixture(
            DeploymentWithDriver(self, POSTGRESQL)
        )
        self.client = self.deployment.api().client
        self.root = Path(self.useFixture(fixtures.TempDir()).path) / "vim"

    def files(self) -> set[str]:
        """Return the names of the VNFCs in the directory."""
        return {path.stem for path in self.root.glob(f"{self.vnf}/*.json")}

    def set_capacity(self, files: int) -> None:
        (self.root / "capacity").write_text(str(files))

    def wait_full(self, files: int) -> None:
        """Wait until the driver waits for room."""
        waiting.until(lambda: len(self.files()) == files, f"{files} files")

    def dry_run(self, path: str, body: Any = None) -> VnfPlan:
        """Plan an operation; check that this changes nothing."""
        before = self.files()
        response = self.client.call("POST", f"{path}?dry_run=true", body)
        self.assertEqual(200, response.status, str(response.content))
        self.assertEqual(before, self.files())
        return base.decode(response.content, VnfPlan)

    def run_planned(self, task: str, body: Any) -> None:
        """Plan and run an operation; check that it did what was planned."""
        plan = self.dry_run(f"{INSTANCES}/{self.vnf}/{task}", body)
        before = self.files()
        self.client.run(self.vnf, task, body)
        self.check_done(plan, before)

    def check_done(self, plan: VnfPlan, before: set[str]) -> None:
        after = self.files()
        self.assertEqual(after, self.client.pods(self.vnf))
        names: dict[str, list[str]] = {kind: [] for kind in ActionType}
        for action in plan.actions:
            names[action.type].append(action.name)
        removed = {*names["DELETE"], *names["RECREATE"]}
        self.assertEqual(before - after, removed)
        self.assertEqual(before & after, set(names["UNCHANGED"]))
        added = len(names["CREATE"]) + len(names["RECREATE"])
        self.assertEqual(added, len(after - before))

    def decide(self, op_occ: Any, decision: str, end: str) -> None:
        """Plan and run a retry or a rollback; check its final state."""
        before = self.files()
        plan = self.dry_run(f"{OP_OCCS}/{op_occ['id']}/{decision}")
        decided = self.client.decide(op_occ["id"], decision)
        self.assertEqual(end, decided["operationState"], decided)
        self.check_done(plan, before)

    def run_failing(
        self, task: str, body: Any, interrupt: Callable[[str], Any]
    ) -> Any:
        """Start an operation and interrupt it; return it when it failed."""
        op_occ_id = self.client.start_operation(self.vnf, task, body)
        interrupt(op_occ_id)
        failed = self.client.wait_operation(op_occ_id)
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        return failed

    def test_a_life(self) -> None:
        conductor = self.deployment.conductor()
        self.register()
        self.vnf = self.client.create(self.client.onboard_sample())
        self.instantiate_with_a_crash(conductor)
        for task, body in (("scale", OUT), ("scale", IN), ("scale", OUT)):
            self.run_planned(task, body)
        one = self.client.info(self.vnf)["vnfcInfo"][0]["id"]
        self.run_planned("heal", {"vnfcInstanceId": [one]})
        self.run_planned("heal", {})
        self.cancel_and_roll_back()
        self.lose_the_vim_and_retry()
        self.run_planned("terminate", TERMINATE)
        self.assertEqual(["capacity"], [p.name for p in self.root.iterdir()])
        path = f"{INSTANCES}/{self.vnf}"
        self.client.call_expecting("DELETE", path, None, 204)

    def register(self) -> None:
        vim = {
            "name": "files",
            "type": "directory",
            "auth_url": str(self.root),
            "auth_cred": {},
            "is_default": True,
        }
        refused = self.client.call("POST", "/v1.0/vims", {"vim": vim})
        self.assertEqual(422, refused.status)
        self.assertIn("is not a directory", refused.detail)
        self.root.mkdir()
        self.client.register(vim, "files")

    def instantiate_with_a_crash(self, conductor: Conductor) -> None:
        path = f"{INSTANCES}/{self.vnf}/instantiate"
        plan = self.dry_run(path, INSTANTIATE)
        kinds = [action.type for action in plan.actions]
        self.assertEqual([ActionType.CREATE] * VNFCS, kinds)
        self.set_capacity(VNFCS - 2)

        def kill(_: str) -> None:
            self.wait_full(VNFCS - 2)
            self.deployment.kill(conductor)
            self.deployment.conductor()

        failed = self.run_failing("instantiate", INSTANTIATE, kill)
        self.assertIn(conductor.owner, failed["error"]["detail"])
        self.set_capacity(VNFCS + 1)
        self.decide(failed, "retry", "COMPLETED")
        self.assertEqual(VNFCS, len(self.files()))
        (connection,) = self.client.show(self.vnf)[
            "vimConnectionInfo"
        ].values()
        self.assertEqual("SAMPLE.DIRECTORY.V_1", connection["vimType"])

    def cancel_and_roll_back(self) -> None:
        before = self.files()
        self.set_capacity(len(before) + 1)

        def cancel(op_occ_id: str) -> None:
            self.wait_full(len(before) + 1)
            path = f"{OP_OCCS}/{op_occ_id}/cancel"
            body = {"cancelMode": "GRACEFUL"}
            self.client.call_expecting("POST", path, body, 202)

        failed = self.run_failing("scale", OUT | {"numberOfSteps": 3}, cancel)
        self.assertIn("was cancelled", failed["error"]["detail"])
        self.decide(failed, "rollback", "ROLLED_BACK")
        self.assertEqual(before, self.files())

    def lose_the_vim_and_retry(self) -> None:
        away = self.root.rename(self.root.with_name("away"))
        failed = self.run_failing("heal", {}, lambda _: None)
        self.assertIn("is not a directory", failed["error"]["detail"])
        away.rename(self.root)
        self.decide(failed, "retry", "COMPLETED")
