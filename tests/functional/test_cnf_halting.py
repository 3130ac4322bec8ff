"""Work on a cluster that is called off, and how far it tells it has come."""

import dataclasses
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.halting import Halt
from tacker_cnf.lcm.target import Target
from tacker_cnf.sol.common import VimConnectionInfo
from tests.fixtures.cluster import CnfCase

#: seconds in which nothing ends that waits for a pod here
LONG = 600.0


class HaltingCase(CnfCase):
    """A driver of its own, whose tasks can be called off."""

    def setUp(self) -> None:
        super().setUp()
        self.driver = KubernetesDriver(self.vnfm.conf)
        self.halt = Halt()
        self.told: list[str] = []
        #: words of a line -> what happens when it is told
        self.when: dict[str, Callable[[], None]] = {}
        self.empty = set(self.objects())

    def tell(self, line: str) -> None:
        self.told.append(line)
        for words, act in self.when.items():
            if words in line:
                act()

    def cancel(self, *, at_once: bool) -> None:
        self.halt.call_off(errors.Cancelled("Called off."), at_once=at_once)

    def task(self, **changes: Any) -> InfraTask:
        """Make a task that instantiates the sample package."""
        made = self.vnfm.infra_task()
        return dataclasses.replace(
            made, halt=self.halt, tell=self.tell, **changes
        )

    def made(self) -> set[tuple[str, str]]:
        return set(self.objects()) - self.empty


class TestAtOnce(HaltingCase):
    def test_a_watch_ends_while_nothing_happens(self) -> None:
        self.cluster.sandbox.set_pod_start_delay(LONG)
        waits = threading.Event()
        self.when["0 of 6"] = waits.set
        ended: list[BaseException] = []

        def work() -> None:
            try:
                self.driver.apply(self.task())
            except errors.VnfmError as error:
                ended.append(error)

        worker = threading.Thread(target=work)
        worker.start()
        self.assertTrue(waits.wait(60))
        time.sleep(0.3)  # the cluster is silent, the watch is read
        self.cancel(at_once=True)
        worker.join(60)
        self.assertEqual(["Called off."], [str(error) for error in ended])

    def test_a_wait_for_objects_to_go_ends(self) -> None:
        task = self.task()
        self.driver.apply(task)
        self.cluster.sandbox.lose_node("sandbox-node-1")
        self.cluster.sandbox.lose_node("sandbox-node-2")

        def soon() -> None:
            threading.Timer(0.2, self.cancel, (), {"at_once": True}).start()

        gone = dataclasses.replace(task, current=task.target, target=None)
        self.when["pods have to go"] = soon
        self.assertRaises(errors.Cancelled, self.driver.destroy, gone)

    def test_an_answer_that_does_not_come_is_not_waited_for(self) -> None:
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen()
            vim = VimConnectionInfo(
                vim_type="ETSINFV.KUBERNETES.V_1",
                interface_info={
                    "endpoint": f"http://127.0.0.1:{deaf.getsockname()[1]}"
                },
                access_info={"bearer_token": "x"},
            )
            task = self.task(vim_connections={"deaf": vim})
            timer = threading.Timer(0.3, self.cancel, (), {"at_once": True})
            timer.start()
            self.assertRaises(errors.Cancelled, self.driver.apply, task)

    def test_a_silent_cluster_is_not_waited_for(self) -> None:
        task = self.task()
        self.driver.observe(task)  # connected
        silence = self.cluster.sandbox.be_silent()
        timer = threading.Timer(0.3, self.cancel, (), {"at_once": True})
        timer.start()
        with silence:
            self.assertRaises(errors.Cancelled, self.driver.observe, task)

    def test_nothing_is_begun_that_was_called_off_before(self) -> None:
        self.cancel(at_once=True)
        self.assertRaises(errors.Cancelled, self.driver.apply, self.task())
        self.assertEqual(set(), self.made())


class TestGracefully(HaltingCase):
    def test_what_was_made_gets_ready_and_nothing_more_is_made(self) -> None:
        self.when["Making StatefulSet"] = lambda: self.cancel(at_once=False)
        self.assertRaises(errors.Cancelled, self.driver.apply, self.task())
        made = self.made()
        self.assertIn(("deployments", "web"), made)
        self.assertNotIn(("statefulsets", "store"), made)
        web = self.objects()["deployments", "web"]
        self.assertEqual(
            web["spec"]["replicas"], web["status"]["readyReplicas"]
        )

    def test_a_wait_goes_on_to_its_end(self) -> None:
        self.when["0 of 6"] = lambda: self.cancel(at_once=False)
        result = self.driver.apply(self.task())
        self.assertNotEqual((), result.vnfc_resource_info)

    def test_no_size_is_set_any_more(self) -> None:
        task = self.task()
        self.driver.apply(task)
        before = self.cluster.uids(self.vnfm.namespace)
        self.cancel(at_once=False)
        task = dataclasses.replace(
            task, current=task.target, target=_larger(task)
        )
        self.assertRaises(errors.Cancelled, self.driver.apply, task)
        self.assertEqual(before, self.cluster.uids(self.vnfm.namespace))

    def test_no_pod_is_deleted_any_more(self) -> None:
        task = self.task()
        found = self.driver.apply(task)
        before = self.cluster.uids(self.vnfm.namespace)
        self.cancel(at_once=False)
        task = dataclasses.replace(
            task,
            current=task.target,
            heals=True,
            vnfcs=found.vnfc_resource_info,
        )
        self.assertRaises(errors.Cancelled, self.driver.replace, task)
        self.assertEqual(before, self.cluster.uids(self.vnfm.namespace))


def _larger(task: InfraTask) -> Target:
    assert task.target is not None
    counts = {**task.target.counts, "web": task.target.counts["web"] + 1}
    return Target(
        flavour_id=task.target.flavour_id,
        scale_levels=task.target.scale_levels,
        counts=counts,
        parameters=task.target.parameters,
    )


class TestProgress(HaltingCase):
    def test_an_operator_is_told_how_far_it_is(self) -> None:
        task = self.task()
        self.driver.apply(task)
        self.assertIn("Making Deployment web", " ".join(self.told))
        self.assertIn("6 of 6 pods are ready", self.told)
        self.driver.destroy(
            dataclasses.replace(task, current=task.target, target=None)
        )
        self.assertIn("0 of 1 Deployment have to go", self.told)
        changes = zip(self.told, self.told[1:], strict=False)
        self.assertTrue(all(one != other for one, other in changes))
        self.assertLessEqual(max(map(len, self.told)), 255)
