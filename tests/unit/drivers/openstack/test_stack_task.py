"""Create, update and delete a stack, from any state of an earlier attempt."""

import types
from collections.abc import Mapping, Sequence
from typing import Any
from unittest import mock

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import addresses, api_errors, healing
from tacker_cnf.drivers.openstack.inventory import StackLocation
from tacker_cnf.drivers.openstack.stack_fields import StackFields
from tacker_cnf.drivers.openstack.stack_task import StackTask
from tacker_cnf.drivers.openstack.stacks import Resource, Stack, Tree
from tacker_cnf.lcm import instantiated_info
from tacker_cnf.lcm.change import current_state
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.common import ResourceHandle, VnfExtCpData
from tacker_cnf.sol.virtual_link import (
    ExtManagedVirtualLinkInfo,
    ExtVirtualLinkInfo,
)
from tacker_cnf.vnfd.base_hot import BaseHot
from tests.factories import (
    a_context,
    a_running_instance,
    a_state,
    a_task,
    a_vnfc,
    a_vnfd,
    an_info,
)
from tests.fixtures.clock import SteppingClock
from tests.unit.drivers.openstack import stack_resources

HOT = BaseHot(template="the package's", files={"a.yaml": "nested"})
FIELDS = StackFields(
    template="user data's", parameters={"nfv": {"VDU": {}}}, existing=False
)
CHANGE = StackFields(parameters={"nfv": {}})
INTERNAL_ERROR = "UPDATE_FAILED: (pymysql.err.IntegrityError) (1451, 'Cannot')"
OF_TREES = msgspec.structs.replace(
    a_vnfd(), flavours={"simple": stack_resources.a_flavour()}
)


class ScriptedHeat:
    """A Heat whose stack has the next of the statuses at each read."""

    def __init__(self, *statuses: str | None, refuses: int = 0) -> None:
        self.cancel_token = CancelToken(clock=SteppingClock())
        self._statuses = list(statuses)
        self._refuses = refuses
        self.done: list[str] = []
        self.bodies: list[Mapping[str, Any]] = []
        self.listing = stack_resources.Listing()
        #: reads for which a resource is still in progress
        self.busy = 0

    def find(self, name: str) -> Stack | None:
        several = len(self._statuses) > 1
        status = self._statuses.pop(0) if several else self._statuses[0]
        if status is None:
            return None
        status, _, reason = status.partition(": ")
        plain = name.partition("/")[0]
        return Stack(id="1", name=plain, status=status, reason=reason)

    def create(self, name: str, body: Mapping[str, Any]) -> str:
        self._change("create", body)
        return f"{name}/1"

    def update(
        self, stack: Stack, body: Mapping[str, Any], *, existing: bool
    ) -> None:
        del stack
        self._change("patch" if existing else "put", body)

    def _change(self, what: str, body: Mapping[str, Any]) -> None:
        if self._refuses:
            self._refuses -= 1
            self.done.append(f"{what} refused")
            raise api_errors.Conflict("Heat answered 409")
        self.done.append(what)
        self.bodies.append(body)

    def delete(self, stack: Stack) -> None:
        del stack
        self.done.append("delete")

    def template(self, stack: Stack) -> tuple[str, Mapping[str, str]]:
        del stack
        return '{"resources": {"a": 1, "b": 2}}', {"b.yaml": "known"}

    def tree(self, stack: Stack) -> Tree:
        del stack
        if self.busy > 0:
            self.busy -= 1
            listing = stack_resources.Listing()
            listing.add(
                "a", stack_resources.SERVER, status="UPDATE_IN_PROGRESS"
            )
            return listing.tree()
        return self.listing.tree()

    def ports(self, stack: Stack) -> addresses.Ports:
        del stack
        return {}

    def mark_unhealthy(
        self, resource: Resource, why: str, *, unhealthy: bool = True
    ) -> None:
        del why
        what = "mark" if unhealthy else "unmark"
        self._change(f"{what} {resource.name}", {})

    def events(self, identity: str, marker: str | None) -> list[Any]:
        del marker
        return [
            types.SimpleNamespace(
                id="e",
                resource_name="vnf",
                resource_status="UPDATE_COMPLETE",
                physical_resource_id=identity.partition("/")[2],
            )
        ]

    def last_event(self, identity: str) -> str:
        return f"before {identity}"


def build_task(
    heat: ScriptedHeat,
    within: float = 60,
    zones: Sequence[str] = (),
    **task: Any,
) -> StackTask:
    untyped: Any = StackTask
    return untyped(  # type: ignore[no-any-return]
        a_task(**task),
        a_context(),
        heat,
        StackLocation("vim1", "project"),
        Deadline.within(within, heat.cancel_token.clock),
        zones,
    )


class TestCreateOrUpdate(testtools.TestCase):
    def done(self, heat: ScriptedHeat) -> list[str]:
        build_task(heat).create_or_update(FIELDS, HOT)
        return heat.done

    def test_a_missing_stack_is_created(self) -> None:
        heat = ScriptedHeat(None, None, "CREATE_COMPLETE")
        self.assertEqual(["create"], self.done(heat))
        self.assertEqual("user data's", heat.bodies[0]["template"])

    def test_without_a_template_the_packages_is_used(self) -> None:
        heat = ScriptedHeat(None, None, "CREATE_COMPLETE")
        build_task(heat).create_or_update(StackFields(), HOT)
        self.assertEqual("the package's", heat.bodies[0]["template"])
        self.assertEqual({"a.yaml": "nested"}, heat.bodies[0]["files"])

    def test_a_failed_stack_is_updated(self) -> None:
        heat = ScriptedHeat("CREATE_FAILED", "UPDATE_COMPLETE")
        self.assertEqual(["put"], self.done(heat))

    def test_a_running_deletion_is_waited_for(self) -> None:
        heat = ScriptedHeat(
            "DELETE_IN_PROGRESS",
            "DELETE_IN_PROGRESS",
            "DELETE_COMPLETE",
            "DELETE_COMPLETE",  # the name is still reserved
            "DELETE_COMPLETE",
            None,
            "CREATE_COMPLETE",
        )
        self.assertEqual(["create"], self.done(heat))

    def test_a_failed_deletion_is_retried(self) -> None:
        heat = ScriptedHeat(
            "DELETE_FAILED",
            "DELETE_IN_PROGRESS",
            None,
            None,
            None,
            "CREATE_COMPLETE",
        )
        self.assertEqual(["delete", "create"], self.done(heat))

    def test_a_stack_of_a_request_with_a_lost_response_is_updated(
        self,
    ) -> None:
        heat = ScriptedHeat(
            None, None, "CREATE_IN_PROGRESS", "UPDATE_COMPLETE", refuses=1
        )
        self.assertEqual(["create refused", "put"], self.done(heat))

    def test_an_update_in_progress_is_waited_for(self) -> None:
        heat = ScriptedHeat(
            "UPDATE_IN_PROGRESS",
            "UPDATE_IN_PROGRESS",
            "UPDATE_COMPLETE",
            refuses=1,
        )
        self.assertEqual(["put refused", "put"], self.done(heat))

    def test_a_cancelled_nested_update_is_retried(self) -> None:
        cancelled = "UPDATE_FAILED: Resource UPDATE failed: resources.a: "
        cancelled += "Stack UPDATE cancelled"
        heat = ScriptedHeat("UPDATE_FAILED: x", cancelled, "UPDATE_COMPLETE")
        self.assertEqual(["put", "put"], self.done(heat))

    def test_an_update_cancelled_by_a_duplicate_is_retried(self) -> None:
        cancelled = "UPDATE_FAILED: Resource UPDATE failed: resources.a: "
        cancelled += "Stack UPDATE cancelled"
        heat = ScriptedHeat("UPDATE_COMPLETE", cancelled, "UPDATE_COMPLETE")
        self.assertEqual(["put", "put"], self.done(heat))

    def test_an_internal_error_of_heat_is_retried(self) -> None:
        heat = ScriptedHeat(
            "UPDATE_FAILED: x", INTERNAL_ERROR, "UPDATE_COMPLETE"
        )
        self.assertEqual(["put", "put"], self.done(heat))

    def test_a_retry_waits_for_resources_in_progress(self) -> None:
        heat = ScriptedHeat(
            "UPDATE_FAILED: x", INTERNAL_ERROR, "UPDATE_COMPLETE"
        )
        heat.busy = 2  # one read is for the error
        self.assertEqual(["put", "put"], self.done(heat))
        self.assertEqual(0, heat.busy)

    def test_resources_in_progress_at_the_deadline_are_reported(self) -> None:
        heat = ScriptedHeat("UPDATE_FAILED: x", INTERNAL_ERROR)
        heat.busy = 1000
        error = self.assertRaises(
            errors.NotReady,
            build_task(heat, within=0.3).create_or_update,
            FIELDS,
            HOT,
        )
        self.assertIn("IntegrityError", str(error))
        self.assertIn("did not complete its action", str(error))
        self.assertEqual(["put"], heat.done)

    def test_retries_of_an_internal_error_are_limited(self) -> None:
        heat = ScriptedHeat("UPDATE_FAILED: x", INTERNAL_ERROR)
        error = self.assertRaises(errors.NotReady, self.done, heat)
        self.assertIn("IntegrityError", str(error))
        self.assertEqual(["put"] * 3, heat.done)

    def test_an_update_cancelled_by_a_client_is_not_retried(self) -> None:
        cancelled = "UPDATE_FAILED: Stack UPDATE cancelled"
        heat = ScriptedHeat("UPDATE_COMPLETE", cancelled)
        error = self.assertRaises(errors.NotReady, self.done, heat)
        self.assertIn("Stack UPDATE cancelled", str(error))
        self.assertEqual(["put"], heat.done)

    def test_a_stack_deleted_during_the_update_is_reported(self) -> None:
        for status in (None, "DELETE_IN_PROGRESS", "DELETE_COMPLETE"):
            heat = ScriptedHeat("UPDATE_COMPLETE", status)
            error = self.assertRaises(errors.NotReady, self.done, heat)
            self.assertIn("deleted by another client", str(error))


class TestFallbackZones(testtools.TestCase):
    def test_a_server_without_a_host_is_moved_to_another_zone(self) -> None:
        heat = ScriptedHeat(
            "UPDATE_COMPLETE",
            "UPDATE_FAILED: Resource UPDATE failed: no host",
            "UPDATE_FAILED: Resource UPDATE failed: no host",
            "UPDATE_FAILED: Resource UPDATE failed: no host",
            "UPDATE_FAILED: Resource UPDATE failed: resources.a: "
            "Stack UPDATE cancelled",
            "UPDATE_COMPLETE",
        )
        heat.listing.add(
            "store",
            stack_resources.SERVER,
            status="CREATE_FAILED",
            reason="ResourceInError: resources.store: no host",
        )
        stack_task = build_task(heat, zones=["west"], vnfd=OF_TREES)
        nfv = {"VDU": {"store": {"locationConstraints": "east"}}}
        stack_task.apply_with_fallback_zones(
            stack_task.update_current,
            StackFields(parameters={"nfv": nfv}, existing=False),
        )
        zones = [
            body["parameters"]["nfv"]["VDU"]["store"]["locationConstraints"]
            for body in heat.bodies
        ]
        self.assertEqual(["east", "west", "west"], zones)


class TestExisting(testtools.TestCase):
    def test_a_missing_stack_is_an_error(self) -> None:
        for status in (None, "DELETE_COMPLETE", "DELETE_IN_PROGRESS"):
            error = self.assertRaises(
                errors.NotReady, build_task(ScriptedHeat(status)).existing
            )
            self.assertIn("additionalParams.all", str(error))

    def test_the_error_names_the_state_of_the_stack(self) -> None:
        for status, message in (
            (None, "another client has deleted it"),
            ("DELETE_COMPLETE", "another client has deleted it"),
            ("DELETE_IN_PROGRESS", "is being deleted"),
            (
                "DELETE_FAILED: a is in use.",
                "(DELETE_FAILED): a is in use. Heal",
            ),
        ):
            error = self.assertRaises(
                errors.NotReady, build_task(ScriptedHeat(status)).existing
            )
            self.assertIn(message, str(error))


class TestMark(testtools.TestCase):
    resource = (
        stack_resources.grouped("a").tree().of_type(stack_resources.SERVER)[0]
    )

    def test_a_resource_in_progress_is_marked_afterwards(self) -> None:
        heat = ScriptedHeat("UPDATE_COMPLETE", refuses=2)
        with build_task(heat).marked([self.resource]):
            heat.done.append("within")
        self.assertEqual(
            ["mark web refused"] * 2 + ["mark web", "within"], heat.done
        )

    def test_a_resource_in_progress_at_the_deadline_is_an_error(self) -> None:
        heat = ScriptedHeat("UPDATE_COMPLETE", refuses=2)
        stack_task = build_task(heat, within=0)
        self.assertRaises(
            api_errors.Conflict, self.fail_within, stack_task, None
        )
        self.assertEqual("mark web refused", heat.done[0])

    def test_the_mark_is_removed_if_no_update_is_sent(self) -> None:
        for error in (
            errors.VimRejected("Heat answered 400"),
            errors.VimUnreachable("No answer"),
            errors.InvalidPackage("the template is no YAML"),
            errors.Cancelled("enough"),
        ):
            heat = ScriptedHeat("UPDATE_COMPLETE")
            stack_task = build_task(heat)
            raised = self.assertRaises(
                type(error), self.fail_within, stack_task, error
            )
            self.assertIs(error, raised)
            self.assertEqual(["mark web", "unmark web"], heat.done)

    def test_the_mark_remains_if_the_update_may_have_started(self) -> None:
        for error, done in (
            (errors.VimRejected("Heat answered 400"), ["unmark web"]),
            (errors.NotReady("It failed"), []),
            (errors.VimUnreachable("No answer"), []),
        ):
            heat = ScriptedHeat("UPDATE_COMPLETE")
            stack_task = build_task(heat)
            with (
                mock.patch.object(heat, "update", side_effect=error),
                testtools.ExpectedException(type(error)),
                stack_task.marked([self.resource]),
            ):
                stack_task.update_current(FIELDS)
            self.assertEqual(["mark web", *done], heat.done)

    def test_a_graceful_cancel_removes_the_marks(self) -> None:
        first, second = (
            stack_resources.grouped("a", "b")
            .tree()
            .of_type(stack_resources.SERVER)[:2]
        )
        why = errors.Cancelled("enough")

        class CancelledHeat(ScriptedHeat):
            def mark_unhealthy(self, *args: Any, **more: Any) -> None:
                if more.get("unhealthy", True):
                    self.cancel_token.check()
                super().mark_unhealthy(*args, **more)
                self.cancel_token.cancel(why, forceful=False)

        heat = CancelledHeat("UPDATE_COMPLETE")
        with (
            testtools.ExpectedException(errors.Cancelled),
            build_task(heat).marked([first, second]),
        ):
            self.fail("not cancelled")
        self.assertEqual(["mark web", "unmark web", "unmark web"], heat.done)

    def test_a_cancel_before_the_update_removes_the_marks(self) -> None:
        heat = ScriptedHeat("UPDATE_COMPLETE")
        stack_task = build_task(heat)
        with (
            testtools.ExpectedException(errors.Cancelled),
            stack_task.marked([self.resource]),
        ):
            heat.cancel_token.cancel(
                errors.Cancelled("enough"), forceful=False
            )
            stack_task.update_current(FIELDS)
        self.assertEqual(["mark web", "unmark web"], heat.done)

    def test_a_rejected_update_is_reported_if_unmarking_fails(self) -> None:
        heat = ScriptedHeat("UPDATE_COMPLETE")
        refused = errors.VimRejected("Heat answered 400")

        def raise_not_found(*_: object, unhealthy: bool = True) -> None:
            if not unhealthy:
                raise errors.VimUnreachable("No answer")

        untyped: Any = heat
        untyped.mark_unhealthy = raise_not_found
        raised = self.assertRaises(
            errors.VimRejected, self.fail_within, build_task(heat), refused
        )
        self.assertIs(refused, raised)

    def fail_within(
        self, stack_task: StackTask, error: Exception | None
    ) -> None:
        with stack_task.marked([self.resource]):
            if error:
                raise error


class TestCheckedResult(testtools.TestCase):
    def checked_result(self, *members: str) -> Observed:
        heat = ScriptedHeat("UPDATE_COMPLETE")
        heat.listing = stack_resources.grouped(*members)
        wanted = a_state(counts={"web": 2, "store": 1, "former": 1})
        stack_task = build_task(heat, vnfd=OF_TREES, desired=wanted)
        return stack_task.checked_result(stack_task.existing())

    def test_a_complete_stack(self) -> None:
        found = self.checked_result("a", "b").vnfc_resource_info
        self.assertEqual(3, len(found))

    def test_missing_vnfcs_are_an_error(self) -> None:
        error = self.assertRaises(errors.NotReady, self.checked_result, "a")
        self.assertIn("has only 1 of 2 VNFCs of VDU web;", str(error))


class TestResultWithoutStack(testtools.TestCase):
    def test_external_links_are_kept(self) -> None:
        managed = ExtManagedVirtualLinkInfo(
            id="m",
            vnf_virtual_link_desc_id="inside",
            network_resource=ResourceHandle(
                resource_id="net", vim_connection_id="vim1"
            ),
        )
        outside = ExtVirtualLinkInfo(
            id="outside",
            resource_handle=ResourceHandle(
                resource_id="net-1", vim_connection_id="vim1"
            ),
            current_vnf_ext_cp_data=(
                VnfExtCpData(cpd_id="web_cp", cp_config={"a": None}),
            ),
        )
        before = an_info(
            a_vnfc(),
            ext_managed_virtual_link_info=(managed,),
            ext_virtual_link_info=(outside,),
            metadata={"nfv": {"VDU": {}}},
        )
        instance = a_running_instance(info=before)
        current = current_state(instance)
        stack_task = build_task(
            ScriptedHeat(None),
            vnfd=OF_TREES,
            instance=instance,
            desired=current,
        )
        found = stack_task.result_without_stack()
        self.assertEqual((), found.vnfc_resource_info)
        self.assertEqual(before.metadata, found.metadata)
        for links, expected in (
            (found.ext_managed_virtual_link_info, managed),
            (found.ext_virtual_link_info, outside),
        ):
            (link,) = links
            self.assertEqual(expected.id, link.id)
        # a synchronization stores the same result, from which a heal of the
        # whole VNF sees that the template was changed
        synced = instantiated_info.update_resources(before, found, {})
        again = build_task(
            ScriptedHeat(None),
            vnfd=OF_TREES,
            instance=a_running_instance(info=synced),
            desired=current_state(a_running_instance(info=synced)),
        )
        self.assertEqual(found, again.result_without_stack())
        task = a_task(instance=a_running_instance(info=synced))
        error = self.assertRaises(
            errors.InfraError,
            healing.recreate,
            again,
            task,
            a_context(),
            CHANGE,
            HOT,
        )
        self.assertIn("externally managed virtual links", str(error))


class TestBody(testtools.TestCase):
    info = an_info(
        a_vnfc(),
        metadata={"nfv": {"VDU": {"web": {"size": 1, "image": "old"}}}},
    )

    def sent(self, fields: StackFields) -> Mapping[str, Any]:
        heat = ScriptedHeat("UPDATE_COMPLETE")
        stack_task = build_task(
            heat, instance=a_running_instance(info=self.info)
        )
        stack_task.update(stack_task.existing(), fields)
        return heat.bodies[0]

    def test_nfv_is_merged_into_that_before_the_operation(self) -> None:
        nfv = {"VDU": {"web": {"size": 2}}}
        body = self.sent(StackFields(parameters={"nfv": nfv}))
        self.assertEqual(
            {"VDU": {"web": {"size": 2, "image": "old"}}},
            body["parameters"]["nfv"],
        )
        self.assertNotIn("template", body)

    def test_a_template_is_a_merge_patch(self) -> None:
        fields = StackFields(
            template='{"resources": {"a": null, "c": 3}}',
            files={"c.yaml": "new"},
        )
        body = self.sent(fields)
        self.assertEqual('{"resources":{"b":2,"c":3}}', body["template"])
        self.assertEqual({"b.yaml": "known", "c.yaml": "new"}, body["files"])

    def test_complete_fields_are_sent_unchanged(self) -> None:
        body = self.sent(FIELDS)
        self.assertEqual({"nfv": {"VDU": {}}}, body["parameters"])
        self.assertEqual("user data's", body["template"])
