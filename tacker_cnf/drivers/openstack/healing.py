"""Heals: servers that are made anew in their stack, or the whole stack."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack import evictions, inventory, requests
from tacker_cnf.drivers.openstack.fields import StackFields
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.stacks import Stack
from tacker_cnf.drivers.openstack.work import Work
from tacker_cnf.vnfd import bounded_yaml
from tacker_cnf.vnfd.base_hot import BaseHot

#: how notes begin: of the ids that are doomed, and of a Former
SERVERS: Final = "servers"
WHOLE: Final = "whole"
#: said in vain, where there is no server any more
_HINT: Final = (
    "Fail this operation, synchronize the VNF instance (POST .../sync), and "
    "heal by the new ids."
)


def is_of_all(task: InfraTask, *, default: bool) -> bool:
    """Tell whether all of the VNF is to be made anew, and not only servers.

    :param default: what holds for the whole VNF when the request is silent
    """
    if task.vnfcs:
        return False
    if task.notes:  # an earlier try has begun
        return task.notes[0] == WHOLE
    asked = requests.healing(task.parameters).all
    return default if asked is None else asked


def replace_servers(
    work: Work, nova: evictions.Servers, task: InfraTask, fields: StackFields
) -> Stack:
    """Make the servers of VNFCs anew, and with additionalParams.all their
    volumes; of the whole VNF, if none is named, all servers.

    What is doomed is noted before it is marked, so that another try touches
    none that an earlier one has made. A server whose volumes stay is deleted
    before there is another, unless Heat would refuse the update.

    :raises InfraError: a VNFC is no longer there, or Heat could not
    """
    stack = work.there()
    found = work.vnfcs(stack)
    if task.notes:
        doomed = set(task.notes[1:])
    else:
        doomed = set(_doomed(_chosen(found, task), task))
        task.note((SERVERS, *sorted(doomed)))
    marks = [
        resource
        for vnfc in found
        for resource in (vnfc.server, *vnfc.volumes.values())
        if resource.physical_id in doomed
    ]
    first = evictions.wanted(nova, marks)
    if first:
        work.check(stack, fields)
    with work.marked([one for one in marks if one not in first]):
        evictions.carry_out(work, nova, first)
        return work.placed(work.change, fields)


def _chosen(found: Sequence[Vnfc], task: InfraTask) -> Sequence[Vnfc]:
    """Find the VNFCs that are to be healed.

    :raises InfraError: one of them is not in the stack any more
    """
    if not task.vnfcs:
        return found
    there = {vnfc.id: vnfc for vnfc in found}
    named = [vnfc.compute_resource.resource_id for vnfc in task.vnfcs]
    missing = [name for name in named if name not in there]
    if missing:
        raise errors.InfraError(
            f"Server {', '.join(missing)} is not in the stack of the VNF "
            f"instance any more. {_HINT}"
        )
    return [there[name] for name in named]


def _doomed(vnfcs: Iterable[Vnfc], task: InfraTask) -> Iterable[str]:
    with_storages = task.vnfcs and requests.healing(task.parameters).all
    for vnfc in vnfcs:
        yield vnfc.id
        if with_storages:
            yield from (v.physical_id for v in vnfc.volumes.values())


class Former(msgspec.Struct, frozen=True):
    """A stack that is to be made anew, as it is noted before it goes."""

    #: None: it had gone by itself
    stack_id: str | None
    template: str
    files: dict[str, str]
    #: without "nfv", which the instance knows; Heat tells none that is hidden
    parameters: dict[str, Any] = {}


def recreate(
    work: Work, task: InfraTask, fields: StackFields, base_hot: BaseHot
) -> Stack:
    """Delete the stack, and create it again of the same template, with what
    user data changes of it, or of the one that user data gives: it gets a new
    id.

    :raises InfraError: Heat could not, or nobody knows any more what the
        stack was made of
    """
    found = work.find()
    if task.notes:
        former = msgspec.json.decode(task.notes[1], type=Former)
        kept = _kept(former, fields)
    else:
        former = _former(work, task, found, base_hot, fields)
        kept = _kept(former, fields)
        task.note((WHOLE, msgspec.json.encode(former).decode()))
    if found is not None and found.id == former.stack_id:
        work.remove(found)
    return work.placed(lambda told: work.put(told, base_hot), kept)


def _former(
    work: Work,
    task: InfraTask,
    found: Stack | None,
    base_hot: BaseHot,
    fields: StackFields,
) -> Former:
    # Heat gives one that it deletes an empty template
    if found is None or found.action == "DELETE":
        if fields.template is None or fields.existing:
            _check_unmade(work, task)
        stack_id = found.id if found else None
        return Former(stack_id, base_hot.template, dict(base_hot.files))
    template, files = work.heat.template(found)
    parameters = {
        name: value
        for name, value in found.parameters.items()
        if name != "nfv" and value is not None
    }
    return Former(found.id, template, dict(files), parameters)


def _check_unmade(work: Work, task: InfraTask) -> None:
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
        if inventory.vdu_named(name, work.flavour)[1] is not None
    ]
    managed = info.ext_managed_virtual_link_info
    if numbered or managed:
        made = ", ".join(numbered) or "the virtual links that others manage"
        raise errors.InfraError(
            f"Stack {work.name} has gone, and with it its template: the VNF "
            f"package's is another, since user data had put {made} into it. "
            "Terminate the VNF instance and instantiate it again, or heal it "
            "by user data that gives the whole template."
        )


def _kept(former: Former, fields: StackFields) -> StackFields:
    """Tell what a stack is made of that takes the place of a former one.

    :raises InfraError: nobody can tell the value of a hidden parameter
    :raises InvalidPackage: what user data says of the template is unreadable
    """
    template, files = fields.whole(former.template, former.files)
    kept = dataclasses.replace(fields, template=template, files=files)
    if not fields.existing:
        return kept
    known, hidden = {}, []
    for name, schema in _declared(str(kept.template)).items():
        if name in fields.parameters:
            continue
        if isinstance(schema, Mapping) and schema.get("hidden"):
            hidden.append(name)
        elif name in former.parameters:
            known[name] = former.parameters[name]
    if hidden:
        raise errors.InfraError(
            f"Heat does not tell {', '.join(hidden)} of the stack, as the "
            "template hides it: user data has to give it for a heal of the "
            "whole VNF with additionalParams.all."
        )
    return dataclasses.replace(kept, parameters={**known, **fields.parameters})


def _declared(template: str) -> Mapping[str, Any]:
    """Tell the parameters of a template, as it describes them."""
    read = bounded_yaml.load(template, "the template")
    told = read.get("parameters") if isinstance(read, Mapping) else None
    return told if isinstance(told, Mapping) else {}
