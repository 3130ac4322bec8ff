"""The removal of members from etcd."""

import itertools
from collections.abc import Sequence
from typing import Any

import testtools

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.cluster import etcd
from tacker_cnf.mgmt_drivers.cluster.etcd import Member
from tacker_cnf.mgmt_drivers.remote.commands import CommandResult
from tacker_cnf.runtime.cancellation import Deadline
from tests.fixtures.clock import SteppingClock


def members(count: int) -> list[Member]:
    return [Member(id=f"{n:x}", address=f"10.0.0.{n}") for n in range(count)]


def addresses(*numbers: int) -> set[str]:
    return {f"10.0.0.{n}" for n in numbers}


def subsets(all_: Sequence[str]) -> list[set[str]]:
    sizes = range(len(all_) + 1)
    return [
        set(some)
        for size in sizes
        for some in itertools.combinations(all_, size)
    ]


def has_quorum(voters: list[Member], up: set[str]) -> bool:
    return sum(member.address in up for member in voters) > len(voters) / 2


class RemovalPlanTest(testtools.TestCase):
    def removed(
        self, count: int, healthy: set[str], leaving: set[str]
    ) -> list[str]:
        found = etcd.plan_removal(members(count), healthy, leaving)
        return [member.id for member in found.members]

    def test_a_dead_member_of_three_is_removed(self) -> None:
        self.assertEqual(["1"], self.removed(3, addresses(0, 2), addresses(1)))

    def test_a_healthy_member_of_three_is_removed(self) -> None:
        self.assertEqual(
            ["1"], self.removed(3, addresses(0, 1, 2), addresses(1))
        )

    def test_an_already_removed_member_is_skipped(self) -> None:
        self.assertEqual([], self.removed(2, addresses(0, 1), addresses(7)))

    def test_a_non_member_is_skipped_without_a_quorum(self) -> None:
        self.assertEqual([], self.removed(3, set(), addresses(7)))

    def test_dead_members_are_removed_first(self) -> None:
        self.assertEqual(
            ["3", "1"],
            self.removed(5, addresses(0, 1, 2, 4), addresses(1, 3)),
        )

    def test_one_of_three_is_not_removed_while_another_is_dead(self) -> None:
        error = self.assertRaises(
            errors.InfraError, self.removed, 3, addresses(0, 1), addresses(1)
        )
        self.assertIn("etcd would have no quorum", str(error))
        self.assertIn("10.0.0.2 does not serve", str(error))
        self.assertIn("No member was removed", str(error))

    def test_nothing_is_removed_without_a_quorum(self) -> None:
        self.assertRaises(
            errors.InfraError, self.removed, 3, addresses(0), addresses(1, 2)
        )

    def test_a_learner_does_not_count_for_the_quorum(self) -> None:
        joined = Member(id="9", address="10.0.0.9", is_learner=True)
        found = etcd.plan_removal(
            [*members(1), joined], addresses(0), {"10.0.0.9"}
        )
        self.assertEqual([joined], found.members)
        # its health does not make up for voters that leave
        self.assertRaises(
            errors.InfraError,
            etcd.plan_removal,
            [*members(2), joined],
            addresses(0, 1) | {"10.0.0.9"},
            addresses(0, 1),
        )

    def test_the_only_member_is_not_removed(self) -> None:
        self.assertRaises(
            errors.InfraError, self.removed, 1, addresses(0), addresses(0)
        )

    def test_each_removal_has_a_quorum_before_and_after(self) -> None:
        """Try all sets of healthy and leaving members, and a non-member."""
        for count in range(1, 8):
            healthy_sets = subsets([m.address for m in members(count + 1)])
            for healthy, leaving in itertools.product(healthy_sets, repeat=2):
                self.check_quorum(members(count), healthy, leaving)

    def check_quorum(
        self, voters: list[Member], up: set[str], leaving: set[str]
    ) -> None:
        try:
            found = etcd.plan_removal(voters, up, leaving)
        except errors.InfraError:
            return
        removed_addresses = leaving & {member.address for member in voters}
        assert removed_addresses == {m.address for m in found.members}, (
            voters,
            up,
            leaving,
        )
        for member in found.members:
            assert has_quorum(voters, up), (voters, up, leaving)
            voters.remove(member)
            assert has_quorum(voters, up), (voters, up, leaving)
        if found.members:
            assert found.successor in voters, (voters, up, leaving)
            assert found.successor.address in up, (voters, up, leaving)


class RedundancyTest(testtools.TestCase):
    def check(self, count: int, healthy: set[str], leaving: set[str]) -> None:
        etcd.check_redundancy(members(count), healthy, leaving)

    def test_one_member_may_always_leave(self) -> None:
        for count in (2, 3, 4):
            self.check(count, addresses(*range(count)), addresses(0))

    def test_a_majority_has_to_stay(self) -> None:
        all_addresses = addresses(*range(5))
        self.check(5, all_addresses, addresses(0, 1))
        for count, leaving in ((5, (0, 1, 2)), (3, (0, 1)), (4, (0, 1))):
            error = self.assertRaises(
                errors.InfraError,
                self.check,
                count,
                all_addresses,
                addresses(*leaving),
            )
            self.assertIn("10.0.0.0, 10.0.0.1", str(error))
            self.assertIn("one after the other", str(error))

    def test_a_member_that_does_not_serve_does_not_count(self) -> None:
        self.check(5, addresses(2, 3, 4), addresses(0, 1))
        self.assertRaises(
            errors.InfraError,
            self.check,
            5,
            addresses(0, 2, 3),
            addresses(0, 1),
        )


class RefusingHost:
    """A master on which etcdctl fails.

    :param failures: errors of the first commands; later ones succeed
    """

    def __init__(self, *failures: str) -> None:
        self.failures = list(failures)
        self.commands = 0

    def check(self, *_: Any, **__: Any) -> Any:
        self.commands += 1
        if self.failures:
            raise errors.RemoteFailed(self.failures.pop(0))
        return CommandResult(0, b"", b"")


class RemoveTest(testtools.TestCase):
    def remove(self, host: Any) -> None:
        member = Member(id="1", address="10.0.0.1")
        deadline = Deadline.within(60.0, SteppingClock())
        etcd.Etcd(host, 1.0).remove(member, deadline)

    def test_removal_is_retried_while_a_member_has_just_joined(self) -> None:
        host = RefusingHost(*2 * [f"exit code 1: Error: {etcd.UNHEALTHY}"])
        self.remove(host)
        self.assertEqual(3, host.commands)

    def test_any_other_error_is_not_retried(self) -> None:
        host = RefusingHost("Error: etcdserver: member not found")
        self.assertRaises(errors.RemoteFailed, self.remove, host)
        self.assertEqual(1, host.commands)
