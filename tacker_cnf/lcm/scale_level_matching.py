"""Match scale levels to the VNFCs that were found on the VIM."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from tacker_cnf.lcm import instantiated_info
from tacker_cnf.lcm.change import State
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.sol.vnf_instance import InstantiatedVnfInfo
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.model import Flavour


class LevelMatch(NamedTuple):
    """The result of matching VNFC counts to scale levels."""

    state: State
    #: counts that match no level: aspect -> VDU -> number of VNFCs
    unmatched: Mapping[str, Mapping[str, int]]


def match_levels(
    current: State,
    flavour: Flavour,
    found: Observed,
    unmatched_before: Mapping[str, Any],
) -> LevelMatch:
    """Match the scale levels to the counted VNFCs, where counts match one.

    A STOPPED VNF keeps its levels. The level of an aspect stays, too, if its
    counts did not change: a package may create VNFCs for some of its VDUs
    only.

    :param unmatched_before: counts that matched no level before
    """
    if current.is_stopped:
        return LevelMatch(current, unmatched_before)
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
    state = msgspec.structs.replace(
        current, scale_levels=levels, counts=counts
    )
    return LevelMatch(state, unmatched)


def build_observed_info(
    before: InstantiatedVnfInfo | None,
    current: State,
    flavour: Flavour,
    found: Observed,
    metadata: Mapping[str, Any],
) -> InstantiatedVnfInfo:
    """Build instantiatedVnfInfo of a running instance from the resources that
    were found, without an operation.

    :param metadata: of the instance; it may set VNFC ids
    """
    unmatched_before = instantiated_info.unmatched(before)
    now, unmatched = match_levels(current, flavour, found, unmatched_before)
    return instantiated_info.with_unmatched(
        instantiated_info.build_running_info(
            before, now, flavour, found, metadata
        ),
        unmatched,
    )
