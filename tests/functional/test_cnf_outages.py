"""Outages of the API server during each kind of task."""

import threading
from collections.abc import Callable

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask, TaskContext
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.lcm.change import ALL
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.clock import Clock
from tests.factories import a_context, with_change
from tests.fixtures.cluster import CnfCase

#: retries during which the API server is unreachable
RETRIES = 3


class OutageClock(Clock):
    """Ends an outage after some waits of the driver."""

    def __init__(self, end_outage: Callable[[], None]) -> None:
        self._end_outage = end_outage
        self._remaining = 0
        self._lock = threading.Lock()

    def start_outage(self) -> None:
        self._remaining = RETRIES

    def wait(self, event: threading.Event, seconds: float | None) -> bool:
        with self._lock:
            if self._remaining:
                self._remaining -= 1
                if not self._remaining:
                    self._end_outage()
        return super().wait(event, seconds)


class TestOutages(CnfCase):
    def setUp(self) -> None:
        super().setUp()
        self.driver = KubernetesDriver(self.vnfm.conf)
        self.cluster.sandbox.set_pod_start_delay(0.3)
        self.empty = set(self.objects())
        self.clock = OutageClock(self.cluster.sandbox.start_api_server)

    def start_outage(self) -> None:
        self.cluster.sandbox.stop_api_server()
        self.clock.start_outage()

    def outage_at(self, *words: str) -> Callable[[str], None]:
        """Start an outage at progress with each of these words, once each."""
        remaining = list(words)

        def on_progress(line: str) -> None:
            for word in remaining:
                if word in line:
                    remaining.remove(word)
                    self.start_outage()

        self.addCleanup(lambda: self.assertEqual([], remaining))
        return on_progress

    def context(
        self, on_progress: Callable[[str], None] = lambda _: None
    ) -> TaskContext:
        return a_context(
            cancel_token=CancelToken(clock=self.clock),
            report_progress=on_progress,
        )

    def execute(
        self,
        task: InfraTask,
        on_progress: Callable[[str], None] = lambda _: None,
    ) -> Observed:
        return self.driver.execute(
            self.driver.plan(task), self.context(on_progress)
        )

    def instantiate(self) -> tuple[InfraTask, Observed]:
        task = self.vnfm.infra_task()
        return task, self.execute(task)

    def test_while_objects_are_created_and_while_pods_start(self) -> None:
        result = self.execute(
            self.vnfm.infra_task(),
            self.outage_at("Creating Deployment", "of 6 pods are"),
        )
        self.assertEqual(6, len(result.vnfc_resource_info))

    def test_while_pods_are_healed(self) -> None:
        task, before = self.instantiate()
        after = self.execute(
            with_change(task, replace=before.vnfc_resource_info),
            self.outage_at("still being deleted", "of 6 pods are"),
        ).vnfc_resource_info
        uids = [
            {v.metadata["uid"] for v in vnfcs}
            for vnfcs in (before.vnfc_resource_info, after)
        ]
        self.assertEqual(set(), uids[0] & uids[1])
        self.assertEqual(6, len(after))

    def test_while_everything_is_recreated(self) -> None:
        task, _ = self.instantiate()
        before = self.cluster.uids(self.vnfm.namespace)
        on_progress = self.outage_at(
            "still being deleted", "Creating ReplicaSet"
        )
        self.execute(with_change(task, replace=ALL), on_progress)
        after = self.cluster.uids(self.vnfm.namespace)
        self.assertNotEqual(
            before["deployments", "web"], after["deployments", "web"]
        )

    def test_while_all_is_deleted(self) -> None:
        task, _ = self.instantiate()
        self.execute(
            with_change(task, desired=None),
            self.outage_at("still being deleted"),
        )
        self.assertEqual(self.empty, set(self.objects()))

    def test_before_the_first_contact(self) -> None:
        self.vnfm.conf.set_override("contact_timeout", 600.0, "kubernetes")
        task = self.vnfm.infra_task()
        self.start_outage()
        driver = KubernetesDriver(self.vnfm.conf)
        result = driver.execute(driver.plan(task), self.context())
        self.assertEqual(6, len(result.vnfc_resource_info))

    def test_an_outage_that_is_too_long(self) -> None:
        self.vnfm.conf.set_override("outage_timeout", 0.1, "kubernetes")
        driver = KubernetesDriver(self.vnfm.conf)
        is_down = False

        def on_progress(line: str) -> None:
            nonlocal is_down
            if "of 6 pods are" in line and not is_down:
                is_down = True
                self.cluster.sandbox.stop_api_server()
                self.addCleanup(self.cluster.sandbox.start_api_server)

        error = self.assertRaises(
            errors.VimUnreachable,
            driver.execute,
            driver.plan(self.vnfm.infra_task()),
            self.context(on_progress),
        )
        self.assertIn("does not answer", str(error))
