import contextlib
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from unittest import mock

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import healing, inventory
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.stack_fields import StackFields
from tacker_cnf.drivers.openstack.stacks import Resource, Stack
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.common import ResourceHandle
from tacker_cnf.sol.virtual_link import ExtManagedVirtualLinkInfo
from tacker_cnf.vnfd.base_hot import BaseHot
from tests.factories import a_running_instance, a_task, a_vnfc, an_info
from tests.unit.drivers.openstack import fake_nova, stack_resources

FIELDS = StackFields(parameters={"nfv": {}})
HOT = BaseHot(template="the package's")
NUMBERED = {"VDU": {"web-0": {"vcImageId": "cirros"}}}


class Stub:
    """A stack that notes what is done to it."""

    def __init__(self, *members: str, stack: Stack | None = None) -> None:
        tree = stack_resources.grouped(*members).tree()
        self._vnfcs = inventory.vnfcs(tree, stack_resources.a_flavour())
        self._stack = stack
        self.done: list[Any] = []
        self.heat = self
        self.cancel_token = CancelToken()
        self.waiter = types.SimpleNamespace(deadline=Deadline.within(60))
        self.name = "vnf-1"
        self.flavour = stack_resources.a_flavour()
        self.its_template = "the stack's"
        self.parameters: Any = None
        self.files: Any = None

    def existing(self) -> Stack:
        return stack_resources.a_stack()

    def find(self) -> Stack | None:
        return self._stack

    def vnfcs(self, stack: Stack) -> list[Vnfc]:
        del stack
        return self._vnfcs

    def check(self, stack: Stack, fields: StackFields) -> None:
        del stack, fields
        self.done.append("check")

    @contextlib.contextmanager
    def marked(self, resources: Iterable[Resource]) -> Iterator[None]:
        self.done.append(sorted(r.physical_id for r in resources))
        yield

    def mark(self, resource: Resource) -> None:
        self.done.append(f"mark {resource.physical_id}")

    def apply_with_fallback_zones(
        self, act: Callable[[StackFields], Stack], fields: StackFields
    ) -> Stack:
        return act(fields)

    def update_current(self, fields: StackFields) -> Stack:
        del fields
        self.done.append("update")
        return stack_resources.a_stack()

    def template(self, stack: Stack) -> tuple[str, dict[str, str]]:
        if stack.action == "DELETE":
            return '{"resources": {}}', {}
        return self.its_template, {"a.yaml": "its"}

    def remove(self, stack: Stack) -> None:
        self.done.append(f"remove {stack.id}")

    def create_or_update(
        self, fields: StackFields, base_hot: BaseHot
    ) -> Stack:
        del base_hot
        self.done.append(fields.template)
        self.parameters = fields.parameters
        self.files = fields.files
        return stack_resources.a_stack()


class TestServers(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.nova = fake_nova.Servers(existing=False)
        self.stub: Any = None

    def done(self, *members: str, **task: Any) -> tuple[list[Any], Any]:
        """Heal; give what was done, and what was noted."""
        noted: list[tuple[str, ...]] = []
        self.stub = Stub(*members)
        self.nova.done = self.stub.done
        given = a_task(**{"save_checkpoint": noted.append, **task})
        healing.replace_servers(self.stub, self.nova, given, FIELDS)
        return self.stub.done, noted

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

    def test_one_whose_volume_stays_goes_first(self) -> None:
        self.nova = fake_nova.Servers()
        self.nova.add_server("web@a")
        self.nova.add_server("store@root", "disk@root")
        done, _ = self.done("a")
        self.assertEqual(
            [
                "check",
                ["web@a"],
                "mark store@root",
                "delete store@root",
                "update",
            ],
            done,
        )

    def test_one_whose_volume_goes_too_does_not(self) -> None:
        self.nova = fake_nova.Servers()
        self.nova.add_server("store@root", "disk@root")
        store = [a_vnfc("store@root", "store")]
        done, _ = self.done(vnfcs=store, parameters={"all": True})
        self.assertEqual([["disk@root", "store@root"], "update"], done)

    def test_none_goes_for_an_update_that_heat_would_refuse(self) -> None:
        self.nova = fake_nova.Servers()
        self.nova.add_server("store@root", "disk@root")
        refused = errors.VimRejected("Heat answered 400")
        with mock.patch.object(Stub, "check", side_effect=refused):
            self.assertRaises(errors.VimRejected, self.done, "a")
        self.assertEqual([], self.stub.done)

    def test_all_of_them(self) -> None:
        done, _ = self.done("a", "b")
        self.assertEqual(["store@root", "web@a", "web@b"], done[0])

    def test_a_retry_marks_only_what_was_chosen_and_is_there(self) -> None:
        done, noted = self.done("b", checkpoint=("servers", "web@a", "web@b"))
        self.assertEqual([["web@b"], "update"], done)
        self.assertEqual([], noted)

    def test_one_that_is_not_there_any_more(self) -> None:
        error = self.assertRaises(
            errors.InfraError, self.done, "a", vnfcs=[a_vnfc("web@z", "web")]
        )
        self.assertIn("Server web@z is not in the stack", str(error))
        self.assertIn("synchronize", str(error))


class StackCase(testtools.TestCase):
    stub: Any

    def done(
        self, stack: Stack | None, *notes: str, **fields: Any
    ) -> tuple[list[Any], Any]:
        noted: list[tuple[str, ...]] = []
        stub: Any = Stub(stack=stack)
        self.stub = stub
        stub.its_template = fields.pop("its_template", stub.its_template)
        task = a_task(
            checkpoint=notes,
            save_checkpoint=noted.append,
            instance=a_running_instance(info=fields.pop("info", an_info())),
        )
        given = StackFields(parameters={"nfv": {}}, **fields)
        healing.recreate(stub, task, given, HOT)
        return stub.done, noted


class TestStack(StackCase):
    def note(self, stack_id: str | None) -> tuple[str, str]:
        former = healing.PreviousState(stack_id, "noted", {})
        return "whole", msgspec.json.encode(former).decode()

    def test_it_is_noted_deleted_and_created(self) -> None:
        done, noted = self.done(stack_resources.a_stack())
        self.assertEqual(["remove root", "the stack's"], done)
        self.assertEqual(
            healing.PreviousState("root", "the stack's", {"a.yaml": "its"}),
            msgspec.json.decode(noted[0][1], type=healing.PreviousState),
        )

    def test_user_data_may_give_another_template(self) -> None:
        given = {"template": "another", "existing": False}
        done, _ = self.done(stack_resources.a_stack(), **given)
        self.assertEqual(["remove root", "another"], done)

    def test_user_data_may_change_the_template(self) -> None:
        patch = {"resources": {"a": None, "c": 3}}
        done, noted = self.done(
            stack_resources.a_stack(),
            template=msgspec.json.encode(patch).decode(),
            files={"c.yaml": "told"},
            its_template='{"resources": {"a": 1, "b": 2}}',
        )
        whole = '{"resources":{"b":2,"c":3}}'
        self.assertEqual(["remove root", whole], done)
        self.assertEqual({"a.yaml": "its", "c.yaml": "told"}, self.stub.files)
        # of a retry, which finds it gone
        again, _ = self.done(
            None, *noted[0], template=msgspec.json.encode(patch).decode()
        )
        self.assertEqual([whole], again)

    def test_nothing_is_deleted_for_what_cannot_be_read(self) -> None:
        for template in ("[", "a text"):
            self.assertRaises(
                errors.InvalidPackage,
                self.done,
                stack_resources.a_stack(),
                template=template,
            )
            self.assertEqual([], self.stub.done)

    def test_one_that_has_gone_comes_from_the_package(self) -> None:
        done, _ = self.done(None)
        self.assertEqual(["the package's"], done)

    def test_one_that_heat_deletes_has_lost_its_template(self) -> None:
        for status in ("DELETE_IN_PROGRESS", "DELETE_FAILED"):
            going = msgspec.structs.replace(
                stack_resources.a_stack(), status=status
            )
            done, _ = self.done(going)
            self.assertEqual(["remove root", "the package's"], done)

    def test_a_retry_deletes_what_is_left_of_the_former(self) -> None:
        done, noted = self.done(stack_resources.a_stack(), *self.note("root"))
        self.assertEqual(["remove root", "noted"], done)
        self.assertEqual([], noted)

    def test_a_retry_keeps_what_an_earlier_try_has_made(self) -> None:
        done, _ = self.done(stack_resources.a_stack(), *self.note("former"))
        self.assertEqual(["noted"], done)

    def test_a_retry_finds_nothing(self) -> None:
        done, _ = self.done(None, *self.note("former"))
        self.assertEqual(["noted"], done)


class TestParameters(testtools.TestCase):
    def sent(self, declared: Any, **fields: Any) -> Any:
        """Heal a stack of these parameters; give what it is made of."""
        stack = msgspec.structs.replace(
            stack_resources.a_stack(),
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
        kept = {"nfv": {}, "size": "3"}
        self.assertEqual(kept, self.sent(declared))
        self.assertEqual(kept, self.sent(declared, template='{"outputs":{}}'))

    def test_user_data_may_name_others(self) -> None:
        declared = {"size": {"type": "number"}}
        parameters = {"nfv": {}, "size": 4}
        self.assertEqual(
            parameters, self.sent(declared, parameters=parameters)
        )
        self.assertEqual(
            {"nfv": {}}, self.sent(declared, existing=False, template="other")
        )

    def test_a_hidden_parameter_has_to_be_passed(self) -> None:
        declared = {"secret": {"type": "string", "hidden": True}}
        error = self.assertRaises(errors.InfraError, self.sent, declared)
        self.assertIn("does not tell secret", str(error))
        self.assertEqual([], self.stub.done)
        parameters = {"secret": "s"}
        self.assertEqual(
            parameters, self.sent(declared, parameters=parameters)
        )


class TestLostTemplate(StackCase):
    def test_what_user_data_had_made_is_not_guessed(self) -> None:
        link = ExtManagedVirtualLinkInfo(
            id="m",
            vnf_virtual_link_desc_id="inside",
            network_resource=ResourceHandle(resource_id="net"),
        )
        failed = msgspec.structs.replace(
            stack_resources.a_stack(), status="DELETE_FAILED"
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
        given = {"info": info, "template": "made"}
        done, _ = self.done(None, existing=False, **given)
        self.assertEqual(["made"], done)
        # but not from what changed in it
        self.assertRaises(errors.InfraError, self.done, None, **given)


class TestChoice(testtools.TestCase):
    def test_an_earlier_try_has_chosen(self) -> None:
        for notes, whole in (
            (("whole", "{}"), True),
            (("servers", "web@a"), False),
        ):
            for default in (True, False):
                task = a_task(checkpoint=notes)
                self.assertEqual(
                    whole, healing.replaces_whole_vnf(task, default=default)
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
            self.assertEqual(
                whole, healing.replaces_whole_vnf(task, default=default)
            )
