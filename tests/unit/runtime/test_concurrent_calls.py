import threading

import testtools

from tacker_cnf import context
from tacker_cnf.runtime.concurrent_calls import call_each

CALLS = 4
LIMIT_S = 30.0


class TestCallEach(testtools.TestCase):
    def test_several_at_the_same_time(self) -> None:
        # each call ends only when all of them have begun
        begun = threading.Barrier(CALLS, timeout=LIMIT_S)
        called: list[int] = []

        def call(number: int) -> None:
            begun.wait()
            called.append(number)

        call_each(call, range(CALLS), CALLS)
        self.assertEqual(list(range(CALLS)), sorted(called))

    def test_no_more_than_the_limit(self) -> None:
        running = threading.Semaphore(CALLS)

        def call(_: int) -> None:
            self.assertTrue(running.acquire(blocking=False))
            running.release()

        call_each(call, range(100), CALLS)

    def test_a_single_one_is_called_by_this_thread(self) -> None:
        threads: list[threading.Thread] = []
        call_each(lambda _: threads.append(threading.current_thread()), [1], 4)
        self.assertEqual([threading.current_thread()], threads)

    def test_none(self) -> None:
        call_each(self.fail, [], CALLS)

    def test_they_work_for_the_request_of_this_thread(self) -> None:
        self.addCleanup(context.enter_request, None)
        context.enter_request("req-of-this-thread")
        found: list[str | None] = []

        def call(_: int) -> None:
            found.append(context.current_request_id())

        call_each(call, range(2), CALLS)
        self.assertEqual(["req-of-this-thread"] * 2, found)

    def test_no_further_call_begins_after_an_error(self) -> None:
        begun = threading.Barrier(CALLS, timeout=LIMIT_S)
        has_failed = threading.Event()
        called: list[int] = []

        def call(number: int) -> None:
            called.append(number)
            begun.wait()
            if number == 1:
                try:
                    raise ValueError(number)
                finally:
                    has_failed.set()
            has_failed.wait(LIMIT_S)
            # the first error is known before this call ends
            threading.Event().wait(0.2)

        error = self.assertRaises(
            ValueError, call_each, call, range(100), CALLS
        )
        self.assertEqual((1,), error.args)
        self.assertEqual(list(range(CALLS)), sorted(called))

    def test_the_first_error_is_raised(self) -> None:
        has_failed = threading.Event()

        def call(number: int) -> None:
            if number == 0:
                has_failed.wait(LIMIT_S)
                threading.Event().wait(0.2)
                raise ValueError(number)
            try:
                raise LookupError(number)
            finally:
                has_failed.set()

        self.assertRaises(LookupError, call_each, call, range(2), CALLS)

    def test_those_that_have_begun_are_waited_for(self) -> None:
        begun = threading.Barrier(CALLS, timeout=LIMIT_S)
        ended: list[int] = []

        def call(number: int) -> None:
            begun.wait()
            if number == 0:
                raise ValueError(number)
            threading.Event().wait(0.05)
            ended.append(number)

        self.assertRaises(ValueError, call_each, call, range(CALLS), CALLS)
        self.assertEqual(list(range(1, CALLS)), sorted(ended))
