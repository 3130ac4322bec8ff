"""Compute the numbers of VDU instances for levels."""

from collections.abc import Iterable, Mapping

from tacker_cnf import errors
from tacker_cnf.vnfd.model import Aspect, Flavour, Level


def counts_of_level(flavour: Flavour, level_id: str | None) -> dict[str, int]:
    """Return how many instances each VDU has at an instantiation level.

    None selects the default level. A VDU without a count in the level has
    its count at scale level 0, plus what the level's scale levels add.

    :raises UnknownLevel: the flavour has no such level
    """
    level = _level(flavour, level_id)
    return {
        vdu: _base(flavour, vdu) + _added_at_level(flavour, vdu, level)
        for vdu in flavour.vdus
    } | level.counts


def counts_set_by_level(
    flavour: Flavour, level_id: str | None, expected: Mapping[str, int]
) -> dict[str, int]:
    """Return the counts of the VDUs that a level determines. If all levels
    give a VDU the same count, which it is expected to have, then its VNFCs
    stay: a VIM may determine their number, as the nodes that of a DaemonSet.

    :param expected: VDU -> number of VNFCs by the present scale levels
    :raises UnknownLevel: the flavour has no such level
    """
    counts = counts_of_level(flavour, level_id)
    of_levels = [counts_of_level(flavour, other) for other in flavour.levels]
    return {
        vdu: count
        for vdu, count in counts.items()
        if count != expected.get(vdu)
        or any(level[vdu] != count for level in of_levels)
    }


def scale_levels_of(flavour: Flavour, level_id: str | None) -> dict[str, int]:
    """Return the scale level of each aspect at an instantiation level.

    :raises UnknownLevel: the flavour has no such level
    """
    level = _level(flavour, level_id)
    return dict.fromkeys(flavour.aspects, 0) | level.scale_levels


def max_levels(flavour: Flavour) -> dict[str, int]:
    return {
        name: aspect.max_scale_level
        for name, aspect in flavour.aspects.items()
    }


def step(
    flavour: Flavour,
    aspect_id: str,
    from_level: int,
    steps: int,
) -> dict[str, int]:
    """Return by how much each VDU's count changes; steps < 0 scale in.

    :raises UnknownAspect: the flavour has no such aspect
    :raises NotScalable: the VNFD does not define a delta of the aspect
    :raises ScaleOutOfRange: the level would leave 0 to max_scale_level
    """
    aspect = _scalable_aspect(flavour, aspect_id)
    to_level = from_level + steps
    if not 0 <= to_level <= aspect.max_scale_level:
        raise errors.ScaleOutOfRange(
            f"{steps:+d} from scale level {from_level} of aspect {aspect_id}"
            f" is {to_level}, outside of 0 to {aspect.max_scale_level}",
        )
    return {
        vdu: _added_by_aspect(aspect, vdu, to_level)
        - _added_by_aspect(aspect, vdu, from_level)
        for vdu in aspect.deltas
    }


def counts_of_aspects(
    flavour: Flavour, aspect_ids: Iterable[str], levels: Mapping[str, int]
) -> dict[str, int]:
    """Return the counts, at these scale levels, of the VDUs that some aspects
    scale.

    :raises UnknownAspect: the flavour has no such aspect
    :raises NotScalable: the VNFD does not define a delta of an aspect
    :raises ScaleOutOfRange: the level of an aspect is above its maximum
    """
    counts = counts_at(flavour, levels)
    found = {}
    for aspect_id in aspect_ids:
        aspect = _scalable_aspect(flavour, aspect_id)
        if levels[aspect_id] > aspect.max_scale_level:
            raise errors.ScaleOutOfRange(
                f"Scale level {levels[aspect_id]} of aspect {aspect_id} is "
                f"outside of 0 to {aspect.max_scale_level}"
            )
        found.update({vdu: counts[vdu] for vdu in aspect.deltas})
    return found


def counts_at(flavour: Flavour, levels: Mapping[str, int]) -> dict[str, int]:
    """Return the count of every VDU at these scale levels; aspects that are
    not named are at level 0.
    """
    counts = {}
    for vdu in flavour.vdus:
        counts[vdu] = _base(flavour, vdu) + sum(
            _added_by_aspect(aspect, vdu, levels.get(name, 0))
            for name, aspect in flavour.aspects.items()
            if vdu in aspect.deltas
        )
    return counts


def level_of(
    flavour: Flavour,
    aspect_id: str,
    counts: dict[str, int],
) -> int | None:
    """Return the scale level that matches these counts of VDUs, if any.

    A VDU without a count has 0. None also if the aspect has no deltas, so
    that counts do not determine its level.

    :raises UnknownAspect: the flavour has no such aspect
    """
    aspect = _aspect(flavour, aspect_id)
    added_counts = {
        vdu: counts.get(vdu, 0) - _base(flavour, vdu)
        for vdu, deltas in aspect.deltas.items()
        if any(deltas.values())
    }
    if not added_counts:
        return None
    for level in _candidates(aspect, added_counts):
        if all(
            _added_by_aspect(aspect, vdu, level) == n
            for vdu, n in added_counts.items()
        ):
            return level
    return None


def counts_of_aspect(
    flavour: Flavour, aspect_id: str, counts: Mapping[str, int]
) -> dict[str, int]:
    """Return the counts of the VDUs that an aspect scales.

    :raises UnknownAspect: the flavour has no such aspect
    """
    return {
        vdu: counts.get(vdu, 0) for vdu in _aspect(flavour, aspect_id).deltas
    }


def _candidates(aspect: Aspect, added_counts: dict[str, int]) -> list[int]:
    """Return the only levels that can match.

    These are the levels up to the last step with its own delta, and the one
    that division determines among the steps that repeat the last delta.
    """
    max_level = aspect.max_scale_level
    differing = min(len(aspect.step_deltas), max_level)
    candidates = list(range(differing + 1))
    for vdu, number in added_counts.items():
        each = _delta(aspect, vdu, differing)
        rest = number - _added_by_aspect(aspect, vdu, differing)
        if each and rest % each == 0 and differing + rest // each <= max_level:
            candidates.append(differing + rest // each)
    return [level for level in candidates if level >= 0]


def _added_by_aspect(aspect: Aspect, vdu: str, level: int) -> int:
    """Return what the steps from scale level 0 to this one add to a VDU."""
    differing = min(len(aspect.step_deltas), level)
    added = sum(_delta(aspect, vdu, step) for step in range(differing))
    return added + (level - differing) * _delta(aspect, vdu, differing)


def _delta(aspect: Aspect, vdu: str, step: int) -> int:
    """Return what one step adds; the last delta applies to all later ones."""
    if not aspect.step_deltas:
        return 0
    last = len(aspect.step_deltas) - 1
    return aspect.deltas[vdu].get(aspect.step_deltas[min(step, last)], 0)


def _base(flavour: Flavour, vdu: str) -> int:
    """Return the count at scale level 0 of all aspects.

    It is the initial delta; without one it follows from the default level, or
    else the first one, or else is the minimum.
    """
    if vdu in flavour.initial_deltas:
        return flavour.initial_deltas[vdu]
    level_id = flavour.default_level or next(iter(flavour.levels), None)
    level = flavour.levels.get(level_id or "", Level(id=""))
    if vdu in level.counts:
        return max(0, level.counts[vdu] - _added_at_level(flavour, vdu, level))
    return flavour.vdus[vdu].min_instances


def _added_at_level(flavour: Flavour, vdu: str, level: Level) -> int:
    """Return what the scale levels of an instantiation level add to a VDU."""
    return sum(
        _added_by_aspect(flavour.aspects[name], vdu, scale_level)
        for name, scale_level in level.scale_levels.items()
        if vdu in flavour.aspects[name].deltas
    )


def _aspect(flavour: Flavour, aspect_id: str) -> Aspect:
    if aspect_id not in flavour.aspects:
        aspect_ids = ", ".join(flavour.aspects) or "none"
        raise errors.UnknownAspect(
            f"There is no scaling aspect {aspect_id!r:.80} in flavour"
            f" {flavour.id}; it has {aspect_ids}",
        )
    return flavour.aspects[aspect_id]


def _scalable_aspect(flavour: Flavour, aspect_id: str) -> Aspect:
    aspect = _aspect(flavour, aspect_id)
    if aspect.undefined_deltas:
        raise errors.NotScalable(
            f"Aspect {aspect_id} cannot be scaled: the VNFD does not define"
            f" its delta {aspect.undefined_deltas[0]}."
        )
    return aspect


def _level(flavour: Flavour, level_id: str | None) -> Level:
    requested_id = flavour.default_level if level_id is None else level_id
    if requested_id is None:
        if flavour.levels:
            raise errors.UnknownLevel(
                "instantiationLevelId is required: flavour"
                f" {flavour.id} has no default level; it has"
                f" {', '.join(flavour.levels)}."
            )
        return Level(id="")
    if requested_id not in flavour.levels:
        level_ids = ", ".join(flavour.levels) or "none"
        raise errors.UnknownLevel(
            "instantiationLevelId: there is no instantiation level "
            f"{requested_id!r:.80} in flavour {flavour.id}; it has "
            f"{level_ids}.",
        )
    return flavour.levels[requested_id]
