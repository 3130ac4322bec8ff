from collections.abc import Iterable
from typing import Any

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import healing, inventory
from tacker_cnf.drivers.openstack.fields import BaseHot, StackFields
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.stacks import Resource, Stack
from tacker_cnf.sol.common import ResourceHandle
from tacker_cnf.sol.virtual_link import ExtManagedVirtualLinkInfo
from tests.factories import a_running_instance, a_task, a_vnfc, an_info
from tests.unit.drivers.openstack import trees

FIELDS = StackFields(parameters={"nfv": {}})
HOT = BaseHot(template="the package's")
NUMBERED = {"VDU": {"web-0": {"vcImageId": "cirros"}}}


class Stub:
    """A stack that notes what is done to it."""

    def __init__(self, *members: str, stack: Stack | None = None) -> None:
        tree = trees.grouped(*members).tree()
        self._vnfcs = inventory.vnfcs(tree, trees.a_flavour())
        self._stack = stack
        self.done: list[Any] = []
        self.heat = self
        self.name = "vnf-1"
        self.flavour = trees.a_flavour()
        self.its_template = "the stack's"
        self.parameters: Any = None

    def there(self) -> Stack:
        return trees.a_stack()

    def find(self) -> Stack | None:
        return self._stack

    def vnfcs(self, stack: Stack) -> list[Vnfc]:
        del stack
        return self._vnfcs

    def mark(self, resources: Iterable[Resource]) -> None:
        self.done.append(sorted(r.physical_id for r in resources))

    def update(self, stack: Stack, fields: StackFields) -> Stack:
        del fields
        self.done.append("update")
        return stack

    def template(self, stack: Stack) -> tuple[str, dict[str, str]]:
        if stack.action == "DELETE":
            return '{"resources": {}}', {}
        return self.its_template, {"a.yaml": "its"}

    def remove(self, stack: Stack) -> None:
        self.done.append(f"remove {stack.id}")

    def put(self, fields: StackFields, base_hot: BaseHot) -> Stack:
        del base_hot
        self.done.append(fields.template)
        self.parameters = fields.parameters
        return trees.a_stack()


class TestServers(testtools.TestCase):
    def done(self, *members: str, **task: Any) -> tuple[list[Any], Any]:
        """Heal; give what was done, and what was noted."""
        noted: list[tuple[str, ...]] = []
        stub: Any = Stub(*members)
        given = a_task(**{"note": noted.append, **task})
        healing.replace_servers(stub, given, FIELDS)
        return stub.done, noted

    def test_those_that_are_named(self) -> None:
        done, noted = self.done("a", "b", vnfcs=[a_vnfc("web@b", "web")])
        self.assertEqual([["web@b"], "update"], done)
        self.assertEqual([("servers", "web@b")], noted)

    def test_with_all_their_volumes_too(self) -> None:
        store = [a_vnfc("store@root", "store")]
        done, _ = self.done(vnfcs=store)
        self.assertEqual(["store@root"], done[0])
        done, _ = self.done(vnfcs=store, parameters={"all": True})
        self.assertEqual(["disk@root", "store@root"], done[0])

    def test_all_of_them(self) -> None:
        done, _ = self.done("a", "b")
        self.assertEqual(["store@root", "web@a", "web@b"], done[0])

    def test_a_retry_marks_only_what_was_chosen_and_is_there(self) -> None:
        done, noted = self.done("b", notes=("servers", "web@a", "web@b"))
        self.assertEqual([["web@b"], "update"], done)
        self.assertEqual([], noted)

    def test_one_that_is_not_there_any_more(self) -> None:
        error = self.assertRaises(
            errors.InfraError, self.done, "a", vnfcs=[a_vnfc("web@z", "web")]
        )
        self.assertIn("Server web@z is not in the stack", str(error))
        self.assertIn("synchronize", str(error))


class StackCase(testtools.TestCase):
    def done(
        self, stack: Stack | None, *notes: str, **fields: Any
    ) -> tuple[list[Any], Any]:
        noted: list[tuple[str, ...]] = []
        stub: Any = Stub(stack=stack)
        task = a_task(
            notes=notes,
            note=noted.append,
            instance=a_running_instance(info=fields.pop("info", an_info())),
        )
        given = StackFields(parameters={"nfv": {}}, **fields)
        healing.recreate(stub, task, given, HOT)
        return stub.done, noted


class TestStack(StackCase):
    def note(self, stack_id: str | None) -> tuple[str, str]:
        former = healing.Former(stack_id, "noted", {})
        return "whole", msgspec.json.encode(former).decode()

    def test_it_is_noted_deleted_and_created(self) -> None:
        done, noted = self.done(trees.a_stack())
        self.assertEqual(["remove root", "the stack's"], done)
        self.assertEqual(
            healing.Former("root", "the stack's", {"a.yaml": "its"}),
            msgspec.json.decode(noted[0][1], type=healing.Former),
        )

    def test_user_data_may_give_another_template(self) -> None:
        done, _ = self.done(trees.a_stack(), template="another")
        self.assertEqual(["remove root", "another"], done)

    def test_one_that_has_gone_comes_from_the_package(self) -> None:
        done, _ = self.done(None)
        self.assertEqual(["the package's"], done)

    def test_one_that_heat_deletes_has_lost_its_template(self) -> None:
        for status in ("DELETE_IN_PROGRESS", "DELETE_FAILED"):
            going = msgspec.structs.replace(trees.a_stack(), status=status)
            done, _ = self.done(going)
            self.assertEqual(["remove root", "the package's"], done)

    def test_a_retry_deletes_what_is_left_of_the_former(self) -> None:
        done, noted = self.done(trees.a_stack(), *self.note("root"))
        self.assertEqual(["remove root", "noted"], done)
        self.assertEqual([], noted)

    def test_a_retry_keeps_what_an_earlier_try_has_made(self) -> None:
        done, _ = self.done(trees.a_stack(), *self.note("former"))
        self.assertEqual(["noted"], done)

    def test_a_retry_finds_nothing(self) -> None:
        done, _ = self.done(None, *self.note("former"))
        self.assertEqual(["noted"], done)


class TestParameters(testtools.TestCase):
    def sent(self, declared: Any, **fields: Any) -> Any:
        """Heal a stack of these parameters; give what it is made of."""
        stack = msgspec.structs.replace(
            trees.a_stack(),
            parameters={
                "nfv": "{}",
                "OS::stack_id": "root",
                "size": "3",
                "secret": "******",
            },
        )
        stub: Any = Stub(stack=stack)
        stub.its_template = msgspec.json.encode(
            {"parameters": {"nfv": {"type": "json"}, **declared}}
        ).decode()
        self.stub = stub
        given = StackFields(**{"parameters": {"nfv": {}}, **fields})
        healing.recreate(stub, a_task(), given, HOT)
        return stub.parameters

    def test_those_of_the_stack_are_kept(self) -> None:
        declared = {"size": {"type": "number", "default": 1}}
        self.assertEqual({"nfv": {}, "size": "3"}, self.sent(declared))

    def test_user_data_may_tell_others(self) -> None:
        declared = {"size": {"type": "number"}}
        told = {"nfv": {}, "size": 4}
        self.assertEqual(told, self.sent(declared, parameters=told))
        self.assertEqual(
            {"nfv": {}}, self.sent(declared, existing=False, template="other")
        )

    def test_one_that_is_hidden_has_to_be_told(self) -> None:
        declared = {"secret": {"type": "string", "hidden": True}}
        error = self.assertRaises(errors.InfraError, self.sent, declared)
        self.assertIn("does not tell secret", str(error))
        self.assertEqual([], self.stub.done)
        told = {"secret": "s"}
        self.assertEqual(told, self.sent(declared, parameters=told))


class TestLostTemplate(StackCase):
    def test_what_user_data_had_made_is_not_guessed(self) -> None:
        link = ExtManagedVirtualLinkInfo(
            id="m",
            vnf_virtual_link_desc_id="inside",
            network_resource=ResourceHandle(resource_id="net"),
        )
        failed = msgspec.structs.replace(
            trees.a_stack(), status="DELETE_FAILED"
        )
        for stack in (None, failed):
            for info, words in (
                (an_info(metadata={"nfv": NUMBERED}), "web-0"),
                (an_info(ext_managed_virtual_link_info=[link]), "links"),
            ):
                error = self.assertRaises(
                    errors.InfraError, self.done, stack, info=info
                )
                self.assertIn("template", str(error))
                self.assertIn(words, str(error))

    def test_user_data_may_make_it_again(self) -> None:
        info = an_info(metadata={"nfv": NUMBERED})
        done, _ = self.done(None, info=info, template="made")
        self.assertEqual(["made"], done)


class TestChoice(testtools.TestCase):
    def test_an_earlier_try_has_chosen(self) -> None:
        for notes, whole in (
            (("whole", "{}"), True),
            (("servers", "web@a"), False),
        ):
            for default in (True, False):
                task = a_task(notes=notes)
                self.assertEqual(
                    whole, healing.is_of_all(task, default=default)
                )

    def test_what_a_request_says_comes_first(self) -> None:
        one = [a_vnfc("web@a", "web")]
        for vnfcs, asked, default, whole in (
            ((), {}, False, False),
            ((), {}, True, True),
            ((), {"all": True}, False, True),
            ((), {"all": False}, True, False),
            (one, {"all": True}, True, False),
        ):
            task = a_task(vnfcs=vnfcs, parameters=asked)
            self.assertEqual(whole, healing.is_of_all(task, default=default))
