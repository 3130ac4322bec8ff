"""Outages of the API server during each kind of task."""

import dataclasses
import threading
from collections.abc import Callable

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.lcm.instantiated_info import InfraResult
from tests.fixtures.cluster import CnfCase

#: seconds for which the API server is unreachable
OUTAGE_S = 0.7


class TestOutages(CnfCase):
    def setUp(self) -> None:
        super().setUp()
        self.driver = KubernetesDriver(self.vnfm.conf)
        self.cluster.sandbox.set_pod_start_delay(0.3)
        self.empty = set(self.objects())

    def start_outage(self) -> None:
        self.cluster.sandbox.leave_api()
        timer = threading.Timer(OUTAGE_S, self.cluster.sandbox.return_api)
        timer.start()
        self.addCleanup(timer.join)

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

    def task(self, on_progress: Callable[[str], None]) -> InfraTask:
        return dataclasses.replace(
            self.vnfm.infra_task(), report_progress=on_progress
        )

    def instantiate(self) -> tuple[InfraTask, InfraResult]:
        task = self.task(lambda _: None)
        return task, self.driver.apply(task)

    def test_while_objects_are_created_and_while_pods_start(self) -> None:
        task = self.task(
            self.outage_at("Creating Deployment", "of 6 pods are")
        )
        self.assertEqual(6, len(self.driver.apply(task).vnfc_resource_info))

    def test_while_pods_are_healed(self) -> None:
        task, before = self.instantiate()
        healed = dataclasses.replace(
            task,
            current=task.target,
            is_heal=True,
            vnfcs=before.vnfc_resource_info,
            report_progress=self.outage_at(
                "still being deleted", "of 6 pods are"
            ),
        )
        after = self.driver.replace(healed).vnfc_resource_info
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
        healed = dataclasses.replace(
            task,
            current=task.target,
            is_heal=True,
            report_progress=on_progress,
        )
        self.driver.replace(healed)
        after = self.cluster.uids(self.vnfm.namespace)
        self.assertNotEqual(
            before["deployments", "web"], after["deployments", "web"]
        )

    def test_while_all_is_deleted(self) -> None:
        task, _ = self.instantiate()
        termination = dataclasses.replace(
            task,
            current=task.target,
            target=None,
            report_progress=self.outage_at("still being deleted"),
        )
        self.driver.destroy(termination)
        self.assertEqual(self.empty, set(self.objects()))

    def test_before_the_first_contact(self) -> None:
        self.vnfm.conf.set_override("contact_timeout", 5.0, "kubernetes")
        task = self.task(lambda _: None)
        self.start_outage()
        driver = KubernetesDriver(self.vnfm.conf)
        self.assertEqual(6, len(driver.apply(task).vnfc_resource_info))

    def test_an_outage_that_is_too_long(self) -> None:
        self.vnfm.conf.set_override("outage_timeout", 0.1, "kubernetes")
        driver = KubernetesDriver(self.vnfm.conf)
        task = self.task(self.outage_at("of 6 pods are"))
        error = self.assertRaises(errors.VimUnreachable, driver.apply, task)
        self.assertIn("does not answer", str(error))
