import contextlib
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from unittest import mock

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.base import Checkpoint
from tacker_cnf.drivers.openstack import healing, inventory
from tacker_cnf.drivers.openstack.healing import (
    PreviousStack,
    ResourcesToReplace,
)
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.stack_fields import StackFields
from tacker_cnf.drivers.openstack.stacks import Resource, Stack
from tacker_cnf.lcm.change import ALL
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.common import ResourceHandle
from tacker_cnf.sol.virtual_link import ExtManagedVirtualLinkInfo
from tacker_cnf.vnfd.base_hot import BaseHot
from tests.factories import (
    a_context,
    a_running_instance,
    a_task,
    a_vnfc,
    an_info,
)
from tests.unit.drivers.openstack import fake_nova, stack_resources

FIELDS = StackFields(parameters={"nfv": {}})
HOT = BaseHot(template="the package's")
NUMBERED = {"VDU": {"web-0": {"vcImageId": "cirros"}}}


class FakeStackTask:
    """A StackTask that records the requests."""

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
        self.stack_template = "the stack's"
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
        return self.stack_template, {"a.yaml": "its"}

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

    def done(
        self,
        *members: str,
        checkpoint: Checkpoint | None = None,
        **change: Any,
    ) -> tuple[list[Any], Any]:
        """Heal; return the requests and the saved checkpoints."""
        saved: list[Checkpoint] = []
        self.stub = FakeStackTask(*members)
        self.nova.done = self.stub.done
        healing.replace_servers(
            self.stub,
            self.nova,
            a_task(**{"replace": ALL} | change).change,
            a_context(
                saved_checkpoint=checkpoint
                and msgspec.to_builtins(checkpoint),
                save_checkpoint=saved.append,
            ),
            FIELDS,
        )
        return self.stub.done, saved

    def test_requested_vnfcs_are_replaced(self) -> None:
        done, saved = self.done("a", "b", replace=(a_vnfc("web@b", "web"),))
        self.assertEqual([["web@b"], "update"], done)
        self.assertEqual([ResourcesToReplace(frozenset({"web@b"}))], saved)

    def test_all_replaces_volumes_too(self) -> None:
        store = (a_vnfc("store@root", "store"),)
        done, _ = self.done(replace=store)
        self.assertEqual(["store@root"], done[0])
        done, _ = self.done(replace=store, parameters={"all": True})
        self.assertEqual(["disk@root", "store@root"], done[0])

    def test_a_server_that_keeps_its_volume_is_deleted_first(self) -> None:
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

    def test_a_server_replaced_with_its_volume_is_not_deleted_first(
        self,
    ) -> None:
        self.nova = fake_nova.Servers()
        self.nova.add_server("store@root", "disk@root")
        store = (a_vnfc("store@root", "store"),)
        done, _ = self.done(replace=store, parameters={"all": True})
        self.assertEqual([["disk@root", "store@root"], "update"], done)

    def test_no_server_is_deleted_if_heat_rejects_the_update(self) -> None:
        self.nova = fake_nova.Servers()
        self.nova.add_server("store@root", "disk@root")
        refused = errors.VimRejected("Heat answered 400")
        with mock.patch.object(FakeStackTask, "check", side_effect=refused):
            self.assertRaises(errors.VimRejected, self.done, "a")
        self.assertEqual([], self.stub.done)

    def test_without_a_vnfc_in_the_request_all_are_replaced(self) -> None:
        done, _ = self.done("a", "b")
        self.assertEqual(["store@root", "web@a", "web@b"], done[0])

    def test_a_retry_marks_only_existing_ids_of_the_checkpoint(self) -> None:
        done, saved = self.done(
            "b", checkpoint=ResourcesToReplace(frozenset({"web@a", "web@b"}))
        )
        self.assertEqual([["web@b"], "update"], done)
        self.assertEqual([], saved)

    def test_a_vnfc_that_is_not_in_the_stack_is_an_error(self) -> None:
        error = self.assertRaises(
            errors.InfraError,
            self.done,
            "a",
            replace=(a_vnfc("web@z", "web"),),
        )
        self.assertIn("Server web@z is not in the stack", str(error))
        self.assertIn("synchronize", str(error))


class StackCase(testtools.TestCase):
    stub: Any

    def done(
        self,
        stack: Stack | None,
        checkpoint: PreviousStack | None = None,
        **fields: Any,
    ) -> tuple[list[Any], Any]:
        saved: list[Checkpoint] = []
        stub: Any = FakeStackTask(stack=stack)
        self.stub = stub
        stub.stack_template = fields.pop("stack_template", stub.stack_template)
        task = a_task(
            instance=a_running_instance(info=fields.pop("info", an_info())),
        )
        context = a_context(
            saved_checkpoint=checkpoint and msgspec.to_builtins(checkpoint),
            save_checkpoint=saved.append,
        )
        stack_fields = StackFields(parameters={"nfv": {}}, **fields)
        healing.recreate(stub, task, context, stack_fields, HOT)
        return stub.done, saved


class TestStack(StackCase):
    def checkpoint(self, stack_id: str | None) -> PreviousStack:
        return PreviousStack(stack_id, "noted", {})

    def test_the_stack_is_saved_deleted_and_created(self) -> None:
        done, saved = self.done(stack_resources.a_stack())
        self.assertEqual(["remove root", "the stack's"], done)
        self.assertEqual(
            [PreviousStack("root", "the stack's", {"a.yaml": "its"})], saved
        )

    def test_user_data_may_replace_the_template(self) -> None:
        fields: dict[str, Any] = {"template": "another", "existing": False}
        done, _ = self.done(stack_resources.a_stack(), **fields)
        self.assertEqual(["remove root", "another"], done)

    def test_user_data_may_change_the_template(self) -> None:
        patch = {"resources": {"a": None, "c": 3}}
        done, saved = self.done(
            stack_resources.a_stack(),
            template=msgspec.json.encode(patch).decode(),
            files={"c.yaml": "new"},
            stack_template='{"resources": {"a": 1, "b": 2}}',
        )
        whole = '{"resources":{"b":2,"c":3}}'
        self.assertEqual(["remove root", whole], done)
        self.assertEqual({"a.yaml": "its", "c.yaml": "new"}, self.stub.files)
        # a retry finds no stack
        again, _ = self.done(
            None, saved[0], template=msgspec.json.encode(patch).decode()
        )
        self.assertEqual([whole], again)

    def test_nothing_is_deleted_if_the_template_is_not_valid(self) -> None:
        for template in ("[", "a text"):
            self.assertRaises(
                errors.InvalidPackage,
                self.done,
                stack_resources.a_stack(),
                template=template,
            )
            self.assertEqual([], self.stub.done)

    def test_a_missing_stack_is_created_from_the_package(self) -> None:
        done, _ = self.done(None)
        self.assertEqual(["the package's"], done)

    def test_a_stack_being_deleted_is_created_from_the_package(self) -> None:
        for status in ("DELETE_IN_PROGRESS", "DELETE_FAILED"):
            stack = msgspec.structs.replace(
                stack_resources.a_stack(), status=status
            )
            done, _ = self.done(stack)
            self.assertEqual(["remove root", "the package's"], done)

    def test_a_retry_deletes_the_previous_stack(self) -> None:
        done, saved = self.done(
            stack_resources.a_stack(), self.checkpoint("root")
        )
        self.assertEqual(["remove root", "noted"], done)
        self.assertEqual([], saved)

    def test_a_retry_keeps_the_stack_of_an_earlier_attempt(self) -> None:
        done, _ = self.done(
            stack_resources.a_stack(), self.checkpoint("previous")
        )
        self.assertEqual(["noted"], done)

    def test_a_retry_without_a_stack_creates_it(self) -> None:
        done, _ = self.done(None, self.checkpoint("previous"))
        self.assertEqual(["noted"], done)


class TestParameters(testtools.TestCase):
    def sent(self, declared: Any, **fields: Any) -> Any:
        """Recreate a stack whose template declares these parameters; return
        the parameters of the new one.
        """
        stack = msgspec.structs.replace(
            stack_resources.a_stack(),
            parameters={
                "nfv": "{}",
                "OS::stack_id": "root",
                "size": "3",
                "secret": "******",
            },
        )
        stub: Any = FakeStackTask(stack=stack)
        stub.stack_template = msgspec.json.encode(
            {"parameters": {"nfv": {"type": "json"}, **declared}}
        ).decode()
        self.stub = stub
        stack_fields = StackFields(**{"parameters": {"nfv": {}}, **fields})
        healing.recreate(stub, a_task(), a_context(), stack_fields, HOT)
        return stub.parameters

    def test_parameters_of_the_stack_are_kept(self) -> None:
        declared = {"size": {"type": "number", "default": 1}}
        kept = {"nfv": {}, "size": "3"}
        self.assertEqual(kept, self.sent(declared))
        self.assertEqual(kept, self.sent(declared, template='{"outputs":{}}'))

    def test_user_data_may_set_parameters(self) -> None:
        declared = {"size": {"type": "number"}}
        parameters = {"nfv": {}, "size": 4}
        self.assertEqual(
            parameters, self.sent(declared, parameters=parameters)
        )
        self.assertEqual(
            {"nfv": {}}, self.sent(declared, existing=False, template="other")
        )

    def test_user_data_has_to_set_a_hidden_parameter(self) -> None:
        declared = {"secret": {"type": "string", "hidden": True}}
        error = self.assertRaises(errors.InfraError, self.sent, declared)
        self.assertIn("Parameter secret of the stack is hidden", str(error))
        self.assertEqual([], self.stub.done)
        parameters = {"secret": "s"}
        self.assertEqual(
            parameters, self.sent(declared, parameters=parameters)
        )


class TestLostTemplate(StackCase):
    def test_a_lost_template_changed_by_user_data_is_an_error(self) -> None:
        link = ExtManagedVirtualLinkInfo(
            id="m",
            vnf_virtual_link_desc_id="inside",
            network_resource=ResourceHandle(resource_id="net"),
        )
        failed = msgspec.structs.replace(
            stack_resources.a_stack(), status="DELETE_FAILED"
        )
        for stack in (None, failed):
            for info, message in (
                (an_info(metadata={"nfv": NUMBERED}), "web-0"),
                (an_info(ext_managed_virtual_link_info=[link]), "links"),
            ):
                error = self.assertRaises(
                    errors.InfraError, self.done, stack, info=info
                )
                self.assertIn("template", str(error))
                self.assertIn(message, str(error))

    def test_user_data_may_return_the_complete_template(self) -> None:
        info = an_info(metadata={"nfv": NUMBERED})
        fields: dict[str, Any] = {"info": info, "template": "made"}
        done, _ = self.done(None, existing=False, **fields)
        self.assertEqual(["made"], done)
        # but not a patch of it
        self.assertRaises(errors.InfraError, self.done, None, **fields)


class TestReplacesWholeVnf(testtools.TestCase):
    def test_a_retry_continues_as_in_the_checkpoint(self) -> None:
        for checkpoint, whole in (
            (PreviousStack(None, "{}", {}), True),
            (ResourcesToReplace(frozenset({"web@a"})), False),
        ):
            for default in (True, False):
                self.assertEqual(
                    whole,
                    healing.replaces_whole_vnf(
                        a_task(replace=ALL).change,
                        a_context(
                            saved_checkpoint=msgspec.to_builtins(checkpoint)
                        ),
                        default=default,
                    ),
                )

    def test_the_request_has_priority_over_the_default(self) -> None:
        one_vnfc = (a_vnfc("web@a", "web"),)
        for replace, parameters, default, whole in (
            (ALL, {}, False, False),
            (ALL, {}, True, True),
            (ALL, {"all": True}, False, True),
            (ALL, {"all": False}, True, False),
            (one_vnfc, {"all": True}, True, False),
        ):
            change = a_task(replace=replace, parameters=parameters).change
            self.assertEqual(
                whole,
                healing.replaces_whole_vnf(
                    change, a_context(), default=default
                ),
            )
