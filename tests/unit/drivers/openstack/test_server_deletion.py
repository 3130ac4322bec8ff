"""Delete servers before Heat creates their replacements."""

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


class TestServersToDeleteFirst(testtools.TestCase):
    def names(self, nova: fake_nova.Servers, *marks: Resource) -> list[str]:
        return [
            server.name
            for server in server_deletion.servers_to_delete_first(nova, marks)
        ]

    def test_a_server_that_keeps_a_volume(self) -> None:
        nova = fake_nova.Servers()
        nova.add_server("web@a")
        nova.add_server("store@root", "disk@root", "other")
        self.assertEqual(["store"], self.names(nova, WEB, STORE, DISK))

    def test_no_server_that_is_replaced_with_its_volumes(self) -> None:
        nova = fake_nova.Servers()
        nova.add_server("web@a", "created by Nova", temporary=True)
        nova.add_server("store@root", "disk@root")
        self.assertEqual([], self.names(nova, WEB, STORE, DISK))

    def test_a_deleted_server(self) -> None:
        self.assertEqual(["store"], self.names(fake_nova.Servers(), STORE))

    def test_no_server_without_nova(self) -> None:
        nova = fake_nova.Servers(existing=False)
        self.assertEqual([], self.names(nova, STORE))


class TestFindDeleted(testtools.TestCase):
    """Deleted servers that Heat still lists, as after a failed heal."""

    def find_deleted(self, nova: fake_nova.Servers, status: str) -> set[str]:
        store = msgspec.structs.replace(STORE, status=status)
        others = [r for r in TREE.resources if r is not STORE]
        tree = Tree([*others, store])
        find_deleted = server_deletion.find_deleted(nova, tree)
        left = {
            r.physical_id for r in tree.without(find_deleted).of_type(SERVER)
        }
        return {WEB.physical_id, STORE.physical_id} - left

    def test_a_failed_server_that_nova_has_deleted(self) -> None:
        nova = fake_nova.Servers()
        self.assertEqual(
            {"store@root"}, self.find_deleted(nova, "CHECK_FAILED")
        )
        nova.add_server("store@root")
        self.assertEqual(set(), self.find_deleted(nova, "CHECK_FAILED"))

    def test_nova_is_not_queried_without_a_failed_server(self) -> None:
        self.assertEqual(
            set(), self.find_deleted(fake_nova.Servers(), "CREATE_COMPLETE")
        )
        missing = fake_nova.Servers(existing=False)
        self.assertEqual(set(), self.find_deleted(missing, "CHECK_FAILED"))


class TestDeleteAndWait(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.nova = fake_nova.Servers()
        self.heat = ScriptedHeat("UPDATE_COMPLETE")

    def delete_and_wait(self, **task: Any) -> None:
        stack_task = build_task(self.heat, **task)
        server_deletion.delete_and_wait(stack_task, self.nova, [STORE])

    def test_a_server_is_marked_and_deleted(self) -> None:
        self.nova.done = self.heat.done
        self.nova.add_server("store@root", task="deleting")
        self.nova.add_server("store@root", status="ERROR", task="deleting")
        self.delete_and_wait()
        self.assertEqual(["mark store", "delete store@root"], self.heat.done)
        self.assertIsNone(self.nova.find("store@root"))

    def test_the_mark_is_removed_if_nova_rejects_the_deletion(self) -> None:
        self.nova.add_server("store@root")
        self.nova.delete_error = errors.VimRejected(
            "Nova answered 409: locked"
        )
        error = self.assertRaises(errors.VimRejected, self.delete_and_wait)
        self.assertIn("locked", str(error))
        self.assertEqual(["mark store", "unmark store"], self.heat.done)

    def test_the_mark_remains_if_the_server_is_deleted(self) -> None:
        for error in (
            errors.Cancelled("enough"),
            errors.VimUnreachable("No answer"),
        ):
            for exists in (False, True):
                self.heat = ScriptedHeat("UPDATE_COMPLETE")
                self.nova = fake_nova.Servers()
                self.nova.delete_error = error
                if exists:
                    self.nova.add_server("store@root", task="deleting")
                self.assertRaises(type(error), self.delete_and_wait)
                self.assertEqual(["mark store"], self.heat.done)

    def test_a_cancel_before_the_deletion_removes_the_mark(self) -> None:
        self.nova.add_server("store@root")
        self.nova.delete_error = errors.Cancelled("enough")
        self.assertRaises(errors.Cancelled, self.delete_and_wait)
        self.assertEqual(["mark store", "unmark store"], self.heat.done)

    def test_a_failed_deletion_is_an_error(self) -> None:
        self.nova.add_server(
            "store@root", status="ERROR", fault=Fault("No disk.")
        )
        error = self.assertRaises(errors.NotReady, self.delete_and_wait)
        self.assertEqual(
            "Nova could not delete server store (store@root): No disk.",
            str(error),
        )

    def test_the_deadline_ends_the_wait(self) -> None:
        self.nova.add_server("store@root", task="deleting")
        error = self.assertRaises(
            errors.NotReady, self.delete_and_wait, within=0
        )
        self.assertIn("store (store@root) in time", str(error))
