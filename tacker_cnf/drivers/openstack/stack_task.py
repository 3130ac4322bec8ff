"""One task on one stack: creates, updates and deletes it."""

import collections
import contextlib
import dataclasses
import functools
import math
from collections.abc import (
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, Final

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask, TaskContext
from tacker_cnf.drivers.coordination import Coordination
from tacker_cnf.drivers.openstack import (
    api_errors,
    inventory,
    stack_names,
    userdata,
)
from tacker_cnf.drivers.openstack.heat import Heat
from tacker_cnf.drivers.openstack.inventory import StackLocation, Vnfc
from tacker_cnf.drivers.openstack.resource_policy import (
    ResourcePolicy,
    Template,
)
from tacker_cnf.drivers.openstack.stack_fields import StackFields
from tacker_cnf.drivers.openstack.stack_wait import (
    PollBackoff,
    StackWaiter,
    UpdateInterrupted,
)
from tacker_cnf.drivers.openstack.stacks import Resource, Stack, Tree
from tacker_cnf.drivers.openstack.zones import ZoneFallback
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.lcm import merge
from tacker_cnf.lcm.change import State, flavour_of
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo
from tacker_cnf.vnfd.base_hot import BaseHot
from tacker_cnf.vnfd.model import Flavour

LOG = log.getLogger(__name__)

#: attempts to update a stack while Heat interrupts the update
MAX_UPDATE_ATTEMPTS: Final = 3
#: resource_status_reason of a resource to replace
MARK_REASON: Final = "marked by tacker"
#: resource_status_reason when the mark is removed
UNMARK_REASON: Final = "mark removed, no update started"


class StackTask:
    """The operations of one task on the stack of its instance."""

    def __init__(
        self,
        task: InfraTask,
        context: TaskContext,
        heat: Heat,
        location: StackLocation,
        deadline: Deadline,
        zones: Sequence[str] = (),
        policy: ResourcePolicy | None = None,
        had: Sequence[Template] | None = None,
    ) -> None:
        """Prepare the task; no request is sent yet.

        :param zones: fallback zones for VNFCs without a valid host
        :param policy: of the VIM, for the templates; None: not checked
        :param had: templates that the stack had before the operation, if this
            is a rollback: it may have what these and the stack have
        """
        self._task = task
        self._zones = zones
        self._policy = policy
        self._had = had
        self.heat = heat
        self._location = location
        self.progress = Progress(
            context.report_progress, context.report_resource, context.expect
        )
        self.waiter = StackWaiter(heat, deadline, self.progress)
        #: whether an update was requested since the last marked()
        self._update_sent = False

    @property
    def public_names(self) -> tuple[str, ...]:
        """The parameters that the VNFD allows to show."""
        return self._task.package.vnfd.public_names.parameters

    @property
    def flavour(self) -> Flavour:
        """The deployment flavour, which names the VDUs of the stack; while it
        changes, the stack may have those of both flavours.
        """
        vnfd, change = self._task.package.vnfd, self._task.change
        flavour = flavour_of(vnfd, change.state.flavour_id)
        if not change.changes_flavour:
            return flavour
        before = flavour_of(vnfd, change.first_state.flavour_id)
        return msgspec.structs.replace(
            flavour,
            vdus={**before.vdus, **flavour.vdus},
            connection_points={
                **before.connection_points,
                **flavour.connection_points,
            },
            storages={**before.storages, **flavour.storages},
            virtual_links={**before.virtual_links, **flavour.virtual_links},
        )

    @functools.cached_property
    def name(self) -> str:
        """The name of the stack. That of a new VNF is the name of its
        instance, unless another stack has this name.
        """
        instance = self._task.instance
        if recorded := stack_names.recorded_name(instance):
            return recorded
        default = stack_names.mark_of(instance.id)
        requested = stack_names.requested_name(instance)
        if requested == default:
            return default
        found = self.heat.find(requested)
        if found is not None:
            is_own = stack_names.is_of(found, instance)
            return requested if is_own else default
        # an attempt by an earlier release has created it
        return default if self.heat.find(default) else requested

    def find(self) -> Stack | None:
        """Find the stack; None: not found, or DELETE_COMPLETE, or its name is
        that of a stack that another client has created.
        """
        found = self.heat.find(self.name)
        if (
            found is None
            or found.status == "DELETE_COMPLETE"
            or not stack_names.is_of(found, self._task.instance)
        ):
            return None
        return found

    def existing(self) -> Stack:
        """Return the stack; a heal resumes it if it is suspended.

        :raises NotReady: the stack does not exist or is suspended
        """
        return self.usable(self.find())

    def usable(self, found: Stack | None) -> Stack:
        """Return a stack that was found; a heal resumes it if it is suspended.

        :raises NotReady: the stack does not exist or is suspended
        """
        if found is not None and found.action == "SUSPEND":
            if self._task.change.replace:
                return self.resume(found)
            raise errors.NotReady(
                f"Stack {self.name} is suspended ({found.status}). Resume it "
                f"(openstack stack resume {self.name}), and retry or roll "
                "back; or end this operation with fail: a heal of the VNF "
                "instance resumes it, too."
            )
        if found is not None and found.action != "DELETE":
            return found
        if found is None:
            problem = (
                "does not exist in OpenStack: another client has deleted it."
            )
        elif found.has_failed:
            reason = (found.reason or "").rstrip(".")
            problem = f"is partly deleted (DELETE_FAILED): {reason}."
        else:
            problem = "is being deleted."
        raise errors.NotReady(
            f"Stack {self.name} {problem} Heal the whole VNF with "
            "additionalParams.all to create it again, or terminate the VNF."
        )

    def resume(self, stack: Stack) -> Stack:
        """Resume a suspended stack, and wait until it is complete.

        :raises InfraError: Heat failed, or the timeout is over
        """
        marker = self.heat.last_event(stack.identity)
        if stack.status != "SUSPEND_IN_PROGRESS":
            self.progress(f"Resuming stack {self.name}")
            self.heat.resume(stack)
            return self.waiter.wait_complete(stack.identity, marker)
        return self.resume(self.waiter.wait_idle(stack.identity, marker))

    def apply_with_fallback_zones(
        self, act: Callable[[StackFields], Stack], fields: StackFields
    ) -> Stack:
        """Create or update the stack; if VNFCs get no valid host, retry with
        them in another zone.

        :param act: creates or updates the stack
        :raises InfraError: Heat failed in all of the zones
        """
        zone_fallback = ZoneFallback(self._zones)
        while True:
            try:
                return act(fields)
            except errors.NotReady as error:
                moved = self._in_next_zone(zone_fallback, fields)
                if moved is None:
                    raise
                LOG.info(
                    "No valid host, retrying in another zone: "
                    "stack=%s error=%s",
                    self.name,
                    error,
                )
                fields = moved

    def _in_next_zone(
        self, zone_fallback: ZoneFallback, fields: StackFields
    ) -> StackFields | None:
        stack = self.find() if self._zones else None
        if stack is None or self.waiter.deadline.passed:
            return None
        parameters = self._merged_parameters(fields)
        nfv = zone_fallback.next_nfv(
            parameters.get("nfv", {}), self.heat.tree(stack), self.flavour
        )
        if nfv is None:
            return None
        return dataclasses.replace(
            fields, parameters={**parameters, "nfv": nfv}
        )

    def create_or_update(
        self, fields: StackFields, base_hot: BaseHot
    ) -> Stack:
        """Create the stack, or update the one that an earlier attempt left;
        wait until it is complete.

        :raises InfraError: Heat failed, or the timeout is over
        """
        backoff = PollBackoff(self.heat, self.waiter.deadline)
        while True:
            found = self.find()
            if found is None:
                identity = self._create(fields, base_hot)
                if identity:
                    return self.waiter.wait_complete(identity, None)
                backoff.wait()
            elif found.action == "DELETE":
                self.remove(found)
            elif found.action == "SUSPEND":
                self.resume(found)
            else:
                return self.update(found, fields)

    def _create(self, fields: StackFields, base_hot: BaseHot) -> str | None:
        """Start to create the stack; None: its name is in use."""
        self.waiter.wait_name_free(self.name)
        self.progress(f"Creating stack {self.name}")
        body = self._creation_body(fields, base_hot)
        try:
            return self.heat.create(self.name, body)
        except api_errors.Conflict:
            # found: the response to an earlier request was lost
            if self.find() is None and self.waiter.deadline.passed:
                raise
            return None

    def _creation_body(
        self, fields: StackFields, base_hot: BaseHot
    ) -> dict[str, Any]:
        template = fields.template or base_hot.template
        files = fields.files if fields.template else base_hot.files
        return self._body(template, files, self._merged_parameters(fields))

    def preview_creation(
        self, fields: StackFields, base_hot: BaseHot
    ) -> Sequence[tuple[str, str]]:
        """Return (type, name) of the resources that the stack would get.

        :raises VimRejected: Heat would reject it
        """
        body = self._creation_body(fields, base_hot)
        return self.heat.preview_creation(self.name, body)

    def update_current(self, fields: StackFields) -> Stack:
        """Read the stack and update it.

        :raises InfraError: the stack does not exist, Heat failed, or the
            timeout is over
        """
        return self.update(self.existing(), fields)

    def update(self, stack: Stack, fields: StackFields) -> Stack:
        """Update a stack; wait until it is complete.

        :raises InfraError: Heat failed, or the timeout is over
        """
        body = self.update_body(stack, fields)
        self.progress(f"Updating stack {self.name}")
        attempts_left = MAX_UPDATE_ATTEMPTS
        while True:
            try:
                return self._send_update(stack, body, existing=fields.existing)
            except UpdateInterrupted as error:
                attempts_left -= 1
                if not attempts_left:
                    raise
                LOG.info(
                    "Stack update interrupted, retrying: stack=%s error=%s",
                    self.name,
                    error,
                )
                self._wait_resources_idle(stack, error)
                body["timeout_mins"] = self._timeout_minutes()

    def _wait_resources_idle(
        self, stack: Stack, interruption: UpdateInterrupted
    ) -> None:
        try:
            self.waiter.wait_resources_idle(stack)
        except errors.NotReady as late:
            raise errors.NotReady(f"{interruption} {late}") from None

    def check(self, stack: Stack, fields: StackFields) -> None:
        """Check that Heat accepts an update.

        :raises VimRejected: Heat would reject it
        """
        body = self.update_body(stack, fields)
        self.heat.preview(stack, body, existing=fields.existing)

    def _send_update(
        self, stack: Stack, body: Mapping[str, Any], *, existing: bool
    ) -> Stack:
        backoff = PollBackoff(self.heat, self.waiter.deadline)
        while True:
            marker = self.heat.last_event(stack.identity)
            try:
                self.heat.cancel_token.check()
                self._update_sent = True
                self.heat.update(stack, body, existing=existing)
                return self.waiter.wait_complete(stack.identity, marker)
            except api_errors.Conflict:  # an earlier update is in progress
                if self.waiter.deadline.passed:
                    raise
                self.waiter.wait_idle(stack.identity, marker)
                backoff.wait()

    def remove(self, stack: Stack) -> None:
        """Delete a stack, and wait until it is deleted.

        :raises InfraError: Heat failed, or the timeout is over
        """
        if stack.status != "DELETE_IN_PROGRESS":
            try:
                self.heat.delete(stack)
            except errors.VimRejected:  # also if it was deleted just now
                if self.find() is not None:
                    raise
        self.waiter.wait_deleted(stack)

    @contextlib.contextmanager
    def marked(self, resources: Sequence[Resource]) -> Iterator[None]:
        """Mark resources unhealthy, so that the next update replaces them;
        wait for those that are in progress.

        If this block requests no update, or Heat rejects it, the marks are
        removed: else any later update of the stack would replace the
        resources. They remain if the update fails or has no response: it may
        have started.

        :raises Conflict: a resource is still in progress at the timeout
        """
        marked: list[Resource] = []
        self._update_sent = False
        try:
            for resource in resources:
                marked.append(resource)
                self.mark(resource)
            yield
        except errors.VnfmError as error:
            if not self._update_sent or isinstance(error, errors.VimRejected):
                self.unmark(marked)
            raise

    def mark(self, resource: Resource) -> None:
        """Mark a resource unhealthy: the next update by any client replaces
        it.

        :raises Conflict: the resource is still in progress at the timeout
        """
        backoff = PollBackoff(self.heat, self.waiter.deadline)
        while True:
            try:
                return self.heat.mark_unhealthy(resource, MARK_REASON)
            except api_errors.Conflict:
                if self.waiter.deadline.passed:
                    raise
                backoff.wait()

    def unmark(self, resources: Sequence[Resource]) -> None:
        """Remove marks; log a warning for those that remain."""
        for resource in resources:
            try:
                self.heat.mark_unhealthy(
                    resource, UNMARK_REASON, unhealthy=False
                )
            except errors.VnfmError as error:
                LOG.warning(
                    "Resource still marked unhealthy, the next update "
                    "replaces it: stack=%s resource=%s error=%s",
                    resource.stack,
                    resource.name,
                    error,
                )

    def vnfcs(self, stack: Stack) -> list[Vnfc]:
        """List the VNFCs by VDU, the last created first."""
        return inventory.vnfcs(self.heat.tree(stack), self.flavour)

    def result(
        self,
        stack: Stack,
        find_deleted: Callable[[Tree], Collection[str]] = lambda _: (),
    ) -> Observed:
        """Build the instantiatedVnfInfo of a stack.

        :param find_deleted: returns the ids of resources in the tree that do
            not exist any more
        """
        tree = self.heat.tree(stack)
        found = inventory.build_result(
            stack,
            tree.without(find_deleted(tree)),
            self._state,
            self.flavour,
            self._location,
            self.heat.ports(stack),
        )
        return msgspec.structs.replace(
            found,
            metadata={**found.metadata, **userdata.kept_names(self._task)},
        )

    def result_without_stack(self) -> Observed:
        """Build the instantiatedVnfInfo of a VNF whose stack is deleted."""
        info = self._task.instance.instantiated_vnf_info
        return inventory.build_result_without_stack(
            self._state,
            self.flavour,
            self._location,
            info.metadata if info else {},
        )

    def checked_result(self, stack: Stack) -> Observed:
        """Build the instantiatedVnfInfo of a complete stack.

        :raises NotReady: the stack has fewer VNFCs than the desired state
        """
        result = self.result(stack)
        found = collections.Counter(
            vnfc.vdu_id for vnfc in result.vnfc_resource_info
        )
        missing = [
            f"{found[vdu]} of {self._state.counts[vdu]} VNFCs of VDU {vdu}"
            for vdu in self.flavour.vdus
            if found[vdu] < self._state.counts.get(vdu, 0)
        ]
        if missing:
            raise errors.NotReady(
                f"Stack {stack.name} is {stack.status}, but has only "
                f"{', '.join(missing)}; check that template and user data "
                "create all of them."
            )
        return result

    def coordinate(
        self, scripts: Coordination, stack: Stack, checked_result: Observed
    ) -> None:
        """Run the coordination script, if any, for each VNFC of the VDUs in
        the request.

        :raises InfraError: the resource in "cp_name" is not in the stack or
            has no address
        :raises ScriptFailed: the script failed
        """
        if not scripts.has_script:
            return
        tree = self.heat.tree(stack)
        for vnfc in checked_result.vnfc_resource_info:
            if scripts.vdus and vnfc.vdu_id not in scripts.vdus:
                continue
            self.heat.cancel_token.check()
            name = scripts.vnfc_params(vnfc.vdu_id).get("cp_name")
            address = self._address(tree, vnfc, name) if name else None
            scripts.run(vnfc, address, checked_result)

    def _address(self, tree: Tree, vnfc: VnfcResourceInfo, name: str) -> str:
        servers = tree.of_type(inventory.SERVER)
        server = next(s for s in servers if s.physical_id == vnfc.id)
        resource = tree.find_for_server(str(name), server)
        address = self.heat.address(resource) if resource else None
        if address is None:
            raise errors.InfraError(
                f'additionalParams.vdu_params, "cp_name" of VDU {vnfc.vdu_id}'
                f": stack {server.stack} of VNFC {vnfc.id} has no resource "
                f"{name!r} with an address. Roll back, and set the name of a "
                "port or floating IP."
            )
        return address

    @property
    def _state(self) -> State:
        return self._task.change.state

    def _template_for(
        self, stack: Stack, fields: StackFields
    ) -> tuple[str | None, Mapping[str, str]]:
        """Return the template and its files; None: the current template."""
        if fields.template is None or not fields.existing:
            return fields.template, fields.files
        return fields.full_template(*self.heat.template(stack))

    def _merged_parameters(self, fields: StackFields) -> dict[str, Any]:
        """Return the parameters; with ``fields.existing``, "nfv" is merged
        into its value before the operation.
        """
        parameters = dict(fields.parameters)
        info = self._task.instance.instantiated_vnf_info
        previous_nfv = info.metadata.get("nfv") if info else None
        if fields.existing and isinstance(previous_nfv, Mapping):
            parameters["nfv"] = merge.patched(
                previous_nfv, parameters.get("nfv", {})
            )
        return parameters

    def update_body(self, stack: Stack, fields: StackFields) -> dict[str, Any]:
        """Return the fields of an update, as Heat names them."""
        template, files = self._template_for(stack, fields)
        return self._body(template, files, self._merged_parameters(fields))

    def _body(
        self,
        template: str | None,
        files: Mapping[str, str],
        parameters: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the fields of a request to create or update the stack.

        :raises VimPolicyViolation: the policy does not allow the template
        """
        body: dict[str, Any] = {
            "parameters": dict(parameters),
            "timeout_mins": self._timeout_minutes(),
            "tags": stack_names.mark_of(self._task.instance.id),
        }
        if template is not None:
            if self._policy:
                self._policy.check(template, files, had=self._templates())
            body |= {"template": template, "files": dict(files)}
        return body

    def _templates(self) -> Iterator[Template]:
        """Yield the templates by which a rollback may have what the policy
        does not allow any more; none if this is not a rollback.
        """
        if self._had is None:
            return
        yield from self._had
        stack = self.find()
        if stack is not None and stack.action != "DELETE":
            yield self.heat.template(stack)

    def _timeout_minutes(self) -> int:
        """Return timeout_mins for Heat: the remaining time, at least 1."""
        return max(math.ceil(self.waiter.deadline.remaining / 60), 1)
