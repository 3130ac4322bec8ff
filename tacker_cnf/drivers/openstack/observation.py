"""Reads the stack of a VNF for an exact plan, and has Heat check what the plan
would send.

Heat's preview of an update reports resources as replaced whose properties
refer to other resources; so only its verdict is used, and the changes are
those of the parameters, the template and its files.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask, TaskContext
from tacker_cnf.drivers.openstack import (
    healing,
    inventory,
    operational_state,
    scale_in,
    server_deletion,
    stack_changes,
)
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.nova import Nova
from tacker_cnf.drivers.openstack.stack_fields import StackFields, read
from tacker_cnf.drivers.openstack.stack_task import StackTask
from tacker_cnf.drivers.openstack.stacks import Resource, Stack, Tree
from tacker_cnf.lcm.change import State
from tacker_cnf.lcm.vnf_plan import FieldChange
from tacker_cnf.vnfd.base_hot import BaseHot


@dataclasses.dataclass(frozen=True, kw_only=True)
class ObservedStack:
    """The stack of a VNF, and what a change does to it."""

    exists: bool
    #: whether its last creation, update or deletion has failed
    has_failed: bool = False
    #: whether it is deleted before a new one is created
    is_removed: bool = False
    #: the resources in it and its nested stacks
    resources: tuple[Resource, ...] = ()
    #: the VNFCs in it
    vnfcs: tuple[Vnfc, ...] = ()
    #: (type, name) of the resources that a new stack gets
    created: tuple[tuple[str, str], ...] = ()
    #: VDU -> number of its new VNFCs
    added: Mapping[str, int] = dataclasses.field(default_factory=dict)
    removed: tuple[Vnfc, ...] = ()
    #: ids of the resources that are not in its new template
    obsolete: frozenset[str] = frozenset()
    #: ids of the servers and volumes that a heal replaces
    replaced: frozenset[str] = frozenset()
    #: ids of the servers that are started or stopped
    switched: frozenset[str] = frozenset()
    #: of the template and its parameters
    changes: tuple[FieldChange, ...] = ()
    #: what may make the change fail, as sentences
    warnings: tuple[str, ...] = ()


class StackObserver:
    """Reads the stack of one task; changes nothing."""

    def __init__(
        self,
        task: InfraTask,
        context: TaskContext,
        stack_task: StackTask,
        nova: Nova,
    ) -> None:
        self._change = task.change
        self._grant_request = task.grant_request
        self._context = context
        self._stack_task = stack_task
        self._nova = nova

    def observe(self, stack: Stack | None) -> ObservedStack:
        """Read the stack alone, for its deletion or replacement."""
        if stack is None:
            return ObservedStack(exists=False)
        return self._of_tree(self._stack_task.heat.tree(stack))

    def _of_tree(self, tree: Tree) -> ObservedStack:
        return ObservedStack(
            exists=True,
            resources=tuple(r for r in tree.resources if r.physical_id),
            vnfcs=tuple(inventory.vnfcs(tree, self._stack_task.flavour)),
        )

    def observe_creation(
        self,
        stack: Stack | None,
        fields: StackFields,
        base_hot: BaseHot,
        former: str | None = None,
    ) -> ObservedStack:
        """Observe the creation of the stack, which an earlier attempt may have
        begun.

        :param former: id of the stack that a heal deletes before
        """
        found = self.observe(stack)
        if stack is not None:
            if stack.action == "DELETE" or stack.id == former:
                return dataclasses.replace(found, is_removed=True)
            body = self._stack_task.update_body(stack, fields)
            return dataclasses.replace(
                found,
                changes=tuple(self._changes(stack, body)),
                warnings=tuple(self._verdict(stack, fields, body)),
            )
        created: Sequence[tuple[str, str]] = ()
        warnings: tuple[str, ...] = ()
        try:
            created = self._stack_task.preview_creation(fields, base_hot)
        except errors.VimRejected as error:
            warnings = (f"Heat would reject the stack: {error}",)
        return dataclasses.replace(
            found, created=tuple(created), warnings=warnings
        )

    def observe_update(
        self, stack: Stack, fields: StackFields
    ) -> ObservedStack:
        """Observe an update of the stack, which may scale it."""
        tree = self._stack_task.heat.tree(stack)
        found = self._of_tree(tree)
        body = self._stack_task.update_body(stack, fields)
        obsolete = _obsolete(body, tree)
        kept = [v for v in found.vnfcs if v.id not in obsolete]
        desired = self._change.state
        counts = Counter(vnfc.vdu_id for vnfc in kept)
        added = {
            vdu: count - counts[vdu]
            for vdu, count in desired.counts.items()
            if count > counts[vdu]
        }
        return dataclasses.replace(
            found,
            has_failed=stack.has_failed,
            added=added,
            obsolete=obsolete,
            removed=tuple(self._removed(kept, desired)),
            changes=tuple(self._changes(stack, body)),
            warnings=tuple(self._verdict(stack, fields, body)),
        )

    def _removed(
        self, vnfcs: Sequence[Vnfc], desired: State
    ) -> Iterator[Vnfc]:
        return scale_in.vnfcs_to_remove(
            list(vnfcs), desired, self._grant_request
        )

    def observe_heal(self, stack: Stack, fields: StackFields) -> ObservedStack:
        """Observe the replacement of servers.

        :raises InfraError: a VNFC is not in the stack
        """
        found = self.observe(stack)
        body = self._stack_task.update_body(stack, fields)
        warnings = [*self._verdict(stack, fields, body)]
        if stack.action == "SUSPEND":
            warnings.append(
                f"Stack {stack.name} is suspended. The heal resumes it."
            )
        to_replace = healing.ids_to_replace(
            found.vnfcs, self._change, self._context
        )
        first = server_deletion.servers_to_delete_first(
            self._nova,
            [r for r in found.resources if r.physical_id in to_replace],
        )
        if first:
            names = ", ".join(server.physical_id for server in first)
            warnings.append(
                f"Server {names} is deleted before its replacement is "
                "created, as a volume can be attached to one server only."
            )
        return dataclasses.replace(
            found,
            replaced=to_replace,
            changes=tuple(self._changes(stack, body)),
            warnings=tuple(warnings),
        )

    def observe_operational_state(self, stack: Stack) -> ObservedStack:
        """Observe the start or the stop of the servers.

        :raises InfraError: the servers cannot be read
        """
        found = self.observe(stack)
        switched = operational_state.vnfcs_to_switch(
            self._nova, found.vnfcs, self._change
        )
        return dataclasses.replace(
            found, switched=frozenset(vnfc.id for vnfc in switched)
        )

    def _changes(
        self, stack: Stack, body: Mapping[str, Any]
    ) -> Iterator[FieldChange]:
        """Compare template and parameters of the stack with those of an
        update.
        """
        template, files = self._stack_task.heat.template(stack)
        templates = [template]
        if new := body.get("template"):
            templates.append(new)
            yield from stack_changes.compare_templates(
                template, new, "template"
            )
            yield from stack_changes.compare_files(files, body["files"])
        yield from stack_changes.compare_parameters(
            {"nfv": {}, **stack.parameters},
            body["parameters"],
            self._stack_task.public_names,
            *templates,
        )

    def _verdict(
        self, stack: Stack, fields: StackFields, body: Mapping[str, Any]
    ) -> Iterator[str]:
        """Return why Heat would reject an update, if it would."""
        if stack.is_busy:  # which the update awaits
            return
        try:
            self._stack_task.heat.preview(
                stack, body, existing=fields.existing
            )
        except errors.VimRejected as error:
            yield f"Heat would reject the update of the stack: {error}"


def _obsolete(body: Mapping[str, Any], tree: Tree) -> frozenset[str]:
    """Return the ids of what the new template of a stack lacks."""
    if "template" not in body:
        return frozenset()
    wanted = read(body["template"]).get("resources") or {}
    return frozenset(
        resource.physical_id
        for resource in tree.resources
        if tree.ancestors(resource)[-1].name not in wanted
    )
