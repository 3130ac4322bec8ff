"""Selects fallback zones for VNFCs that got no valid host."""

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tacker_cnf.drivers.openstack import inventory
from tacker_cnf.drivers.openstack.stacks import Tree
from tacker_cnf.lcm import merge
from tacker_cnf.vnfd.model import Flavour

#: part of Heat's reason for a server that Nova could not schedule
NO_HOST: Final = "ResourceInError"
ZONE_SCOPE: Final = "ZONE"
ANTI_AFFINITY: Final = "ANTI_AFFINITY"

Nfv = Mapping[str, Any]


class ZoneFallback:
    """Records the zones that failed for each entry of nfv.VDU."""

    def __init__(self, zones: Sequence[str]) -> None:
        """Start without failed zones.

        :param zones: the fallback zones, in order
        """
        self._zones = zones
        self._failed: dict[str, set[str]] = collections.defaultdict(set)

    def next_nfv(
        self, nfv: Nfv, tree: Tree, flavour: Flavour
    ) -> dict[str, Any] | None:
        """Return nfv with another zone for each entry whose servers got no
        valid host; None: no such entry, or no zone left for one of them.

        An entry with other servers that run is not changed: they would be
        replaced by servers in the new zone.

        :param tree: the resources of the failed stack
        """
        failed = failed_entries(nfv, tree, flavour)
        if not failed:
            return None
        vdus = dict(nfv["VDU"])
        for name, vdu in failed.items():
            self._failed[name].add(vdus[name]["locationConstraints"])
            excluded = self._failed[name] | _excluded_zones(
                name, vdu, vdus, flavour
            )
            available = [zone for zone in self._zones if zone not in excluded]
            if not available:
                return None
            vdus = merge.patched(
                vdus, {name: {"locationConstraints": available[0]}}
            )
        return {**nfv, "VDU": vdus}


def failed_entries(nfv: Nfv, tree: Tree, flavour: Flavour) -> dict[str, str]:
    """Return entry of nfv.VDU -> VDU, of the entries whose servers all got no
    valid host.
    """
    found: dict[str, set[bool]] = collections.defaultdict(set)
    vdus = {}
    for resource in tree.resources:
        if resource.type != inventory.SERVER:
            continue
        vdu, index = inventory.vdu_of(tree, resource, flavour)
        name = _entry(nfv, vdu, index)
        if vdu and name:
            vdus[name] = vdu
            found[name].add(
                resource.status.endswith("_FAILED")
                and NO_HOST in (resource.reason or "")
            )
    return {name: vdus[name] for name in found if found[name] == {True}}


def _entry(nfv: Nfv, vdu: str | None, index: int | None) -> str | None:
    vdus = nfv.get("VDU")
    for name in (f"{vdu}-{index}", vdu):
        entry = vdus.get(name) if isinstance(vdus, Mapping) else None
        if isinstance(entry, Mapping) and isinstance(
            entry.get("locationConstraints"), str
        ):
            return name
    return None


def _excluded_zones(
    name: str, vdu: str, vdus: Nfv, flavour: Flavour
) -> frozenset[str]:
    """Return the zones of the entries that are anti-affine to an entry."""
    anti_affine = set(_anti_affine_vdus(vdu, flavour))
    found = set()
    for key, entry in vdus.items():
        owner = key if key in flavour.vdus else key.rpartition("-")[0]
        if key != name and owner in anti_affine and isinstance(entry, Mapping):
            found.add(str(entry.get("locationConstraints")))
    return frozenset(found)


def _anti_affine_vdus(vdu: str, flavour: Flavour) -> Iterable[str]:
    for rule in flavour.affinity_rules:
        if rule.kind != ANTI_AFFINITY or rule.scope != ZONE_SCOPE:
            continue
        members = {
            member
            for target in rule.targets
            for member in flavour.placement_groups.get(target, (target,))
        }
        if vdu in members:
            yield from members
