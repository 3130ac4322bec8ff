"""The actions of a plan: what it does to the stack and its servers."""

from collections.abc import Iterator

from tacker_cnf.drivers.base import Action, ActionType, InfraTask
from tacker_cnf.drivers.openstack import inventory, request_validation
from tacker_cnf.drivers.openstack.stack_task import stack_name
from tacker_cnf.lcm.change import ALL, Change
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo

STACK = "OS::Heat::Stack"


def list_actions(task: InfraTask, *, heals_stack: bool) -> Iterator[Action]:
    """List what a plan does, in the order of its execution.

    :param heals_stack: whether a heal of the whole VNF creates the stack
        again, unless the request says otherwise
    """
    change = task.change
    if change.desired is None:
        yield _of_stack(task, ActionType.DELETE, "the VNF shall have no stack")
    elif request_validation.heals_stack(change, default=heals_stack):
        reason = "the whole VNF is healed"
        yield _of_stack(task, ActionType.RECREATE, reason)
    elif change.replace:
        for vnfc in _vnfcs_to_replace(change):
            yield from _list_replacement(task, vnfc)
    elif change.current is None:
        yield _of_stack(task, ActionType.CREATE, "the VNF is instantiated")
    elif task.has_operation:
        yield _of_stack(task, ActionType.PATCH, _update_reason(task))


def _of_stack(task: InfraTask, kind: ActionType, reason: str) -> Action:
    name = stack_name(task.instance.id)
    return Action(type=kind, kind=STACK, name=name, reason=reason)


def _vnfcs_to_replace(change: Change) -> tuple[VnfcResourceInfo, ...]:
    if change.replace == ALL:
        return change.state.vnfcs or ()
    return change.replace


def _list_replacement(
    task: InfraTask, vnfc: VnfcResourceInfo
) -> Iterator[Action]:
    """List the replacement of a server, and of its volumes if they are healed
    too.
    """
    resources = [(inventory.SERVER, vnfc.compute_resource.resource_id)]
    info = task.instance.instantiated_vnf_info
    if info and _replaces_storages(task.change):
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
            reason="the VNFC is healed",
            vdu_id=vnfc.vdu_id,
            vnfc_id=vnfc.id,
        )


def _replaces_storages(change: Change) -> bool:
    params = request_validation.read_heal_parameters(change.parameters)
    return change.replace != ALL and bool(params.all)


def _update_reason(task: InfraTask) -> str:
    change = task.change
    assert change.current is not None
    assert change.desired is not None
    before, after = change.current.counts, change.desired.counts
    reasons = [
        f"VDU {vdu} has {after.get(vdu, 0)} VNFCs instead of "
        f"{before.get(vdu, 0)}"
        for vdu in sorted({*before, *after})
        if before.get(vdu, 0) != after.get(vdu, 0)
    ]
    if task.current_package:
        reasons.append("the VNF package changes")
    if change.moves_links:
        reasons.append("connection points move to other external links")
    return ", and ".join(reasons) or "the state before is restored"


def list_warnings(task: InfraTask, *, heals_stack: bool) -> Iterator[str]:
    """List what a plan ignores, interrupts or loses."""
    change = task.change
    names = list(task.vim_connections)
    if names[1:] and change.current is None:
        yield (
            "Several VIM connections given, a stack is on the first: "
            f"used={names[0]} ignored={','.join(names[1:])}"
        )
    if change.desired is None:
        yield "The volumes of the stack are deleted with their data."
    elif request_validation.heals_stack(change, default=heals_stack):
        yield (
            "The volumes of the stack are deleted with their data, and the "
            "VNF is out of service until the new stack is complete."
        )
    elif change.replace and _replaces_storages(change):
        yield "The volumes of the VNFCs are deleted with their data."
