"""Plans of operations that have run, with what was done to each resource."""

import threading
from typing import Any, ClassVar, Final

import fixtures
import sqlalchemy as sa

from tacker_cnf import errors
from tacker_cnf.db import scope
from tacker_cnf.drivers.base import InfraTask, TaskContext
from tacker_cnf.drivers.kubernetes.cluster_connection import VIM_TYPE
from tacker_cnf.lcm.vnf_plan import ActionOutcome, ActionType, VnfPlan
from tacker_cnf.sol import base
from tests.fixtures.cluster import APPS, CORE, CnfCase, CnfService
from tests.fixtures.crashing_conductor import (
    CrashingConductor,
    start_conductor,
)
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Response, Vnfm
from tests.functional.test_cnf_budgets import BudgetCase
from tests.functional.test_cnf_change_package import ChangeCase

OP_OCCS: Final = "/vnflcm/v2/vnf_lcm_op_occs"
SCALE: Final = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
FORCEFUL: Final = {"terminationType": "FORCEFUL"}
DONE, SKIPPED = ActionOutcome.DONE, ActionOutcome.SKIPPED
FAILED, NOT_REACHED = ActionOutcome.FAILED, ActionOutcome.NOT_REACHED


class PlanCase(ApiCase):
    """Reads the plans of operations."""

    vnfm: Any

    def read(self, op_occ_id: str, accept: str = "*/*") -> Response:
        path = f"{OP_OCCS}/{op_occ_id}/plan"
        response: Response = self.vnfm.call(
            "GET", path, headers={"Accept": accept}
        )
        return response

    def plan(self, op_occ: Any) -> VnfPlan:
        response = self.read(op_occ["id"])
        self.assertEqual(200, response.status, response.json)
        return base.decode(response.content, VnfPlan)

    def outcomes(self, op_occ: Any) -> dict[str, ActionOutcome | None]:
        """Return the outcomes of a plan: kind and name -> outcome."""
        return {
            f"{action.kind} {action.name}": action.outcome
            for action in self.plan(op_occ).actions
        }

    def assert_state(self, state: str, op_occ: Any) -> None:
        self.assertEqual(state, op_occ["operationState"], str(op_occ))


class TestCompleted(CnfCase, PlanCase):
    def test_a_life(self) -> None:
        vnf = self.vnfm.create()
        request = self.vnfm.deployment_only()
        op_occ = self.vnfm.run(vnf, "instantiate", request)
        names = ("ConfigMap web-config", "Secret web-secret", "Deployment web")
        self.assertEqual(dict.fromkeys(names, DONE), self.outcomes(op_occ))
        plan = self.plan(op_occ)
        assert plan.grant_request is not None
        self.assertEqual("web", plan.grant_request.add_resources[0].vdu_id)
        op_occ = self.vnfm.run(vnf, "scale", SCALE)
        self.assertEqual(
            {
                "ConfigMap web-config": SKIPPED,
                "Secret web-secret": SKIPPED,
                "Deployment web": DONE,
            },
            self.outcomes(op_occ),
        )
        response = self.read(op_occ["id"], "text/plain")
        self.assertEqual("text/plain", response.type)
        text = response.content.decode()
        self.assertIn("scaled from 1 to 2 VNFCs, VDU web)  done\n", text)
        changes = op_occ["resourceChanges"]
        self.assertEqual(
            changes, self.read(op_occ["id"]).json["resourceChanges"]
        )
        (vnfc,) = changes["affectedVnfcs"]
        pod = vnfc["computeResource"]["resourceId"]
        self.assertIn(f"\nChanges\n  ADDED VNFC {pod} of web\n", text)
        self.assertIn("Outcome: 1 done, 2 skipped.", text)
        self.assert_problem(406, self.read(op_occ["id"], "text/html"))
        op_occ = self.vnfm.run(vnf, "terminate", FORCEFUL)
        self.assertEqual(dict.fromkeys(names, DONE), self.outcomes(op_occ))


class TestFailedInstantiation(CnfCase, PlanCase):
    def setUp(self) -> None:
        super().setUp()
        self.foreign = f"{CORE}/namespaces/{self.vnfm.namespace}/secrets"
        body = {"metadata": {"name": "web-secret"}}
        self.cluster.call("POST", self.foreign, body)
        self.op_occ = self.vnfm.run(
            self.vnfm.create(), "instantiate", self.vnfm.deployment_only()
        )

    def test_what_was_done(self) -> None:
        self.assert_state("FAILED_TEMP", self.op_occ)
        self.assertEqual(
            {
                "ConfigMap web-config": DONE,
                "Secret web-secret": FAILED,
                "Deployment web": NOT_REACHED,
            },
            self.outcomes(self.op_occ),
        )
        text = self.read(self.op_occ["id"], "text/plain").content.decode()
        self.assertIn("has it, VDU web)  not reached\n", text)
        self.assertIn("Outcome: 1 done, 1 failed, 1 not reached.", text)

    def test_a_retry(self) -> None:
        self.cluster.call("DELETE", f"{self.foreign}/web-secret")
        end = self.vnfm.decide(self.op_occ["id"], "retry")
        self.assert_state("COMPLETED", end)
        self.assertEqual({DONE}, set(self.outcomes(end).values()))
        self.assertFalse(self.plan(end).is_rollback)

    def test_a_rollback(self) -> None:
        end = self.vnfm.decide(self.op_occ["id"], "rollback")
        self.assert_state("ROLLED_BACK", end)
        plan = self.plan(end)
        self.assertTrue(plan.is_rollback)
        self.assertIsNone(plan.grant_request)
        self.assertEqual(
            {(ActionType.DELETE, DONE)},
            {(action.type, action.outcome) for action in plan.actions},
        )
        text = self.read(end["id"], "text/plain").content.decode()
        self.assertTrue(text.startswith("Rollback of INSTANTIATE of VNF "))


class TestFailedChange(ChangeCase, PlanCase):
    def create_service(self) -> CnfService:
        # the controllers of the cluster need time to create what a quota has
        # prevented; without a grace, the retry fails by their last event
        return CnfService(failure_grace=10.0)

    def fill_quota(self) -> str:
        """Let the cluster refuse new pods; return the path of the quota."""
        path = f"{CORE}/namespaces/{self.vnfm.namespace}/resourcequotas"
        spec = {"hard": {"pods": "0"}}
        body = {"metadata": {"name": "full"}, "spec": spec}
        self.cluster.call("POST", path, body)
        return f"{path}/full"

    def test_a_pod_that_is_not_created_again(self) -> None:
        quota = self.fill_quota()
        op_occ = self.change(self.after())
        self.assert_state("FAILED_TEMP", op_occ)
        done = (
            "ConfigMap update-config",
            "Secret update-secret",
            "Deployment front",
            "StatefulSet store",
            "DaemonSet agent",
            "ReplicaSet cache",
        )
        expected = dict.fromkeys(done, DONE) | {
            "Pod probe": FAILED,
            "Pod tool": NOT_REACHED,
        }
        self.assertEqual(
            expected,
            {
                name: outcome
                for name, outcome in self.outcomes(op_occ).items()
                if outcome is not SKIPPED
            },
        )
        self.cluster.call("DELETE", quota)
        end = self.vnfm.decide(op_occ["id"], "retry")
        self.assert_state("COMPLETED", end)
        self.assertEqual({DONE, SKIPPED}, set(self.outcomes(end).values()))


class TestLostWorkload(CnfCase, PlanCase):
    """The exact plan of the retry is refused: its Deployment was deleted."""

    def test_the_workload_has_failed(self) -> None:
        vnf = self.vnfm.start_vnf(self.vnfm.deployment_only())
        place = f"{APPS}/namespaces/{self.vnfm.namespace}/deployments/web"
        self.cluster.call("DELETE", place)
        op_occ = self.vnfm.run(vnf, "scale", SCALE)
        self.assert_state("FAILED_TEMP", op_occ)
        self.assertEqual(FAILED, self.outcomes(op_occ)["Deployment web"])
        plan = self.read(op_occ["id"]).json
        self.assertEqual("FAILED_TEMP", plan["operationState"])
        path = f"/vnflcm/v2/vnf_instances/{vnf}/heal?dry_run=true"
        plan = self.vnfm.call("POST", path, {}).json
        self.assertEqual("FAILED_TEMP", plan["operationInProgressState"])
        waves = [
            action.get("wave", 1)
            for action in plan["actions"]
            if action["type"] != "UNCHANGED"
        ]
        self.assertEqual({1, 2}, {*waves})
        self.assertEqual(sorted(waves), waves)


class TestFailedHeal(BudgetCase, PlanCase):
    def test_pods_that_a_budget_protects(self) -> None:
        """The checkpoint of the driver shows which pods are new."""
        self.budget(minAvailable=2)
        self.vnfm.conf.set_override("ready_timeout", 3.0, "kubernetes")
        self.cluster.sandbox.set_pod_start_delay(600.0)
        before = {pod["metadata"]["name"] for pod in self.pods()}
        op_occ = self.heal()
        self.assert_state("FAILED_TEMP", op_occ)
        left = {pod["metadata"]["name"] for pod in self.pods()} & before
        outcomes = {
            name: self.outcomes(op_occ)[f"Pod {name}"] for name in before
        }
        self.assertEqual(
            {FAILED, NOT_REACHED}, {outcomes[name] for name in left}
        )
        self.assertEqual([DONE], [outcomes[name] for name in before - left])


class UnreadableDriver:
    """The real driver, on a VIM that cannot be read for an exact plan."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.is_readable = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def observe_resources(self, task: InfraTask, context: TaskContext) -> Any:
        if self.is_readable:
            return self._inner.observe_resources(task, context)
        raise errors.VimRejected("no access")


class TestUnknownOutcomes(CnfCase, PlanCase):
    def setUp(self) -> None:
        super().setUp()
        drivers = self.vnfm.parts.drivers
        self.driver = UnreadableDriver(drivers.for_type(VIM_TYPE))
        drivers.install(VIM_TYPE, self.driver)
        self.vnfm.conductor.stop()
        self.conductor = start_conductor(self.vnfm, CrashingConductor)

    def crash(self) -> Any:
        """Let the conductor crash when the VNF is complete on the VIM."""
        instance_id = self.vnfm.create()
        self.conductor.crash_at[instance_id] = (1, False)
        request = self.vnfm.deployment_only()
        op_occ = self.vnfm.run(instance_id, "instantiate", request)
        self.assert_state("FAILED_TEMP", op_occ)
        return op_occ

    def test_the_vim_cannot_be_read(self) -> None:
        op_occ = self.crash()
        self.assertEqual({None}, set(self.outcomes(op_occ).values()))
        text = self.read(op_occ["id"], "text/plain").content.decode()
        self.assertIn("Outcome: 3 not known. What a retry would do", text)

    def test_the_next_conductor_reads_the_vim(self) -> None:
        self.driver.is_readable = True
        op_occ = self.crash()
        self.assertEqual({DONE}, set(self.outcomes(op_occ).values()))


class TestWithoutPlan(PlanCase):
    request: ClassVar[Any] = {
        "flavourId": "simple",
        "vimConnectionInfo": FAKE_VIM,
    }

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())

    def assert_missing(self, message: str, op_occ_id: str) -> None:
        self.assert_problem(404, self.read(op_occ_id), message)

    def test_an_unknown_operation(self) -> None:
        self.assert_missing("There is no lifecycle operation", "none")

    def test_a_modification(self) -> None:
        op_occ = self.vnfm.modify(self.vnfm.create(), {"vnfInstanceName": "x"})
        self.assert_missing("only by its scripts", op_occ["id"])

    def test_a_rejected_operation(self) -> None:
        self.vnfm.nfvo.fails_with = errors.GrantRejected("not today")
        op_occ = self.vnfm.run(self.vnfm.create(), "instantiate", self.request)
        self.assert_missing("it is ROLLED_BACK, and stopped", op_occ["id"])

    def test_before_and_while_the_vim_is_changed(self) -> None:
        self.vnfm.conductor.queue.close()  # it claims no operation
        instance_id = self.vnfm.create()
        response = self.vnfm.task(instance_id, "instantiate", self.request)
        location = response.headers["Location"]
        op_occ_id = location.rpartition("/")[2]
        self.assert_missing("no plan yet: it is STARTING", op_occ_id)
        waits, released = threading.Event(), threading.Event()
        self.addCleanup(released.set)

        def block(_: Any) -> None:
            waits.set()
            released.wait(60)

        self.vnfm.driver.before["apply"] = block
        start_conductor(self.vnfm)
        self.assertTrue(waits.wait(60))
        self.assertEqual(200, self.read(op_occ_id).status)
        released.set()
        self.vnfm.wait_operation(location)

    def test_an_operation_that_the_client_may_not_read(self) -> None:
        rows = scope.rows

        def hide_rows(session: Any, statement: Any, *parameters: Any) -> Any:
            return rows(session, statement.where(sa.false()), *parameters)

        self.vnfm.create_instantiated()
        (op_occ,) = self.vnfm.call("GET", OP_OCCS).json
        self.assertEqual(200, self.read(op_occ["id"]).status)
        self.useFixture(
            fixtures.MonkeyPatch("tacker_cnf.db.scope.rows", hide_rows)
        )
        self.assert_missing("There is no lifecycle operation", op_occ["id"])

    def test_the_other_root(self) -> None:
        self.vnfm.create_instantiated()
        (op_occ,) = self.vnfm.call("GET", OP_OCCS).json
        path = f"/v2/vnf_lcm_op_occs/{op_occ['id']}/plan"
        plan = self.vnfm.call("GET", path).json
        self.assertEqual("INSTANTIATE", plan["operation"])
