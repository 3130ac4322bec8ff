"""Heals: servers that are made anew in their stack, or the whole stack."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack import (
    inventory,
    request_validation,
    server_deletion,
)
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.stack_fields import StackFields
from tacker_cnf.drivers.openstack.stack_task import StackTask
from tacker_cnf.drivers.openstack.stacks import Stack
from tacker_cnf.vnfd import bounded_yaml
from tacker_cnf.vnfd.base_hot import BaseHot

#: how notes begin: of the ids that are doomed, and of a Former
SERVERS_NOTE: Final = "servers"
STACK_NOTE: Final = "whole"
#: said in vain, where there is no server any more
_HINT: Final = (
    "Fail this operation, synchronize the VNF instance (POST .../sync), and "
    "heal by the new ids."
)


def replaces_whole_vnf(task: InfraTask, *, default: bool) -> bool:
    """Tell whether all of the VNF is to be made anew, and not only servers.

    :param default: what holds for the whole VNF when the request is silent
    """
    if task.vnfcs:
        return False
    if task.checkpoint:  # an earlier try has begun
        return task.checkpoint[0] == STACK_NOTE
    heal_all = request_validation.read_heal_parameters(task.parameters).all
    return default if heal_all is None else heal_all


def replace_servers(
    stack_task: StackTask,
    nova: server_deletion.Servers,
    task: InfraTask,
    fields: StackFields,
) -> Stack:
    """Make the servers of VNFCs anew, and with additionalParams.all their
    volumes; of the whole VNF, if none is named, all servers.

    What is doomed is noted before it is marked, so that another try touches
    none that an earlier one has made. A server whose volumes stay is deleted
    before there is another, unless Heat would refuse the update.

    :raises InfraError: a VNFC is no longer there, or Heat could not
    """
    stack = stack_task.existing()
    found = stack_task.vnfcs(stack)
    if task.checkpoint:
        to_delete = set(task.checkpoint[1:])
    else:
        to_delete = set(_ids_to_delete(_select_vnfcs(found, task), task))
        task.save_checkpoint((SERVERS_NOTE, *sorted(to_delete)))
    to_replace = [
        resource
        for vnfc in found
        for resource in (vnfc.server, *vnfc.volumes.values())
        if resource.physical_id in to_delete
    ]
    first = server_deletion.servers_to_delete_first(nova, to_replace)
    if first:
        stack_task.check(stack, fields)
    with stack_task.marked([one for one in to_replace if one not in first]):
        server_deletion.delete_and_wait(stack_task, nova, first)
        return stack_task.apply_with_fallback_zones(
            stack_task.update_current, fields
        )


def _select_vnfcs(found: Sequence[Vnfc], task: InfraTask) -> Sequence[Vnfc]:
    """Find the VNFCs that are to be healed.

    :raises InfraError: one of them is not in the stack any more
    """
    if not task.vnfcs:
        return found
    by_id = {vnfc.id: vnfc for vnfc in found}
    server_ids = [vnfc.compute_resource.resource_id for vnfc in task.vnfcs]
    missing = [name for name in server_ids if name not in by_id]
    if missing:
        raise errors.InfraError(
            f"Server {', '.join(missing)} is not in the stack of the VNF "
            f"instance any more. {_HINT}"
        )
    return [by_id[name] for name in server_ids]


def _ids_to_delete(vnfcs: Iterable[Vnfc], task: InfraTask) -> Iterable[str]:
    with_storages = (
        task.vnfcs
        and request_validation.read_heal_parameters(task.parameters).all
    )
    for vnfc in vnfcs:
        yield vnfc.id
        if with_storages:
            yield from (v.physical_id for v in vnfc.volumes.values())


class PreviousState(msgspec.Struct, frozen=True):
    """A stack that is to be made anew, as it is noted before it goes."""

    #: None: it had gone by itself
    stack_id: str | None
    template: str
    files: dict[str, str]
    #: without "nfv", which the instance knows; Heat tells none that is hidden
    parameters: dict[str, Any] = {}


def recreate(
    stack_task: StackTask,
    task: InfraTask,
    fields: StackFields,
    base_hot: BaseHot,
) -> Stack:
    """Delete the stack, and create it again of the same template, with what
    user data changes of it, or of the one that user data gives: it gets a new
    id.

    :raises InfraError: Heat could not, or nobody knows any more what the
        stack was made of
    """
    found = stack_task.find()
    if task.checkpoint:
        previous = msgspec.json.decode(task.checkpoint[1], type=PreviousState)
        recreate_fields = _recreate_fields(previous, fields)
    else:
        previous = _previous_state(stack_task, task, found, base_hot, fields)
        recreate_fields = _recreate_fields(previous, fields)
        task.save_checkpoint(
            (STACK_NOTE, msgspec.json.encode(previous).decode())
        )
    if found is not None and found.id == previous.stack_id:
        stack_task.remove(found)
    return stack_task.apply_with_fallback_zones(
        lambda stack_fields: stack_task.create_or_update(
            stack_fields, base_hot
        ),
        recreate_fields,
    )


def _previous_state(
    stack_task: StackTask,
    task: InfraTask,
    found: Stack | None,
    base_hot: BaseHot,
    fields: StackFields,
) -> PreviousState:
    # Heat gives one that it deletes an empty template
    if found is None or found.action == "DELETE":
        if fields.template is None or fields.existing:
            _check_template_is_packages(stack_task, task)
        stack_id = found.id if found else None
        return PreviousState(stack_id, base_hot.template, dict(base_hot.files))
    template, files = stack_task.heat.template(found)
    parameters = {
        name: value
        for name, value in found.parameters.items()
        if name != "nfv" and value is not None
    }
    return PreviousState(found.id, template, dict(files), parameters)


def _check_template_is_packages(
    stack_task: StackTask, task: InfraTask
) -> None:
    """Make sure that the template of a lost stack was the package's.

    :raises InfraError: user data had made another of it
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
        changed = ", ".join(numbered) or "the virtual links that others manage"
        raise errors.InfraError(
            f"Stack {stack_task.name} has gone, and with it its template: the VNF "
            f"package's is another, since user data had put {changed} into it. "
            "Terminate the VNF instance and instantiate it again, or heal it "
            "by user data that gives the whole template."
        )


def _recreate_fields(
    previous: PreviousState, fields: StackFields
) -> StackFields:
    """Tell what a stack is made of that takes the place of a former one.

    :raises InfraError: nobody can tell the value of a hidden parameter
    :raises InvalidPackage: what user data says of the template is unreadable
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
            f"Heat does not tell {', '.join(hidden)} of the stack, as the "
            "template hides it: user data has to give it for a heal of the "
            "whole VNF with additionalParams.all."
        )
    return dataclasses.replace(
        recreate_fields, parameters={**reused, **fields.parameters}
    )


def _template_parameters(template: str) -> Mapping[str, Any]:
    """Tell the parameters of a template, as it describes them."""
    read = bounded_yaml.load(template, "the template")
    parameters = read.get("parameters") if isinstance(read, Mapping) else None
    return parameters if isinstance(parameters, Mapping) else {}
