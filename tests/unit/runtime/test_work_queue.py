"""Queue of keys that worker threads process."""

import threading
from unittest import mock

import testtools

from tacker_cnf import errors
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.fair_places import FairPlaces
from tacker_cnf.runtime.work_queue import WorkQueue
from tests.fixtures import waiting

WAIT_TIMEOUT_S = 60.0


class TestWorkQueue(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.done: list[str] = []
        self.started = threading.Semaphore(0)
        self.may_continue = threading.Semaphore(0)
        self.queue = WorkQueue(self.work, 2, "test")
        self.addCleanup(self.queue.join, WAIT_TIMEOUT_S)
        self.addCleanup(self.queue.close)

    def work(self, key: str) -> None:
        self.started.release()
        self.may_continue.acquire(timeout=WAIT_TIMEOUT_S)
        self.done.append(key)

    def wait_started(self) -> None:
        self.assertTrue(self.started.acquire(timeout=WAIT_TIMEOUT_S))

    def finish_all(self) -> bool:
        """Let the work in progress end, and drop the waiting keys."""
        self.queue.close()
        self.may_continue.release(10)
        return self.queue.join(WAIT_TIMEOUT_S)

    def test_a_key_put_while_it_is_processed_is_processed_again(self) -> None:
        self.queue.put("a")
        self.wait_started()
        for _ in range(3):
            self.queue.put("a")
        self.may_continue.release()
        self.wait_started()
        self.assertEqual(["a"], self.done)
        self.assertIn("a", self.queue)
        self.assertTrue(self.finish_all())
        self.assertEqual(["a", "a"], self.done)
        self.assertNotIn("a", self.queue)

    def test_a_waiting_key_is_processed_once(self) -> None:
        for key in "abccc":
            self.queue.put(key)
        for _ in "ab":
            self.wait_started()
        self.assertIn("c", self.queue)
        self.may_continue.release(2)
        self.wait_started()
        self.assertTrue(self.finish_all())
        self.assertEqual(["a", "b", "c"], sorted(self.done))

    def test_waiting_keys_are_dropped_on_close(self) -> None:
        for key in "abc":
            self.queue.put(key)
        for _ in "ab":
            self.wait_started()
        self.queue.put("a")
        self.assertTrue(self.finish_all())
        self.queue.put("d")
        self.assertEqual(["a", "b"], sorted(self.done))
        self.assertNotIn("d", self.queue)

    def test_join_reports_work_in_progress(self) -> None:
        self.queue.put("a")
        self.wait_started()
        self.queue.close()
        self.assertFalse(self.queue.join(0.0))
        self.assertTrue(self.finish_all())

    def test_an_error_does_not_end_the_queue(self) -> None:
        failed = threading.Event()

        def fail(key: str) -> None:
            if key == "bad":
                failed.set()
                raise SystemExit  # what no except clause catches
            self.work(key)

        queue = WorkQueue(fail, 1, "failing")
        queue.put("bad")
        self.assertTrue(failed.wait(WAIT_TIMEOUT_S))
        queue.put("good")
        self.may_continue.release()
        self.wait_started()
        queue.close()
        self.assertTrue(queue.join(WAIT_TIMEOUT_S))
        self.assertEqual(["good"], self.done)

    def test_waiting_work_yields_its_worker(self) -> None:
        waiting_workers = threading.Semaphore(0)
        may_continue = threading.Event()

        def work(key: str) -> None:
            if key.startswith("slow"):
                with queue.yield_worker(CancelToken()):
                    waiting_workers.release()
                    may_continue.wait(WAIT_TIMEOUT_S)
            self.done.append(key)

        queue = WorkQueue(work, 1, "yielding")
        for key in ("slow 1", "slow 2", "slow 3"):
            queue.put(key)
            self.assertTrue(waiting_workers.acquire(timeout=WAIT_TIMEOUT_S))
        queue.put("quick")
        waiting.until(lambda: self.done == ["quick"], "the quick key")
        may_continue.set()
        waiting.until(lambda: len(self.done) == 4, "the slow keys")
        queue.put("last")
        waiting.until(lambda: self.done[-1] == "last", "the last key")
        queue.close()
        self.assertTrue(queue.join(WAIT_TIMEOUT_S))

    def test_few_threads_yield_their_workers(self) -> None:
        """Further ones keep theirs, and the keys stay in the queue."""
        started = threading.Semaphore(0)
        may_continue = threading.Event()

        def work(key: str) -> None:
            with queue.yield_worker(CancelToken()):
                started.release()
                may_continue.wait(WAIT_TIMEOUT_S)
            self.done.append(key)

        yields = FairPlaces(4, [3])
        queue = WorkQueue(work, 3, "bounded", [2], yields=yields)
        for number in range(20):
            queue.put(str(number), "a")
        for _ in range(5):
            self.assertTrue(started.acquire(timeout=WAIT_TIMEOUT_S))
        self.assertFalse(started.acquire(timeout=0.1))
        # another group has a place to wait, and then a worker
        for number in range(3):
            queue.put(f"b{number}", "b")
        for _ in range(2):
            self.assertTrue(started.acquire(timeout=WAIT_TIMEOUT_S))
        self.assertFalse(started.acquire(timeout=0.1))
        may_continue.set()
        waiting.until(lambda: len(self.done) == 23, "all keys")
        queue.close()
        self.assertTrue(queue.join(WAIT_TIMEOUT_S))

    def test_a_thread_waits_for_a_worker_again(self) -> None:
        """It does not exceed the number of workers."""
        yielding, may_return = threading.Event(), threading.Event()
        order: list[str] = []

        def work(key: str) -> None:
            if key == "first":
                with queue.yield_worker(CancelToken()):
                    yielding.set()
                    may_return.wait(WAIT_TIMEOUT_S)
                order.append(key)
            else:
                self.work(key)
                order.append(key)

        queue = WorkQueue(work, 1, "returning")
        queue.put("first", "a")
        self.assertTrue(yielding.wait(WAIT_TIMEOUT_S))
        queue.put("second", "a")
        queue.put("third", "a")
        self.wait_started()
        may_return.set()
        group = queue._workers._waiting._subgroups["a"]
        waiting.until(lambda: len(group._requests) == 2, "its request")
        self.assertEqual([], order)
        self.may_continue.release()
        # before the third, which came first
        waiting.until(lambda: "first" in order, "the first key")
        self.assertEqual(["second", "first"], order[:2])
        self.may_continue.release()
        waiting.until(lambda: len(order) == 3, "the third key")
        queue.close()
        self.assertTrue(queue.join(WAIT_TIMEOUT_S))

    def test_cancelled_work_does_not_wait_for_a_worker(self) -> None:
        token = CancelToken()
        yielding, may_return = threading.Event(), threading.Event()

        def work(key: str) -> None:
            if key == "first":
                with queue.yield_worker(token):
                    yielding.set()
                    may_return.wait(WAIT_TIMEOUT_S)
                self.done.append(key)
            else:
                self.work(key)

        queue = WorkQueue(work, 1, "cancelled")
        queue.put("first")
        self.assertTrue(yielding.wait(WAIT_TIMEOUT_S))
        queue.put("second")
        self.wait_started()
        may_return.set()
        token.cancel(errors.Cancelled(), forceful=False)
        waiting.until(lambda: self.done == ["first"], "the cancelled key")
        queue.put("third")  # the only worker is still that of the second
        self.may_continue.release()
        self.wait_started()
        self.assertEqual(["first", "second"], self.done)
        self.may_continue.release()
        queue.close()
        self.assertTrue(queue.join(WAIT_TIMEOUT_S))

    def test_a_group_leaves_a_worker_to_others(self) -> None:
        queue = WorkQueue(self.work, 2, "groups", [1])
        for number in range(5):
            queue.put(f"a{number}", "a")
        self.wait_started()
        queue.put("b", "b")
        self.wait_started()
        self.may_continue.release(2)
        waiting.until(lambda: "b" in self.done, "the key of the other group")
        queue.close()
        self.may_continue.release(10)
        self.assertTrue(queue.join(WAIT_TIMEOUT_S))

    def test_a_worker_is_yielded_once(self) -> None:
        def work(key: str) -> None:
            if key == "nested":
                token = CancelToken()
                with queue.yield_worker(token), queue.yield_worker(token):
                    pass
            self.done.append(key)

        queue = WorkQueue(work, 1, "nested")
        for key in ("nested", "next"):
            queue.put(key)
        # the other key may get the worker before the nested one has it again
        waiting.until(
            lambda: sorted(self.done) == ["nested", "next"], "both keys"
        )
        queue.close()
        self.assertTrue(queue.join(WAIT_TIMEOUT_S))

    def test_a_thread_that_cannot_be_started(self) -> None:
        """Its worker is released, and its key can be put again."""
        message = "can't start new thread"
        with mock.patch.object(
            threading.Thread, "start", side_effect=RuntimeError(message)
        ):
            for key in "abc":
                self.queue.put(key)
        self.assertNotIn("a", self.queue)
        self.queue.put("a")
        self.wait_started()
        self.assertTrue(self.finish_all())
        self.assertEqual(["a"], self.done)
