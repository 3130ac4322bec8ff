"""Cancel of tasks on a cluster, and the progress that they report."""

import contextlib
import dataclasses
import socket
import threading
from collections.abc import Callable, Iterator

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.lcm.change import State
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.sol.common import VimConnectionInfo
from tests.factories import a_context, with_change
from tests.fixtures.cluster import CnfCase

#: seconds; no wait for a pod ends within this time here
POD_START_DELAY_S = 600.0


class SelfCancellingToken(CancelToken):
    """Cancelled forcefully when something waits that a cancel interrupts."""

    @contextlib.contextmanager
    def on_cancel(
        self, callback: Callable[[], object], *, gracefully: bool = False
    ) -> Iterator[None]:
        reason = errors.Cancelled("Cancelled.")
        with super().on_cancel(callback, gracefully=gracefully):
            threading.Thread(
                target=self.cancel, args=(reason,), kwargs={"forceful": True}
            ).start()
            yield


class CancellationCase(CnfCase):
    """A driver whose tasks can be cancelled."""

    def setUp(self) -> None:
        super().setUp()
        self.driver = KubernetesDriver(self.vnfm.conf)
        self.cancel_token = CancelToken()
        self.progress: list[str] = []
        #: text of a progress line -> called when that line is reported
        self.callbacks: dict[str, Callable[[], None]] = {}
        self.empty = set(self.objects())

    def report_progress(self, line: str) -> None:
        self.progress.append(line)
        for text, act in self.callbacks.items():
            if text in line:
                act()

    def cancel(self, *, forceful: bool) -> None:
        self.cancel_token.cancel(
            errors.Cancelled("Cancelled."), forceful=forceful
        )

    def execute(self, task: InfraTask) -> Observed:
        context = a_context(
            cancel_token=self.cancel_token,
            report_progress=self.report_progress,
        )
        return self.driver.execute(self.driver.plan(task), context)

    def created_objects(self) -> set[tuple[str, str]]:
        return set(self.objects()) - self.empty


class TestForceful(CancellationCase):
    def test_a_watch_ends_while_the_cluster_is_silent(self) -> None:
        self.cluster.sandbox.set_pod_start_delay(POD_START_DELAY_S)
        waiting = threading.Event()
        self.callbacks["0 of 6"] = waiting.set
        ended: list[BaseException] = []

        def work() -> None:
            try:
                self.execute(self.vnfm.infra_task())
            except errors.VnfmError as error:
                ended.append(error)

        worker = threading.Thread(target=work)
        worker.start()
        self.assertTrue(waiting.wait(60))
        self.cluster.wait_watched()
        self.cancel(forceful=True)
        worker.join(60)
        self.assertEqual(["Cancelled."], [str(error) for error in ended])

    def test_a_wait_for_deletions_ends(self) -> None:
        task = self.vnfm.infra_task()
        self.execute(task)
        self.cluster.sandbox.lose_node("sandbox-node-1")
        self.cluster.sandbox.lose_node("sandbox-node-2")

        termination = with_change(task, desired=None)
        self.callbacks["pods still being deleted"] = self.cancel_when_watched
        self.assertRaises(errors.Cancelled, self.execute, termination)

    def cancel_when_watched(self) -> None:
        def cancel() -> None:
            self.cluster.wait_watched()
            self.cancel(forceful=True)

        thread = threading.Thread(target=cancel)
        thread.start()
        self.addCleanup(thread.join)

    def test_a_missing_response_is_not_waited_for(self) -> None:
        with socket.socket() as unresponsive:
            unresponsive.bind(("127.0.0.1", 0))
            unresponsive.listen()
            thread = threading.Thread(
                target=self.cancel_after_connection, args=(unresponsive,)
            )
            vim = VimConnectionInfo(
                vim_type="ETSINFV.KUBERNETES.V_1",
                interface_info={
                    "endpoint": f"http://127.0.0.1:{unresponsive.getsockname()[1]}"
                },
                access_info={"bearer_token": "x"},
            )
            task = dataclasses.replace(
                self.vnfm.infra_task(), vim_connections={"unresponsive": vim}
            )
            thread.start()
            self.addCleanup(thread.join)
            self.assertRaises(errors.Cancelled, self.execute, task)

    def cancel_after_connection(self, server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1)
            self.cancel(forceful=True)

    def test_a_silent_cluster_is_not_waited_for(self) -> None:
        task = self.vnfm.infra_task()
        self.driver.observe(task, a_context())  # connected
        context = a_context(cancel_token=SelfCancellingToken())
        with self.cluster.sandbox.block_api_server():
            self.assertRaises(
                errors.Cancelled, self.driver.observe, task, context
            )

    def test_a_task_cancelled_before_its_start_does_nothing(self) -> None:
        self.cancel(forceful=True)
        self.assertRaises(
            errors.Cancelled, self.execute, self.vnfm.infra_task()
        )
        self.assertEqual(set(), self.created_objects())


class TestGraceful(CancellationCase):
    def test_created_objects_get_ready_and_no_more_are_created(self) -> None:
        self.callbacks["Creating StatefulSet"] = lambda: self.cancel(
            forceful=False
        )
        self.assertRaises(
            errors.Cancelled, self.execute, self.vnfm.infra_task()
        )
        created = self.created_objects()
        self.assertIn(("deployments", "web"), created)
        self.assertNotIn(("statefulsets", "store"), created)
        web = self.objects()["deployments", "web"]
        self.assertEqual(
            web["spec"]["replicas"], web["status"]["readyReplicas"]
        )

    def test_a_wait_continues_to_its_end(self) -> None:
        self.callbacks["0 of 6"] = lambda: self.cancel(forceful=False)
        result = self.execute(self.vnfm.infra_task())
        self.assertNotEqual((), result.vnfc_resource_info)

    def test_no_replicas_are_set_after_the_cancel(self) -> None:
        task = self.vnfm.infra_task()
        self.execute(task)
        before = self.cluster.uids(self.vnfm.namespace)
        self.cancel(forceful=False)
        task = with_change(task, desired=_larger(task))
        self.assertRaises(errors.Cancelled, self.execute, task)
        self.assertEqual(before, self.cluster.uids(self.vnfm.namespace))

    def test_no_pod_is_deleted_after_the_cancel(self) -> None:
        task = self.vnfm.infra_task()
        found = self.execute(task)
        before = self.cluster.uids(self.vnfm.namespace)
        self.cancel(forceful=False)
        task = with_change(task, replace=found.vnfc_resource_info)
        self.assertRaises(errors.Cancelled, self.execute, task)
        self.assertEqual(before, self.cluster.uids(self.vnfm.namespace))


def _larger(task: InfraTask) -> State:
    state = task.change.state
    counts = {**state.counts, "web": state.counts["web"] + 1}
    return msgspec.structs.replace(state, counts=counts)


class TestProgress(CancellationCase):
    def test_progress_is_reported(self) -> None:
        task = self.vnfm.infra_task()
        self.execute(task)
        self.assertIn("Creating Deployment web", " ".join(self.progress))
        self.assertIn("6 of 6 pods are ready", self.progress)
        self.execute(with_change(task, desired=None))
        self.assertIn(
            "0 of 1 Deployment objects still being deleted", self.progress
        )
        changes = zip(self.progress, self.progress[1:], strict=False)
        self.assertTrue(all(one != other for one, other in changes))
        self.assertLessEqual(max(map(len, self.progress)), 255)
