"""Scale levels that follow what is there."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from tacker_cnf.lcm import instantiated_info
from tacker_cnf.lcm.instantiated_info import InfraResult
from tacker_cnf.lcm.target import Target
from tacker_cnf.sol.vnf_instance import InstantiatedVnfInfo
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.model import Flavour


class LevelMatch(NamedTuple):
    """What an instance is by its VNFCs."""

    target: Target
    #: what is of no scale level: aspect -> VDU -> number of VNFCs
    unmatched: Mapping[str, Mapping[str, int]]


def match_levels(
    current: Target,
    flavour: Flavour,
    found: InfraResult,
    unmatched_before: Mapping[str, Any],
) -> LevelMatch:
    """Let the scale levels follow the counted VNFCs, where they divide.

    Levels that do not fit what never moved stay: a package may make the
    VNFCs of some of its VDUs only.

    :param unmatched_before: what was of no scale level before
    """
    counts = Counter(vnfc.vdu_id for vnfc in found.vnfc_resource_info)
    levels = dict(current.scale_levels)
    unmatched = {}
    for aspect in levels.keys() & flavour.aspects.keys():
        now = scaling.counts_of_aspect(flavour, aspect, counts)
        before = scaling.counts_of_aspect(flavour, aspect, current.counts)
        if now == before and aspect not in unmatched_before:
            continue
        level = scaling.level_of(flavour, aspect, counts)
        if level is not None:
            levels[aspect] = level
        elif now:
            unmatched[aspect] = now
    target = msgspec.structs.replace(
        current, scale_levels=levels, counts=counts
    )
    return LevelMatch(target, unmatched)


def build_observed_info(
    before: InstantiatedVnfInfo | None,
    current: Target,
    flavour: Flavour,
    found: InfraResult,
    metadata: Mapping[str, Any],
) -> InstantiatedVnfInfo:
    """Describe a running instance that nothing has scaled, by what was found
    of it.

    :param metadata: of the instance, which may give VNFCs their ids
    """
    unmatched_before = instantiated_info.unmatched(before)
    now, unmatched = match_levels(current, flavour, found, unmatched_before)
    return instantiated_info.with_unmatched(
        instantiated_info.build_running_info(
            before, now, flavour, found, metadata
        ),
        unmatched,
    )
