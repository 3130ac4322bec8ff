"""The actions of a plan: what it does to the stack and its resources, and
why.
"""

import dataclasses
from collections.abc import Iterable, Iterator

from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack import (
    inventory,
    request_validation,
    stack_names,
)
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.observation import ObservedStack
from tacker_cnf.drivers.openstack.operational_state import POWER_STATES
from tacker_cnf.drivers.openstack.stacks import Resource
from tacker_cnf.lcm.change import ALL, flavour_of
from tacker_cnf.lcm.vnf_plan import Action, ActionType, FieldChange
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

STACK = "OS::Heat::Stack"
#: kind of a VirtualStorage that is a volume
BLOCK = "block"
HEALED = "the VNFC is healed"
IN_STACK = "it is in the stack"


@dataclasses.dataclass(frozen=True)
class StackPlan:
    """What a task does to a stack."""

    task: InfraTask
    #: whether a heal creates the whole stack again
    heals_stack: bool
    #: None: plan by the request and the package alone
    observed: ObservedStack | None = None

    def list_actions(self) -> Iterator[Action]:
        """List what the plan does, in the order of its execution; then the
        resources that it leaves as they are.
        """
        listed = tuple(self._list_changes())
        yield from listed
        changed = {action.name for action in listed}
        for resource in self.observed.resources if self.observed else ():
            if resource.physical_id not in changed:
                reason = "the plan does not concern it"
                yield _of_resource(ActionType.UNCHANGED, resource, reason)

    def _list_changes(self) -> Iterator[Action]:
        change = self.task.change
        if change.desired is None:
            reason = "the VNF shall have no stack"
            yield from self._list_whole(ActionType.DELETE, reason)
        elif self.heals_stack:
            yield from self._list_creation("the whole VNF is healed")
        elif change.replace:
            yield from self._list_heal()
        elif change.current is None:
            yield from self._list_creation("the VNF is instantiated")
        elif change.operates:
            yield from self._list_switched()
        elif self.task.has_operation:
            yield from self._list_update()

    def _of_stack(
        self,
        kind: ActionType,
        reason: str,
        changes: tuple[FieldChange, ...] = (),
    ) -> Action:
        instance = self.task.instance
        name = stack_names.recorded_name(
            instance
        ) or stack_names.requested_name(instance)
        return Action(
            type=kind, kind=STACK, name=name, reason=reason, changes=changes
        )

    def _list_whole(self, kind: ActionType, reason: str) -> Iterator[Action]:
        """List the deletion or replacement of the stack and all in it."""
        observed = self.observed
        if observed is None or observed.exists:
            yield self._of_stack(kind, reason)
        for resource in observed.resources if observed else ():
            yield _of_resource(kind, resource, IN_STACK)

    @property
    def _removes_stack(self) -> bool:
        """Whether the stack is deleted before a new one is created."""
        return self.observed.is_removed if self.observed else self.heals_stack

    def _list_creation(self, reason: str) -> Iterator[Action]:
        """List the creation of the stack, or the update of one that an earlier
        attempt has created.
        """
        observed = self.observed
        if self._removes_stack:
            yield from self._list_whole(ActionType.RECREATE, reason)
            return
        exists = observed is not None and observed.exists
        kind = ActionType.PATCH if exists else ActionType.CREATE
        changes = observed.changes if observed else ()
        yield self._of_stack(kind, reason, changes)
        for type_, name in observed.created if observed else ():
            yield Action(
                type=ActionType.CREATE, kind=type_, name=name, reason=IN_STACK
            )

    def _list_heal(self) -> Iterator[Action]:
        if self.observed is None:
            for vnfc in self._vnfcs_to_replace():
                yield from self._list_replacement(vnfc)
            return
        if changes := self.observed.changes:
            reason = "the heal updates it"
            yield self._of_stack(ActionType.PATCH, reason, changes)
        for found in self.observed.vnfcs:
            for resource in (found.server, *found.volumes.values()):
                if resource.physical_id in self.observed.replaced:
                    yield _of_vnfc(
                        ActionType.RECREATE, resource, found, HEALED
                    )

    def _vnfcs_to_replace(self) -> tuple[VnfcResourceInfo, ...]:
        change = self.task.change
        if change.replace == ALL:
            return change.state.vnfcs or ()
        return change.replace

    def _list_replacement(self, vnfc: VnfcResourceInfo) -> Iterator[Action]:
        """List the replacement of a server, and of its volumes if they are
        healed too.
        """
        resources = [(inventory.SERVER, vnfc.compute_resource.resource_id)]
        info = self.task.instance.instantiated_vnf_info
        if info and self._replaces_storages:
            resources += [
                (inventory.VOLUME, storage.storage_resource.resource_id)
                for storage in info.virtual_storage_resource_info
                if storage.id in vnfc.storage_resource_ids
            ]
        for kind, resource_id in resources:
            yield Action(
                type=ActionType.RECREATE,
                kind=kind,
                name=resource_id,
                reason=HEALED,
                vdu_id=vnfc.vdu_id,
                vnfc_id=vnfc.id,
            )

    @property
    def _replaces_storages(self) -> bool:
        change = self.task.change
        params = request_validation.read_heal_parameters(change.parameters)
        return change.replace != ALL and bool(params.all)

    def _list_update(self) -> Iterator[Action]:
        observed = self.observed
        reason = self._update_reason()
        if observed is None:
            yield self._of_stack(ActionType.PATCH, reason)
            return
        if (
            observed.changes
            or observed.added
            or observed.removed
            or observed.obsolete
            or observed.has_failed
        ):
            yield self._of_stack(ActionType.PATCH, reason, observed.changes)
        yield from self._list_created(observed)
        yield from _list_deleted(observed)
        yield from _list_patches(observed)

    def _list_created(self, observed: ObservedStack) -> Iterator[Action]:
        flavour = flavour_of(
            self.task.package.vnfd, self.task.change.state.flavour_id
        )
        for vdu, count in observed.added.items():
            volumes = [
                (inventory.VOLUME, name)
                for name in flavour.vdus[vdu].storages
                if flavour.storages[name].kind == BLOCK
            ]
            for kind, name in [(inventory.SERVER, vdu), *volumes] * count:
                yield Action(
                    type=ActionType.CREATE,
                    kind=kind,
                    name=name,
                    reason="the VDU has too few VNFCs",
                    vdu_id=vdu,
                )

    def _list_switched(self) -> Iterator[Action]:
        """List the servers that are started or stopped."""
        change, observed = self.task.change, self.observed
        assert change.current is not None
        before, after = (
            POWER_STATES[state.vnf_state].status
            for state in (change.current, change.state)
        )
        info = self.task.instance.instantiated_vnf_info
        for vnfc in info.vnfc_resource_info if info else ():
            server_id = vnfc.compute_resource.resource_id
            if observed is None or server_id in observed.switched:
                yield Action(
                    type=ActionType.PATCH,
                    kind=inventory.SERVER,
                    name=server_id,
                    reason=f"the VNF is {change.state.vnf_state}",
                    vdu_id=vnfc.vdu_id,
                    vnfc_id=vnfc.id,
                    changes=(
                        FieldChange(path="status", before=before, after=after),
                    ),
                )

    def _update_reason(self) -> str:
        change = self.task.change
        assert change.current is not None
        assert change.desired is not None
        before, after = change.current.counts, change.desired.counts
        reasons = [
            f"VDU {vdu} is scaled from {before.get(vdu, 0)} to "
            f"{after.get(vdu, 0)} VNFCs"
            for vdu in sorted({*before, *after})
            if before.get(vdu, 0) != after.get(vdu, 0)
        ]
        if self.task.current_package:
            reasons.append("the VNF package changes")
        if change.changes_flavour:
            reasons.append("the flavour changes")
        if change.moves_links:
            reasons.append("connection points move to other external links")
        return ", and ".join(reasons) or "the state before is restored"

    def list_warnings(self) -> Iterator[str]:
        """List what the plan ignores, interrupts or loses, and what may make
        it fail.
        """
        change = self.task.change
        names = list(self.task.vim_connections)
        if names[1:] and change.current is None:
            yield (
                "Several VIM connections given, a stack is on the first: "
                f"used={names[0]} ignored={','.join(names[1:])}"
            )
        if change.operates and change.state.is_stopped:
            yield "The VNF is out of service until it is started."
        if change.desired is None:
            yield "The volumes of the stack are deleted with their data."
        elif self._removes_stack:
            yield (
                "The volumes of the stack are deleted with their data, and "
                "the VNF is out of service until the new stack is complete."
            )
        elif change.replace and self._replaces_storages:
            yield "The volumes of the VNFCs are deleted with their data."
        yield from self.observed.warnings if self.observed else ()


def _list_deleted(observed: ObservedStack) -> Iterator[Action]:
    for resource in observed.resources:
        if resource.physical_id in observed.obsolete:
            reason = "the new template does not have it"
            yield _of_resource(ActionType.DELETE, resource, reason)
    for vnfc in observed.removed:
        for resource in (vnfc.server, *vnfc.volumes.values()):
            reason = "the VDU has too many VNFCs"
            yield _of_vnfc(ActionType.DELETE, resource, vnfc, reason)


def _list_patches(observed: ObservedStack) -> Iterator[Action]:
    """List the servers of VDUs whose parameters change."""
    removed = {vnfc.id for vnfc in observed.removed} | observed.obsolete
    for vnfc in observed.vnfcs:
        changes = tuple(_changes_of(vnfc.vdu_id, observed.changes))
        if changes and vnfc.id not in removed:
            reason = "the parameters of its VDU differ"
            yield _of_vnfc(
                ActionType.PATCH, vnfc.server, vnfc, reason, changes
            )


def _changes_of(
    vdu: str, changes: Iterable[FieldChange]
) -> Iterator[FieldChange]:
    """Return the changes of parameters of a VDU, but not of its size."""
    prefix = f"parameters.nfv.VDU.{vdu}."
    return (
        change
        for change in changes
        if change.path.startswith(prefix)
        and change.path != f"{prefix}desired_capacity"
    )


def _of_vnfc(
    kind: ActionType,
    resource: Resource,
    vnfc: Vnfc,
    reason: str,
    changes: tuple[FieldChange, ...] = (),
) -> Action:
    return Action(
        type=kind,
        kind=resource.type,
        name=resource.physical_id,
        reason=reason,
        vdu_id=vnfc.vdu_id,
        vnfc_id=vnfc.id,
        changes=changes,
    )


def _of_resource(kind: ActionType, resource: Resource, reason: str) -> Action:
    return Action(
        type=kind,
        kind=resource.type,
        name=resource.physical_id,
        reason=reason,
    )
