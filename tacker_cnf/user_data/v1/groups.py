"""Sets the size of the groups in a template.

Tacker signals scaling policies; here an update of the stack sets the size, in
the parameter that the template reads, or else in the template.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tacker_cnf import errors
from tacker_cnf.lcm import merge
from tacker_cnf.user_data.base import Json

#: type of a group -> its properties with the size and the member
GROUPS: Final = {
    "OS::Heat::AutoScalingGroup": ("desired_capacity", "resource"),
    "OS::Heat::ResourceGroup": ("count", "resource_def"),
}
Counts = Mapping[str, int]


class Sizes(NamedTuple):
    """JSON merge patches of a template and of the parameters of a stack."""

    template: Json
    parameters: Json


def set_sizes(hot: Json, desired: Counts, current: Counts) -> Sizes:
    """Return the patches that set the size of the groups of VDUs.

    :param hot: {"template": the template, "files": {name: nested template}}
    :param desired: VDU that can scale -> number of VNFCs
    :param current: VDU -> number of VNFCs without a change of a group
    :raises InvalidParameters: a VDU with another number is in no group
    """
    groups = dict(_groups(hot, desired))
    for vdu, count in desired.items():
        present = current.get(vdu, 0)
        if count != present and vdu not in groups.values():
            raise errors.InvalidParameters(
                f"VDU {vdu} shall have {count} VNFCs, but the template has no "
                f"{' or '.join(GROUPS)} with a member {vdu}: it has {present}."
                " Add the group to BaseHOT, or choose a level with this "
                "number."
            )
    template: Json = {}
    parameters: Json = {}
    for name, vdu in groups.items():
        resource = hot["template"]["resources"][name]
        key, _ = GROUPS[resource["type"]]
        if path := _path((resource.get("properties") or {}).get(key)):
            patch = _nested(path, desired[vdu])
            parameters = merge.patched(parameters, patch)
        else:
            place = ("resources", name, "properties", key)
            template = merge.patched(template, _nested(place, desired[vdu]))
    return Sizes(template, parameters)


def _groups(hot: Json, vdus: Counts) -> Iterator[tuple[str, str]]:
    """Return each group, and the VDU of its members."""
    for name, resource in (hot["template"].get("resources") or {}).items():
        if resource.get("type") in GROUPS:
            _, key = GROUPS[resource["type"]]
            member = (resource.get("properties") or {}).get(key) or {}
            nested = hot["files"].get(member.get("type")) or {}
            names = (name, *(nested.get("resources") or {}))
            if vdu := next(filter(vdus.__contains__, names), None):
                yield name, vdu


def _path(value: Any) -> tuple[str, ...]:
    """Return the path of the parameter that a value reads; (): none."""
    path = value.get("get_param") if isinstance(value, Mapping) else None
    names = [path] if isinstance(path, str) else path
    if isinstance(names, list) and all(isinstance(n, str) for n in names):
        return tuple(names)
    return ()


def _nested(path: tuple[str, ...], value: int) -> Json:
    found: Any = value
    for name in reversed(path):
        found = {name: found}
    return dict(found)
