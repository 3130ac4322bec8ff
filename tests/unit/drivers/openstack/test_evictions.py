"""Servers that go before there is another in their place."""

from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import server_deletion
from tacker_cnf.drivers.openstack.inventory import SERVER
from tacker_cnf.drivers.openstack.nova import Fault
from tacker_cnf.drivers.openstack.stacks import Resource, Tree
from tests.unit.drivers.openstack import fake_nova, stack_resources
from tests.unit.drivers.openstack.test_stack_task import (
    ScriptedHeat,
    build_task,
)

TREE = stack_resources.grouped("a").tree()
(DISK,) = TREE.of_type(stack_resources.VOLUME)
WEB, STORE = TREE.of_type(stack_resources.SERVER)


class TestWanted(testtools.TestCase):
    def names(self, nova: fake_nova.Servers, *marks: Resource) -> list[str]:
        return [
            one.name
            for one in server_deletion.servers_to_delete_first(nova, marks)
        ]

    def test_one_with_a_volume_that_stays(self) -> None:
        nova = fake_nova.Servers()
        nova.add_server("web@a")
        nova.add_server("store@root", "disk@root", "other")
        self.assertEqual(["store"], self.names(nova, WEB, STORE, DISK))

    def test_none_whose_volumes_go_with_it(self) -> None:
        nova = fake_nova.Servers()
        nova.add_server("web@a", "made by Nova", temporary=True)
        nova.add_server("store@root", "disk@root")
        self.assertEqual([], self.names(nova, WEB, STORE, DISK))

    def test_one_that_has_gone(self) -> None:
        self.assertEqual(["store"], self.names(fake_nova.Servers(), STORE))

    def test_unknown_without_nova(self) -> None:
        nova = fake_nova.Servers(existing=False)
        self.assertEqual([], self.names(nova, STORE))


class TestGone(testtools.TestCase):
    """Servers that Heat lists still, as one whose heal failed."""

    def find_deleted(self, nova: fake_nova.Servers, status: str) -> set[str]:
        store = msgspec.structs.replace(STORE, status=status)
        others = [one for one in TREE.resources if one is not STORE]
        tree = Tree([*others, store])
        find_deleted = server_deletion.find_deleted(nova, tree)
        left = {
            r.physical_id for r in tree.without(find_deleted).of_type(SERVER)
        }
        return {WEB.physical_id, STORE.physical_id} - left

    def test_one_with_a_fault_that_nova_has_deleted(self) -> None:
        nova = fake_nova.Servers()
        self.assertEqual(
            {"store@root"}, self.find_deleted(nova, "CHECK_FAILED")
        )
        nova.add_server("store@root")
        self.assertEqual(set(), self.find_deleted(nova, "CHECK_FAILED"))

    def test_nova_is_not_asked_of_one_without_a_fault(self) -> None:
        self.assertEqual(
            set(), self.find_deleted(fake_nova.Servers(), "CREATE_COMPLETE")
        )
        away = fake_nova.Servers(existing=False)
        self.assertEqual(set(), self.find_deleted(away, "CHECK_FAILED"))


class TestCarryOut(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.nova = fake_nova.Servers()
        self.heat = ScriptedHeat("UPDATE_COMPLETE")

    def delete_and_wait(self, **work: Any) -> None:
        made = build_task(self.heat, **work)
        server_deletion.delete_and_wait(made, self.nova, [STORE])

    def test_it_is_marked_deleted_and_waited_for(self) -> None:
        self.nova.done = self.heat.done
        self.nova.add_server("store@root", task="deleting")
        self.nova.add_server("store@root", status="ERROR", task="deleting")
        self.delete_and_wait()
        self.assertEqual(["mark store", "delete store@root"], self.heat.done)
        self.assertIsNone(self.nova.find("store@root"))

    def test_one_that_nova_keeps_is_not_marked_any_more(self) -> None:
        self.nova.add_server("store@root")
        self.nova.keeps = errors.VimRejected("Nova answered 409: locked")
        error = self.assertRaises(errors.VimRejected, self.delete_and_wait)
        self.assertIn("locked", str(error))
        self.assertEqual(["mark store", "unmark store"], self.heat.done)

    def test_the_mark_of_one_that_has_gone_or_may_stays(self) -> None:
        for error in (
            errors.Cancelled("enough"),
            errors.VimUnreachable("No answer"),
        ):
            for is_there in (False, True):
                self.heat = ScriptedHeat("UPDATE_COMPLETE")
                self.nova = fake_nova.Servers()
                self.nova.keeps = error
                if is_there:
                    self.nova.add_server("store@root", task="deleting")
                self.assertRaises(type(error), self.delete_and_wait)
                self.assertEqual(["mark store"], self.heat.done)

    def test_one_that_is_not_deleted_as_work_ends_is_unmarked(self) -> None:
        self.nova.add_server("store@root")
        self.nova.keeps = errors.Cancelled("enough")
        self.assertRaises(errors.Cancelled, self.delete_and_wait)
        self.assertEqual(["mark store", "unmark store"], self.heat.done)

    def test_nova_gives_up(self) -> None:
        self.nova.add_server(
            "store@root", status="ERROR", fault=Fault("No disk.")
        )
        error = self.assertRaises(errors.NotReady, self.delete_and_wait)
        self.assertEqual(
            "Nova could not delete server store (store@root): No disk.",
            str(error),
        )

    def test_nova_is_late(self) -> None:
        self.nova.add_server("store@root", task="deleting")
        error = self.assertRaises(
            errors.NotReady, self.delete_and_wait, within=0
        )
        self.assertIn("store (store@root) in time", str(error))
