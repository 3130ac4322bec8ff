"""A change of package that replaces one VNFC after the other.

Heat rolls the members of a group by itself. VNFCs that are resources of their
own it would replace all at once, so that they are made to depend on each
other meanwhile.
"""

import collections
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tacker_cnf.drivers.openstack import inventory
from tacker_cnf.drivers.openstack.stack_fields import StackFields
from tacker_cnf.vnfd import bounded_yaml
from tacker_cnf.vnfd.model import Flavour


def stages(fields: StackFields, flavour: Flavour) -> Iterator[StackFields]:
    """Tell how a stack is changed, one update after the other: first with
    VNFCs that wait for each other, then as user data has told it.
    """
    with_dependencies = _with_dependencies(fields, flavour)
    if with_dependencies is not None:
        yield with_dependencies
    yield fields


def _with_dependencies(
    fields: StackFields, flavour: Flavour
) -> StackFields | None:
    """Let each VNFC wait for the one before it of its VDU; None: there is
    nothing to wait for, or not the whole template is told.
    """
    if fields.template is None or fields.existing:
        return None
    template = bounded_yaml.load(fields.template, "the template")
    resources = template.get("resources") or {}
    pairs = list(_consecutive_vnfcs(resources, flavour))
    for name, previous in pairs:
        resource = resources[name]
        declared = resource.get("depends_on") or []
        dependencies = [declared] if isinstance(declared, str) else declared
        resources[name] = {**resource, "depends_on": [*dependencies, previous]}
    encoded = msgspec.json.encode(template).decode()
    return dataclasses.replace(fields, template=encoded) if pairs else None


def _consecutive_vnfcs(
    resources: Mapping[str, Any], flavour: Flavour
) -> Iterator[tuple[str, str]]:
    """Tell the VNFCs that have one before them in their VDU, and that one."""
    units: dict[str, dict[int, str]] = collections.defaultdict(dict)
    for name in resources:
        vdu, index = inventory.parse_vdu_name(name, flavour)
        if vdu is not None and index is not None:
            units[vdu][index] = name
    for numbered in units.values():
        names = [numbered[index] for index in sorted(numbered)]
        yield from zip(names[1:], names, strict=False)
