"""Heals a VNF: replaces servers in its stack, or recreates the stack."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import Checkpoint, InfraTask, TaskContext
from tacker_cnf.drivers.openstack import (
    inventory,
    request_validation,
    server_deletion,
)
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.stack_fields import StackFields
from tacker_cnf.drivers.openstack.stack_task import StackTask
from tacker_cnf.drivers.openstack.stacks import Stack
from tacker_cnf.lcm.change import ALL, Change
from tacker_cnf.vnfd import bounded_yaml
from tacker_cnf.vnfd.base_hot import BaseHot

#: end of the error when a server is not in the stack
_HINT: Final = (
    "Fail this operation, synchronize the VNF instance (POST .../sync), and "
    "heal by the new ids."
)


class ResourcesToReplace(Checkpoint, frozen=True):
    """The servers and volumes that a heal of VNFCs deletes."""

    ids: frozenset[str]


class PreviousStack(Checkpoint, frozen=True):
    """A stack before a heal of the whole VNF recreates it, or before its
    flavour changes.
    """

    #: None: it did not exist
    stack_id: str | None
    template: str
    files: dict[str, str]
    #: without "nfv", which the VNF instance has, and without hidden ones
    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)


def replaces_whole_vnf(
    change: Change, context: TaskContext, *, default: bool
) -> bool:
    """Return whether to recreate the whole stack instead of servers.

    :param default: result for a heal of all VNFCs without
        ``additionalParams.all``
    """
    # a retry continues as the first attempt started
    if context.saved_checkpoint is not None and change.replace == ALL:
        return context.checkpoint(PreviousStack) is not None
    return request_validation.heals_stack(change, default=default)


def replace_servers(
    stack_task: StackTask,
    nova: server_deletion.Servers,
    change: Change,
    context: TaskContext,
    fields: StackFields,
) -> Stack:
    """Replace the servers of the VNFCs to heal, and their volumes with
    additionalParams.all; without any VNFC in the request, all servers.

    The ids to delete are saved in the checkpoint before they are marked, so
    that a retry does not replace resources created by an earlier attempt. A
    server that keeps volumes is deleted before the update creates its
    replacement, unless Heat would reject the update.

    :raises InfraError: a VNFC is not in the stack, or Heat failed
    """
    stack = stack_task.existing()
    found = stack_task.vnfcs(stack)
    ids = ids_to_replace(found, change, context)
    if context.checkpoint(ResourcesToReplace) is None:
        context.save_checkpoint(ResourcesToReplace(ids))
    to_replace = [
        resource
        for vnfc in found
        for resource in (vnfc.server, *vnfc.volumes.values())
        if resource.physical_id in ids
    ]
    first = server_deletion.servers_to_delete_first(nova, to_replace)
    if first:
        stack_task.check(stack, fields)
    with stack_task.marked([r for r in to_replace if r not in first]):
        server_deletion.delete_and_wait(stack_task, nova, first)
        return stack_task.apply_with_fallback_zones(
            stack_task.update_current, fields
        )


def ids_to_replace(
    found: Sequence[Vnfc], change: Change, context: TaskContext
) -> frozenset[str]:
    """Return the ids of the servers and volumes that a heal replaces, by the
    checkpoint of an earlier attempt, if there is one.

    :param found: the VNFCs in the stack
    :raises InfraError: a VNFC is not in the stack
    """
    checkpoint = context.checkpoint(ResourcesToReplace)
    if checkpoint is not None:
        return checkpoint.ids
    return frozenset(_ids_to_delete(_select_vnfcs(found, change), change))


def _select_vnfcs(found: Sequence[Vnfc], change: Change) -> Sequence[Vnfc]:
    """Return the VNFCs to heal.

    :raises InfraError: one of them is not in the stack
    """
    if change.replace == ALL:
        return found
    by_id = {vnfc.id: vnfc for vnfc in found}
    server_ids = [vnfc.compute_resource.resource_id for vnfc in change.replace]
    missing = [name for name in server_ids if name not in by_id]
    if missing:
        raise errors.InfraError(
            f"Server {', '.join(missing)} is not in the stack of the VNF "
            f"instance. {_HINT}"
        )
    return [by_id[name] for name in server_ids]


def _ids_to_delete(vnfcs: Iterable[Vnfc], change: Change) -> Iterable[str]:
    with_storages = (
        change.replace != ALL
        and request_validation.read_heal_parameters(change.parameters).all
    )
    for vnfc in vnfcs:
        yield vnfc.id
        if with_storages:
            yield from (v.physical_id for v in vnfc.volumes.values())


def recreate(
    stack_task: StackTask,
    task: InfraTask,
    context: TaskContext,
    fields: StackFields,
    base_hot: BaseHot,
) -> Stack:
    """Delete the stack and create it again, with a new id, from its template
    as changed or replaced by user data.

    :raises InfraError: Heat failed, or template or parameters of the stack
        are lost
    """
    found = stack_task.find()
    previous, recreate_fields = recreation(
        stack_task, task, context, found, fields, base_hot
    )
    if context.checkpoint(PreviousStack) is None:
        context.save_checkpoint(previous)
    if found is not None and found.id == previous.stack_id:
        stack_task.remove(found)
    return stack_task.apply_with_fallback_zones(
        lambda stack_fields: stack_task.create_or_update(
            stack_fields, base_hot
        ),
        recreate_fields,
    )


def recreation(
    stack_task: StackTask,
    task: InfraTask,
    context: TaskContext,
    found: Stack | None,
    fields: StackFields,
    base_hot: BaseHot,
) -> tuple[PreviousStack, StackFields]:
    """Return the stack that a heal deletes, and the fields of the new one.

    :param found: the present stack, which may be the new one
    :raises InfraError: template or parameters of the stack are lost
    """
    previous = context.checkpoint(PreviousStack) or _previous_state(
        stack_task, task, found, base_hot, fields
    )
    return previous, _recreate_fields(previous, fields)


def _previous_state(
    stack_task: StackTask,
    task: InfraTask,
    found: Stack | None,
    base_hot: BaseHot,
    fields: StackFields,
) -> PreviousStack:
    # the template of a stack that is being deleted is empty
    if found is None or found.action == "DELETE":
        if fields.template is None or fields.existing:
            _check_template_is_packages(stack_task, task)
        stack_id = found.id if found else None
        return PreviousStack(stack_id, base_hot.template, dict(base_hot.files))
    return read_previous(stack_task, found)


def read_previous(stack_task: StackTask, found: Stack) -> PreviousStack:
    """Read what is needed to restore a stack."""
    template, files = stack_task.heat.template(found)
    parameters = {
        name: value
        for name, value in found.parameters.items()
        if name != "nfv" and value is not None
    }
    return PreviousStack(found.id, template, dict(files), parameters)


def restored_fields(task: InfraTask, context: TaskContext) -> StackFields:
    """Return the fields of the stack before its flavour changed.

    :raises InfraError: the value of a hidden parameter is unknown
    """
    previous = context.checkpoint(PreviousStack)
    if previous is None:
        return StackFields()  # the stack was not updated
    info = task.instance.instantiated_vnf_info
    nfv = info.metadata.get("nfv") if info else None
    fields = StackFields(parameters={"nfv": nfv} if nfv else {})
    restored = _recreate_fields(previous, fields)
    return dataclasses.replace(restored, existing=False)


def _check_template_is_packages(
    stack_task: StackTask, task: InfraTask
) -> None:
    """Check that the template of a deleted stack was that of the package.

    :raises InfraError: user data had changed it
    """
    info = task.instance.instantiated_vnf_info
    if info is None:
        return
    vdus = (info.metadata.get("nfv") or {}).get("VDU") or {}
    numbered = [
        name
        for name in vdus
        if inventory.parse_vdu_name(name, stack_task.flavour)[1] is not None
    ]
    managed = info.ext_managed_virtual_link_info
    if numbered or managed:
        changed = ", ".join(numbered) or "externally managed virtual links"
        raise errors.InfraError(
            f"Stack {stack_task.name} is deleted, and with it its template, "
            f"which differs from the VNF package's: user data had added "
            f"{changed}. Terminate the VNF instance and instantiate it again, "
            "or heal it with user data that returns a complete template."
        )


def _recreate_fields(
    previous: PreviousStack, fields: StackFields
) -> StackFields:
    """Return the fields of the stack that replaces a previous one.

    :raises InfraError: the value of a hidden parameter is unknown
    :raises InvalidPackage: the template patch of user data is not valid
    """
    template, files = fields.full_template(previous.template, previous.files)
    recreate_fields = dataclasses.replace(
        fields, template=template, files=files
    )
    if not fields.existing:
        return recreate_fields
    reused, hidden = {}, []
    for name, schema in _template_parameters(
        str(recreate_fields.template)
    ).items():
        if name in fields.parameters:
            continue
        if isinstance(schema, Mapping) and schema.get("hidden"):
            hidden.append(name)
        elif name in previous.parameters:
            reused[name] = previous.parameters[name]
    if hidden:
        raise errors.InfraError(
            f"Parameter {', '.join(hidden)} of the stack is hidden, and Heat "
            "does not return it: only user data that sets it can recreate "
            "the stack, and a change of flavour has no rollback."
        )
    return dataclasses.replace(
        recreate_fields, parameters={**reused, **fields.parameters}
    )


def _template_parameters(template: str) -> Mapping[str, Any]:
    """Return the parameters section of a template: name -> schema."""
    read = bounded_yaml.load(template, "the template")
    parameters = read.get("parameters") if isinstance(read, Mapping) else None
    return parameters if isinstance(parameters, Mapping) else {}
