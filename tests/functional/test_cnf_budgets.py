"""Heals of several VNFCs whose pods have PodDisruptionBudgets."""

import threading
from typing import Any, Self

import fixtures
import msgspec
from kubernetes_sandbox.errors import ApiError

from tacker_cnf import errors
from tacker_cnf.drivers.base import Checkpoint, TaskContext
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tests.factories import a_context
from tests.fixtures import waiting
from tests.fixtures.clock import SteppingClock
from tests.fixtures.cluster import CORE, CnfCase, start_pods

POLICY = "/apis/policy/v1"
WEB = {"matchLabels": {"tacker_vdu_id": "web"}}


class BudgetCase(CnfCase):
    """A VNF of three web pods."""

    def setUp(self) -> None:
        super().setUp()
        self.driver = KubernetesDriver(self.vnfm.conf)
        self.instance_id = self.start()

    def shorten_timeouts(self) -> None:
        """Shorten the wait for budgets that allow no disruption."""
        group = "kubernetes"
        self.vnfm.conf.set_override("disruption_timeout", 0.6, group)

    def start(self, **access: str) -> str:
        instance_id = self.vnfm.start_vnf(
            self.vnfm.deployment_only(
                vimConnectionInfo=self.cluster.vim(**access)
            )
        )
        scaled = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        while len(self.vnfm.vnfcs(instance_id)) < 3:
            self.vnfm.run(instance_id, "scale", scaled)
        return instance_id

    def budget(self, name: str = "web", **spec: Any) -> None:
        path = (
            f"{POLICY}/namespaces/{self.vnfm.namespace}/poddisruptionbudgets"
        )
        body = {"metadata": {"name": name}, "spec": {"selector": WEB, **spec}}
        self.cluster.call("POST", path, body)

        def is_observed() -> bool:
            status = self.cluster.call("GET", f"{path}/{name}")["status"]
            return bool(status.get("observedGeneration"))

        waiting.until(is_observed, f"the status of budget {name}")

    def drop_budget(self, name: str = "web") -> None:
        path = (
            f"{POLICY}/namespaces/{self.vnfm.namespace}/poddisruptionbudgets"
        )
        self.cluster.call("DELETE", f"{path}/{name}")

    def pods(self) -> list[Any]:
        path = f"{CORE}/namespaces/{self.vnfm.namespace}/pods"
        found: list[Any] = self.cluster.call("GET", path)["items"]
        return found

    def serving(self) -> list[Any]:
        return [
            pod
            for pod in self.pods()
            if "deletionTimestamp" not in pod["metadata"]
            and any(
                one["type"] == "Ready" and one["status"] == "True"
                for one in pod["status"].get("conditions", ())
            )
        ]

    def uids(self) -> set[str]:
        return {pod["metadata"]["uid"] for pod in self.pods()}

    def heal(self, number: int = 3) -> Any:
        names = list(self.vnfm.vnfcs(self.instance_id))[:number]
        return self.vnfm.run(
            self.instance_id, "heal", {"vnfcInstanceId": names}
        )

    def break_pods(self, number: int) -> None:
        """Make pods unready."""
        for pod in self.serving()[:number]:
            meta = pod["metadata"]
            path = f"{CORE}/namespaces/{meta['namespace']}/pods/{meta['name']}"
            for condition in pod["status"]["conditions"]:
                if condition["type"] == "Ready":
                    condition["status"] = "False"
            self.cluster.call("PUT", f"{path}/status", pod)
        waiting.until(
            lambda: len(self.serving()) == 3 - number, "the unready pods"
        )


class MinReady:
    """The lowest number of ready pods during a with block."""

    def __init__(self, case: BudgetCase) -> None:
        self._case = case
        self._ends = threading.Event()
        self.fewest = 99

    def _sample(self) -> None:
        while not self._ends.wait(0.01):
            self.fewest = min(self.fewest, len(self._case.serving()))

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()


class TestBatches(BudgetCase):
    def test_as_many_pods_at_a_time_as_the_budget_allows(self) -> None:
        for spec, fewest in (
            ({"maxUnavailable": 1}, 2),
            ({"minAvailable": 1}, 1),
            ({"maxUnavailable": "100%"}, 0),
        ):
            self.budget(**spec)
            before = self.uids()
            with MinReady(self) as ready_pods:
                done = self.heal()
            self.assertEqual("COMPLETED", done["operationState"], done)
            self.assertEqual(set(), before & self.uids())
            self.assertGreaterEqual(ready_pods.fewest, fewest)
            self.drop_budget()

    def test_a_heal_of_one_vnfc_ignores_budgets(self) -> None:
        self.budget(minAvailable=3)
        before = self.uids()
        self.assertEqual("COMPLETED", self.heal(1)["operationState"])
        self.assertEqual(2, len(before & self.uids()))

    def test_a_budget_that_never_allows_a_disruption(self) -> None:
        self.budget(minAvailable=3)
        self.shorten_timeouts()
        before = self.uids()
        failed = self.heal(2)
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        detail = failed["error"]["detail"]
        self.assertIn(
            "PodDisruptionBudget web has allowed no disruption", detail
        )
        self.assertIn("needs 3 healthy pods and has 3 currently", detail)
        self.assertEqual(before, self.uids())
        self.drop_budget()
        done = self.vnfm.decide(failed["id"], "retry")
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(1, len(before & self.uids()))

    def test_two_budgets_for_a_pod(self) -> None:
        self.budget(maxUnavailable=1)
        self.budget("all", maxUnavailable=2)
        before = self.uids()
        failed = self.heal(2)
        self.assertIn(
            "more than one PodDisruptionBudget (all, web)",
            failed["error"]["detail"],
        )
        self.assertEqual(before, self.uids())

    def test_unready_pods_while_enough_pods_are_ready(self) -> None:
        self.budget(minAvailable=2)
        before = self.uids()
        self.break_pods(1)
        done = self.heal()
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(set(), before & self.uids())

    def test_unready_pods_while_too_few_pods_are_ready(self) -> None:
        self.budget(minAvailable=2)
        self.shorten_timeouts()
        self.break_pods(2)
        failed = self.heal()
        self.assertIn("PodDisruptionBudget web", failed["error"]["detail"])

    def test_unready_pods_can_always_be_evicted(self) -> None:
        self.budget(minAvailable=2, unhealthyPodEvictionPolicy="AlwaysAllow")
        before = self.uids()
        self.break_pods(2)
        done = self.heal()
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(set(), before & self.uids())

    def cancel_heal(self) -> TaskContext:
        """Cancel a heal of all pods after some of them; return the context of
        a retry.

        The first replacement starts when the driver waits for it, so that the
        budget allows the eviction of one pod.
        """
        self.cluster.sandbox.set_pod_start_delay(3600.0)
        cancel_token = CancelToken()
        checkpoints: list[Checkpoint] = []

        def on_progress(line: str) -> None:
            if "pods are" in line:
                start_pods(self.cluster.sandbox)
            if line == "2 of 3 pods to heal":
                cancel_token.cancel(
                    errors.Cancelled("Cancelled."), forceful=False
                )

        first = a_context(
            cancel_token=cancel_token,
            report_progress=on_progress,
            save_checkpoint=checkpoints.append,
        )
        self.assertRaises(errors.Cancelled, self.heal_directly, first)
        saved = msgspec.to_builtins(checkpoints[-1])
        return a_context(saved_checkpoint=saved)

    def heal_directly(self, context: TaskContext) -> None:
        plan = self.driver.plan(self.vnfm.infra_task(self.instance_id))
        self.driver.execute(plan, context)

    def delete_pod_and_wait(self, uid: str) -> None:
        """Delete a pod as another client can, and wait for its replacement."""
        (meta,) = (
            pod["metadata"]
            for pod in self.pods()
            if pod["metadata"]["uid"] == uid
        )
        path = f"{CORE}/namespaces/{meta['namespace']}/pods/{meta['name']}"
        self.cluster.call("DELETE", path)
        waiting.until(
            lambda: uid not in self.uids() and len(self.serving()) == 3,
            "the replacement of the pod",
        )

    def test_a_retry_heals_the_remaining_pods(self) -> None:
        self.budget(maxUnavailable=1)
        before = self.uids()
        retry = self.cancel_heal()
        self.assertEqual(2, len(before & self.uids()))
        after_first = self.uids() - before
        self.heal_directly(retry)
        self.assertEqual(set(), before & self.uids())
        self.assertLessEqual(after_first, self.uids())

    def test_a_retry_with_one_remaining_pod_respects_its_budget(self) -> None:
        self.budget(maxUnavailable=1)
        before = self.uids()
        retry = self.cancel_heal()
        for uid in sorted(before & self.uids())[1:]:
            self.delete_pod_and_wait(uid)
        self.assertEqual(1, len(before & self.uids()))
        self.drop_budget()
        self.budget(minAvailable=3)
        self.shorten_timeouts()
        self.assertRaises(errors.NotReady, self.heal_directly, retry)
        self.assertEqual(1, len(before & self.uids()))
        self.drop_budget()
        self.heal_directly(retry)
        self.assertEqual(set(), before & self.uids())


class TestNarrowCredentials(BudgetCase):
    def setUp(self) -> None:
        CnfCase.setUp(self)
        self.core = ["pods", "configmaps", "secrets", "events"]

    def allow(self, *more: str) -> None:
        """Grant the viewer access to these resources of the core group."""
        everything = ["*"]
        self.cluster.allow_viewer(
            self.vnfm.namespace,
            {
                "apiGroups": [""],
                "resources": [*self.core, *more],
                "verbs": everything,
            },
            {
                "apiGroups": ["apps"],
                "resources": everything,
                "verbs": everything,
            },
        )
        token = self.cluster.sandbox.viewer_token
        self.instance_id = self.start(bearer_token=token)
        self.budget(maxUnavailable=1)

    def test_budgets_that_cannot_be_read_are_respected(self) -> None:
        self.allow("pods/eviction")
        before = self.uids()
        with MinReady(self) as ready_pods:
            done = self.heal()
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(set(), before & self.uids())
        self.assertGreaterEqual(ready_pods.fewest, 2)

    def assert_heal_fails(self, *messages: str) -> None:
        """Check that a heal of several VNFCs fails and deletes no pod."""
        self.shorten_timeouts()
        before = self.uids()
        failed = self.heal()
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        for part in messages:
            self.assertIn(part, failed["error"]["detail"])
        self.assertEqual(before, self.uids())
        self.vnfm.decide(failed["id"], "fail")

    def test_missing_permissions_to_read_and_evict_are_reported(self) -> None:
        self.allow()
        self.assert_heal_fails(
            'cannot create resource "pods/eviction"',
            'cannot list resource "poddisruptionbudgets"',
            "A heal of this pod alone ignores budgets.",
        )
        before = self.uids()
        done = self.heal(1)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertEqual(2, len(before & self.uids()))

    def test_a_denied_eviction_deletes_nothing(self) -> None:
        denied = 'admission webhook "calm.example" denied the request: no'

        def deny(*_: object, **__: object) -> None:
            raise ApiError(403, "Forbidden", denied)

        place = "kubernetes_sandbox.controllers.disruption.Disruption"
        self.allow("pods/eviction")
        self.useFixture(fixtures.MonkeyPatch(f"{place}.check_eviction", deny))
        self.assert_heal_fails(f"The cluster refused (403): {denied}")


class TestDeadline(BudgetCase):
    def check_refused(self, message: str, seconds: float) -> None:
        """Heal until the deadline; no pod is ever evicted."""
        before = self.uids()
        clock = SteppingClock()
        context = TaskContext(
            deadline=Deadline.within(seconds, clock),
            cancel_token=CancelToken(clock=clock),
        )
        refused = self.assertRaises(
            errors.NotReady,
            self.driver.execute,
            self.driver.plan(self.vnfm.infra_task(self.instance_id)),
            context,
        )
        self.assertIn(message, str(refused))
        self.assertEqual(before, self.uids())

    def test_a_wait_for_a_budget_ends_with_the_operation(self) -> None:
        self.budget(minAvailable=3)
        self.check_refused("PodDisruptionBudget web has allowed", 1.0)

    def test_no_pod_is_evicted_after_the_deadline(self) -> None:
        self.budget(maxUnavailable=1)
        self.check_refused("The time to heal is up. Left to heal", 0.0)
