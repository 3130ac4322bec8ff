"""Servers that go before there is another in their place."""

from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import evictions
from tacker_cnf.drivers.openstack.inventory import SERVER
from tacker_cnf.drivers.openstack.nova import Fault
from tacker_cnf.drivers.openstack.stacks import Resource, Tree
from tests.unit.drivers.openstack import servers, trees
from tests.unit.drivers.openstack.test_work import Script, a_work

TREE = trees.grouped("a").tree()
(DISK,) = TREE.of_type(trees.VOLUME)
WEB, STORE = TREE.of_type(trees.SERVER)


class TestWanted(testtools.TestCase):
    def names(self, nova: servers.Servers, *marks: Resource) -> list[str]:
        return [one.name for one in evictions.wanted(nova, marks)]

    def test_one_with_a_volume_that_stays(self) -> None:
        nova = servers.Servers()
        nova.has("web@a")
        nova.has("store@root", "disk@root", "other")
        self.assertEqual(["store"], self.names(nova, WEB, STORE, DISK))

    def test_none_whose_volumes_go_with_it(self) -> None:
        nova = servers.Servers()
        nova.has("web@a", "made by Nova", temporary=True)
        nova.has("store@root", "disk@root")
        self.assertEqual([], self.names(nova, WEB, STORE, DISK))

    def test_one_that_has_gone(self) -> None:
        self.assertEqual(["store"], self.names(servers.Servers(), STORE))

    def test_nobody_knows_without_nova(self) -> None:
        nova = servers.Servers(there=False)
        self.assertEqual([], self.names(nova, STORE))


class TestGone(testtools.TestCase):
    """Servers that Heat lists still, as one whose heal failed."""

    def gone(self, nova: servers.Servers, status: str) -> set[str]:
        store = msgspec.structs.replace(STORE, status=status)
        others = [one for one in TREE.resources if one is not STORE]
        tree = Tree([*others, store])
        gone = evictions.gone(nova, tree)
        left = {r.physical_id for r in tree.without(gone).of_type(SERVER)}
        return {WEB.physical_id, STORE.physical_id} - left

    def test_one_with_a_fault_that_nova_has_deleted(self) -> None:
        nova = servers.Servers()
        self.assertEqual({"store@root"}, self.gone(nova, "CHECK_FAILED"))
        nova.has("store@root")
        self.assertEqual(set(), self.gone(nova, "CHECK_FAILED"))

    def test_nova_is_not_asked_of_one_without_a_fault(self) -> None:
        self.assertEqual(
            set(), self.gone(servers.Servers(), "CREATE_COMPLETE")
        )
        away = servers.Servers(there=False)
        self.assertEqual(set(), self.gone(away, "CHECK_FAILED"))


class TestCarryOut(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.nova = servers.Servers()
        self.heat = Script("UPDATE_COMPLETE")

    def carry_out(self, **work: Any) -> None:
        made = a_work(self.heat, **work)
        evictions.carry_out(made, self.nova, [STORE])

    def test_it_is_marked_deleted_and_waited_for(self) -> None:
        self.nova.done = self.heat.done
        self.nova.has("store@root", task="deleting")
        self.nova.has("store@root", status="ERROR", task="deleting")
        self.carry_out()
        self.assertEqual(["mark store", "delete store@root"], self.heat.done)
        self.assertIsNone(self.nova.find("store@root"))

    def test_one_that_nova_keeps_is_not_marked_any_more(self) -> None:
        self.nova.has("store@root")
        self.nova.keeps = errors.VimRefused("Nova answered 409: locked")
        error = self.assertRaises(errors.VimRefused, self.carry_out)
        self.assertIn("locked", str(error))
        self.assertEqual(["mark store", "unmark store"], self.heat.done)

    def test_the_mark_of_one_that_has_gone_or_may_stays(self) -> None:
        for error in (
            errors.Cancelled("enough"),
            errors.VimUnreachable("No answer"),
        ):
            for is_there in (False, True):
                self.heat = Script("UPDATE_COMPLETE")
                self.nova = servers.Servers()
                self.nova.keeps = error
                if is_there:
                    self.nova.has("store@root", task="deleting")
                self.assertRaises(type(error), self.carry_out)
                self.assertEqual(["mark store"], self.heat.done)

    def test_one_that_is_not_deleted_as_work_ends_is_unmarked(self) -> None:
        self.nova.has("store@root")
        self.nova.keeps = errors.Cancelled("enough")
        self.assertRaises(errors.Cancelled, self.carry_out)
        self.assertEqual(["mark store", "unmark store"], self.heat.done)

    def test_nova_gives_up(self) -> None:
        self.nova.has("store@root", status="ERROR", fault=Fault("No disk."))
        error = self.assertRaises(errors.NotReady, self.carry_out)
        self.assertEqual(
            "Nova could not delete server store (store@root): No disk.",
            str(error),
        )

    def test_nova_is_late(self) -> None:
        self.nova.has("store@root", task="deleting")
        error = self.assertRaises(errors.NotReady, self.carry_out, within=0)
        self.assertIn("store (store@root) in time", str(error))
