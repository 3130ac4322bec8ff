"""The order in which groups get places."""

import collections
import functools
import random
import threading
from collections.abc import Sequence
from typing import Final

import testtools

from tacker_cnf import errors
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.fair_places import FairPlaces, Groups, Request, share

WAIT_TIMEOUT_S: Final = 60.0


class Recorder:
    """Places, and the names of the requests in the order of their grants."""

    def __init__(self, count: int, max_of_group: Sequence[int] = ()) -> None:
        self.places = FairPlaces(count, max_of_group)
        self.granted: list[str] = []
        self.requests: dict[str, Request] = {}

    def request(self, name: str, *groups: str, first: bool = False) -> None:
        request = Request(groups, lambda _: self.granted.append(name))
        self.requests[name] = request
        self.places.request(request, first=first)

    def release(self, name: str) -> None:
        self.places.release(self.requests[name])

    def finish_all(self) -> list[str]:
        """End the work of each that has a place, one after the other."""
        for name in self.granted:  # grows meanwhile
            self.release(name)
        return self.granted


class TestTurns(testtools.TestCase):
    def test_the_order_of_grants(self) -> None:
        for waiting, expected in (
            # of one group: their order
            (["a/x 1", "a/x 2", "a/x 3"], "1 2 3"),
            # of two projects: in turns, whatever their numbers
            (["a/x 1", "a/x 2", "a/x 3", "b/x 4"], "1 4 2 3"),
            # the VIMs of a project take turns within its turns
            (
                ["a/x 1", "a/x 2", "a/y 3", "b/z 4", "b/z 5"],
                "1 4 3 5 2",
            ),
            # one with many VIMs has no more turns
            (["a/x 1", "a/y 2", "a/z 3", "b/w 4", "b/w 5"], "1 4 2 5 3"),
            # three projects
            (["a/x 1", "a/x 2", "b/x 3", "c/x 4", "b/x 5"], "1 3 4 2 5"),
        ):
            recorder = Recorder(1)
            recorder.request("0")  # has the place while the others come
            for entry in waiting:
                groups, name = entry.split()
                recorder.request(name, *groups.split("/"))
            self.assertEqual(
                expected,
                " ".join(recorder.finish_all()[1:]),
                str(waiting),
            )

    def test_the_first_of_its_groups(self) -> None:
        recorder = Recorder(1)
        for name in ("0", "1", "2"):
            recorder.request(name, "a", "x")
        recorder.request("3", "b", "x")
        recorder.request("resumed", "a", "x", first=True)
        self.assertEqual(
            ["0", "resumed", "3", "1", "2"], recorder.finish_all()
        )

    def test_a_group_leaves_places_to_others(self) -> None:
        """Even if no other waits yet."""
        recorder = Recorder(4, [3, 2])
        for name in "12345":
            recorder.request(name, "a", "x" if name < "4" else "y")
        self.assertEqual(["1", "2", "4"], recorder.granted)
        recorder.request("6", "b", "x")  # the VIM of another project
        self.assertEqual(["1", "2", "4"], recorder.granted)
        recorder.request("7", "b", "z")
        self.assertEqual(["1", "2", "4", "7"], recorder.granted)
        recorder.release("1")
        self.assertEqual("3", recorder.granted[-1])
        recorder.release("2")
        self.assertEqual("6", recorder.granted[-1])

    def test_those_of_a_full_group_keep_their_turn(self) -> None:
        recorder = Recorder(2, [2, 1])
        recorder.request("1", "a", "dead")
        recorder.request("2", "a", "dead")
        for name in "345":
            recorder.request(name, "b", "alive")
        self.assertEqual(["1", "3"], recorder.granted)
        recorder.release("3")
        self.assertEqual("4", recorder.granted[-1])
        recorder.release("1")
        self.assertEqual("2", recorder.granted[-1])

    def test_a_request_that_is_withdrawn(self) -> None:
        recorder = Recorder(1)
        for name in "123":
            recorder.request(name, "a", "x")
        recorder.release("2")
        recorder.release("2")
        self.assertEqual(["1", "3"], recorder.finish_all())
        recorder.request("4", "a", "x")
        self.assertEqual("4", recorder.granted[-1])

    def test_a_place_is_given_back_once(self) -> None:
        recorder = Recorder(1)
        recorder.request("1", "a")
        recorder.release("1")
        recorder.release("1")
        recorder.request("2", "a")
        recorder.request("3", "a")
        self.assertEqual(["1", "2"], recorder.granted)

    def test_shares(self) -> None:
        for count, percent, expected in (
            (48, 80, 38),
            (48, 67, 32),
            (2, 80, 1),
            (1, 80, 1),
            (1, 1, 1),
            (10, 100, 10),
        ):
            self.assertEqual(expected, share(count, percent))


class TestAcquire(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.places = FairPlaces(1)
        self.token = CancelToken()

    def test_no_place_in_time(self) -> None:
        held = self.places.acquire(("a",), None, self.token)
        assert held is not None
        self.assertIsNone(self.places.acquire(("a",), 0.0, self.token))
        self.places.release(held)
        self.assertIsNotNone(self.places.acquire(("a",), 0.0, self.token))

    def test_cancelled_while_waiting(self) -> None:
        held = self.places.acquire(("a",), None, self.token)
        assert held is not None
        for forceful in (False, True):
            token = CancelToken()
            raised: list[Exception] = []

            def wait(
                token: CancelToken = token,
                raised: list[Exception] = raised,
            ) -> None:
                try:
                    self.places.acquire(("a",), WAIT_TIMEOUT_S, token)
                except errors.Cancelled as error:
                    raised.append(error)

            thread = threading.Thread(target=wait)
            thread.start()
            token.cancel(errors.Cancelled(), forceful=forceful)
            thread.join(WAIT_TIMEOUT_S)
            self.assertEqual(1, len(raised))
        self.places.release(held)
        # those that were cancelled do not have it
        self.assertIsNotNone(self.places.acquire(("b",), 0.0, self.token))


class TestNoStarvation(testtools.TestCase):
    """Whatever others request, the wait has a limit in numbers of grants."""

    projects = 4
    vims = 3

    def test_a_bounded_wait(self) -> None:
        longest = 0
        for seed in range(25):
            longest = max(longest, self.run_random(random.Random(seed)))  # noqa: S311
        self.assertGreater(longest, self.projects)  # it was put to the test

    def run_random(self, rng: random.Random) -> int:
        """Request and release at random; return the longest wait."""
        count = rng.randint(1, 6)
        limits = rng.randint(1, count), rng.randint(1, count)
        places = FairPlaces(count, limits)
        waiting: dict[int, tuple[Groups, int]] = {}
        passed: collections.Counter[int] = collections.Counter()
        held: dict[int, Request] = {}
        longest = 0

        occupied: collections.Counter[str] = collections.Counter()

        def may_have(groups: Groups) -> bool:
            project, vim = groups
            return occupied[project] < limits[0] and occupied[vim] < limits[1]

        def release() -> None:
            request = held.pop(rng.choice(list(held)))
            occupied.subtract(request.groups)
            places.release(request)

        def grant(number: int, request: Request) -> None:
            nonlocal longest
            groups, ahead = waiting.pop(number)
            self.assertTrue(may_have(groups))
            self.assertLess(len(held), count)
            limit = (ahead + 1) * self.projects**2 * self.vims
            self.assertLessEqual(passed[number], limit)
            longest = max(longest, passed[number])
            for other, (other_groups, _) in waiting.items():
                passed[other] += may_have(other_groups)
            held[number] = request
            occupied.update(request.groups)

        for number in range(300):
            # one project requests more than all others
            project = rng.choice(["hog"] * 6 + ["p", "q", "r"])
            groups = (project, f"vim{rng.randrange(self.vims)}")
            ahead = sum(groups == other for other, _ in waiting.values())
            waiting[number] = groups, ahead
            places.request(Request(groups, functools.partial(grant, number)))
            if held and rng.random() < 0.6:
                release()
        while held:
            release()
        self.assertEqual({}, waiting)
        return longest
