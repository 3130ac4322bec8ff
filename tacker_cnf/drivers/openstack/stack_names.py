"""The names of stacks, and the VNF instances that they belong to."""

import re
from typing import Final

from tacker_cnf.drivers.openstack.stacks import Stack
from tacker_cnf.sol.vnf_instance import InstantiationState, VnfInstance

#: key in the metadata of instantiatedVnfInfo
STACK_NAME: Final = "stack_name"
_MARK: Final = re.compile(r"vnf-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
#: names that Heat accepts
_VALID: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_.-]{0,254}")


def mark_of(instance_id: str) -> str:
    """Return the tag of the stack of an instance, which is its default name,
    too.
    """
    return f"vnf-{instance_id}"


def is_of(stack: Stack, instance: VnfInstance) -> bool:
    """Check whether a stack belongs to an instance: by its tags or its default
    name, or by its id, as another client may have removed the tags.
    """
    if mark_of(instance.id) in {*(stack.tags or ()), stack.name}:
        return True
    info = instance.instantiated_vnf_info
    return info is not None and info.metadata.get("stack_id") == stack.id


def instance_of(stack: Stack) -> str | None:
    """Return the id of the instance that a stack belongs to, by its tags, or
    by its name if it has no tag; None: it is not the stack of a VNF.
    """
    for text in (*(stack.tags or ()), stack.name):
        match = _MARK.fullmatch(text)
        if match:
            return match[1]
    return None


def recorded_name(instance: VnfInstance) -> str | None:
    """Return the name of the stack of an instance; None: it is not
    instantiated.
    """
    info = instance.instantiated_vnf_info
    if (
        info is None
        or instance.instantiation_state is not InstantiationState.INSTANTIATED
    ):
        return None
    # a stack of an earlier release has its default name
    return str(info.metadata.get(STACK_NAME) or mark_of(instance.id))


def requested_name(instance: VnfInstance) -> str:
    """Return the name that the stack of a new VNF gets if no other stack has
    it: that of the instance, if Heat accepts it.
    """
    name = instance.vnf_instance_name or ""
    if _VALID.fullmatch(name) and not _MARK.fullmatch(name):
        return name
    return mark_of(instance.id)
