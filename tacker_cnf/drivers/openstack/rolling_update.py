"""A change of package that replaces VNFCs one after the other.

Heat updates the members of a group in batches. It would replace VNFCs outside
of groups all at once, so they depend on each other during the update.
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
    """Return the fields of each update: first with dependencies between the
    VNFCs, if any, then as returned by user data.
    """
    with_dependencies = _with_dependencies(fields, flavour)
    if with_dependencies is not None:
        yield with_dependencies
    yield fields


def _with_dependencies(
    fields: StackFields, flavour: Flavour
) -> StackFields | None:
    """Add depends_on to each numbered VNFC, on the previous one of its VDU;
    None: there is none, or ``fields`` lacks a complete template.
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
    """Return pairs of a numbered VNFC and the previous one of its VDU."""
    units: dict[str, dict[int, str]] = collections.defaultdict(dict)
    for name in resources:
        vdu, index = inventory.parse_vdu_name(name, flavour)
        if vdu is not None and index is not None:
            units[vdu][index] = name
    for numbered in units.values():
        names = [numbered[index] for index in sorted(numbered)]
        yield from zip(names[1:], names, strict=False)
