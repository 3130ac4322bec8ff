"""Heals: servers that are made anew in their stack, or the whole stack."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.openstack import requests
from tacker_cnf.drivers.openstack.fields import BaseHot, StackFields
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.stacks import Stack
from tacker_cnf.drivers.openstack.work import Work

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
    asked = requests.healing(task.parameters).all
    return default if asked is None else asked


def replace_servers(work: Work, task: InfraTask, fields: StackFields) -> Stack:
    """Make the servers of VNFCs anew, and with additionalParams.all their
    volumes; of the whole VNF, if none is named, all servers.

    What is doomed is noted before it is marked, so that another try touches
    none that an earlier one has made.

    :raises InfraError: a VNFC is no longer there, or Heat could not
    """
    stack = work.there()
    found = work.vnfcs(stack)
    doomed = set(task.notes)
    if not doomed:
        doomed = set(_doomed(_chosen(found, task), task))
        task.note(tuple(sorted(doomed)))
    work.mark(
        resource
        for vnfc in found
        for resource in (vnfc.server, *vnfc.volumes.values())
        if resource.physical_id in doomed
    )
    return work.update(stack, fields)


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


def recreate(
    work: Work, task: InfraTask, fields: StackFields, base_hot: BaseHot
) -> Stack:
    """Delete the stack, and create it again of the same template unless user
    data gives another: it gets a new id.

    :raises InfraError: Heat could not
    """
    found = work.find()
    former = _former(work, task, found, base_hot)
    if found is not None and found.id == former.stack_id:
        work.remove(found)
    kept = StackFields(
        template=fields.template or former.template,
        files=fields.files if fields.template else former.files,
        parameters=fields.parameters,
        existing=fields.existing,
    )
    return work.put(kept, base_hot)


def _former(
    work: Work, task: InfraTask, found: Stack | None, base_hot: BaseHot
) -> Former:
    if task.notes:
        return msgspec.json.decode(task.notes[0], type=Former)
    template, files = base_hot.template, base_hot.files
    # Heat gives one that it deletes an empty template
    if found is not None and found.action != "DELETE":
        template, files = work.heat.template(found)
    former = Former(found.id if found else None, template, dict(files))
    task.note((msgspec.json.encode(former).decode(),))
    return former
