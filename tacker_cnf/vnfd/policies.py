"""Read the policies of a flavour: aspects, deltas, levels, affinity."""

import collections
from collections.abc import Collection, Container, Iterator, Mapping
from typing import Final

from tacker_cnf.vnfd.model import AffinityRule, Aspect, Flavour, Level, Vdu
from tacker_cnf.vnfd.topology import Policy, Topology
from tacker_cnf.vnfd.values import Value, Warnings

PREFIX: Final = "tosca.policies.nfv."
RULES: Final[Mapping[str, str]] = {
    "AffinityRule": "AFFINITY",
    "AntiAffinityRule": "ANTI_AFFINITY",
}
PLACEMENT_GROUP: Final = "tosca.groups.nfv.PlacementGroup"
MAX_NUMBER: Final = 1_000_000

Vdus = Mapping[str, Vdu]


def aspects_of(
    topology: Topology, vdus: Vdus
) -> tuple[dict[str, Aspect], Warnings]:
    written = _written_aspects(topology)
    deltas, unknown = _deltas(topology, vdus, written)
    warnings = [*unknown]
    aspects = {}
    for name, value in written.items():
        aspects[name] = _aspect(name, value, deltas[name])
        warnings += _unused_deltas(value, aspects[name])
    return aspects, tuple(warnings)


def check_defined_deltas(topology: Topology, flavour: Flavour) -> Warnings:
    """Check that the deltas of steps are defined. Without them an aspect
    cannot be scaled, which matters to nothing else if its VDUs have the same
    count at all levels.

    :raises InvalidPackage: a VDU has another count at a level
    """
    warnings = []
    constant = _constant_vdus(flavour)
    for name, value in _written_aspects(topology).items():
        aspect = flavour.aspects[name]
        if not aspect.undefined_deltas:
            continue
        steps = value.get("step_deltas")
        what = f"the delta {aspect.undefined_deltas[0]} is not defined"
        if not aspect.deltas.keys() <= constant:
            raise steps.fault(what)
        warnings.append(steps.warning(f"{what}: {name} cannot be scaled"))
    return tuple(warnings)


def _constant_vdus(flavour: Flavour) -> set[str]:
    """Return the VDUs that have the same count, or none, at all levels, and
    no other one at scale level 0.
    """
    counts: dict[str, list[int]] = collections.defaultdict(list)
    for level in flavour.levels.values():
        for vdu, count in level.counts.items():
            counts[vdu].append(count)
    number = len(flavour.levels)
    initial = flavour.initial_deltas
    return {
        vdu
        for vdu in flavour.vdus
        if vdu not in counts
        or counts[vdu] == [initial.get(vdu, counts[vdu][0])] * number
    }


def initial_deltas_of(
    topology: Topology, vdus: Vdus
) -> tuple[dict[str, int], Warnings]:
    found: dict[str, int] = {}
    warnings: list[str] = []
    for policy in topology.policies(PREFIX + "VduInitialDelta"):
        value = policy.properties.get("initial_delta", "number_of_instances")
        for target, vdu in _targets(policy, vdus):
            if vdu.id in found:
                raise target.fault(f"{vdu.id} has two initial deltas")
            found[vdu.id] = _number(value)
            warnings += _outside_profile(value, vdu)
    return found, tuple(warnings)


def levels_of(
    topology: Topology,
    vdus: Vdus,
    aspects: Mapping[str, Aspect],
) -> tuple[dict[str, Level], str | None, Warnings]:
    """Return the instantiation levels, and the default level."""
    policies = topology.policies(PREFIX + "InstantiationLevels")
    properties = _single_policy(policies) if policies else Value(None, "")
    written = properties.get("levels").entries()
    if policies and not written:
        raise properties.fault("there are no levels")
    counts, warnings = _counts(topology, vdus, written)
    levels = {
        name: Level(
            id=name,
            description=value.get("description").text_or_none(),
            scale_levels=_scale_levels(value.get("scale_info"), aspects),
            counts=counts[name],
        )
        for name, value in written.items()
    }
    default, no_default = _default_level(properties, levels)
    return levels, default, warnings + no_default


def affinity_rules_of(topology: Topology) -> tuple[AffinityRule, ...]:
    defined_names = {*topology.nodes, *topology.groups(PLACEMENT_GROUP)}
    return tuple(
        AffinityRule(
            id=policy.name,
            kind=kind,
            scope=policy.properties.get("scope").text().upper(),
            targets=tuple(
                _check_defined(target, defined_names)
                for target in policy.targets
            ),
        )
        for name, kind in RULES.items()
        for policy in topology.policies(PREFIX + name)
    )


def placement_groups_of(topology: Topology) -> dict[str, tuple[str, ...]]:
    return {
        name: tuple(
            _check_defined(member, topology.nodes)
            for member in group.get("members").items()
        )
        for name, group in topology.groups(PLACEMENT_GROUP).items()
    }


def _written_aspects(topology: Topology) -> dict[str, Value]:
    policies = topology.policies(PREFIX + "ScalingAspects")
    return (
        _single_policy(policies).get("aspects").entries() if policies else {}
    )


def _aspect(
    name: str,
    value: Value,
    deltas: dict[str, dict[str, int]],
) -> Aspect:
    return Aspect(
        id=name,
        name=value.get("name").text_or_none() or name,
        description=value.get("description").text_or_none(),
        max_scale_level=_number(value.get("max_scale_level")),
        step_deltas=_step_deltas(value, deltas),
        deltas=deltas,
    )


def _step_deltas(
    aspect: Value,
    deltas: Mapping[str, Mapping[str, int]],
) -> tuple[str, ...]:
    """Return the delta of each step; a single delta need not be named."""
    defined_deltas = {delta for of_vdu in deltas.values() for delta in of_vdu}
    steps = aspect.get("step_deltas")
    step_names = steps.texts()
    if not step_names and len(defined_deltas) > 1:
        raise steps.fault("several deltas exist, and no step names one")
    return step_names or tuple(defined_deltas)


def _unused_deltas(value: Value, aspect: Aspect) -> Warnings:
    unused = sorted(aspect.defined_deltas - set(aspect.step_deltas))
    return tuple(
        value.get("step_deltas").warning(f"no step uses the delta {delta}")
        for delta in unused
    )


def _deltas(
    topology: Topology,
    vdus: Vdus,
    aspects: Collection[str],
) -> tuple[dict[str, dict[str, dict[str, int]]], Warnings]:
    """Return aspect -> vdu -> delta -> number of instances.

    Deltas of an aspect that does not exist are ignored if all aspects have
    deltas; otherwise its name may be the misspelt one of an aspect without.

    :raises InvalidPackage: an aspect does not exist, or deltas are repeated
    """
    found: dict[str, dict[str, dict[str, int]]] = collections.defaultdict(dict)
    unknown = []
    for policy in topology.policies(PREFIX + "VduScalingAspectDeltas"):
        named = policy.properties.get("aspect")
        aspect = named.text()
        if aspect not in aspects:
            unknown.append(named)
        for target, vdu in _targets(policy, vdus):
            if vdu.id in found[aspect]:
                raise target.fault(f"{vdu.id} has deltas of {aspect} already")
            found[aspect][vdu.id] = _deltas_of(policy)
    what = "there is no scaling aspect {} in this flavour"
    if unknown and any(name not in found for name in aspects):
        raise unknown[0].fault(what.format(unknown[0].text()))
    return found, tuple(
        value.warning(f"{what.format(value.text())}: its deltas are ignored")
        for value in unknown
    )


def _deltas_of(policy: Policy) -> dict[str, int]:
    deltas = policy.properties.get("deltas").entries()
    if not deltas:
        raise policy.properties.fault("there are no deltas")
    return {
        name: _number(value.get("number_of_instances"))
        for name, value in deltas.items()
    }


def _counts(
    topology: Topology,
    vdus: Vdus,
    levels: Container[str],
) -> tuple[dict[str, dict[str, int]], Warnings]:
    """Return level -> vdu -> number of instances."""
    found: dict[str, dict[str, int]] = collections.defaultdict(dict)
    warnings: list[str] = []
    for policy in topology.policies(PREFIX + "VduInstantiationLevels"):
        written = policy.properties.get("levels").entries()
        for target, vdu in _targets(policy, vdus):
            for name, value in written.items():
                if name not in levels:
                    raise value.fault(f"there is no level {name}")
                count = value.get("number_of_instances")
                number = _number(count)
                if vdu.id in found[name]:
                    used = found[name][vdu.id]
                    what = f"{vdu.id} has a count of {name} twice"
                    warnings.append(
                        target.warning(f"{what}: the first, {used}, is used")
                    )
                    continue
                found[name][vdu.id] = number
                warnings += _outside_profile(count, vdu)
    return found, tuple(warnings)


def _scale_levels(
    scale_info: Value,
    aspects: Mapping[str, Aspect],
) -> dict[str, int]:
    found = {}
    for name, value in scale_info.entries().items():
        if name not in aspects:
            raise value.fault(f"there is no scaling aspect {name}")
        level = value.get("scale_level").count()
        max_level = aspects[name].max_scale_level
        if level > max_level:
            raise value.fault(f"the scale level {level} is above {max_level}")
        found[name] = level
    return found


def _default_level(
    properties: Value,
    levels: Mapping[str, Level],
) -> tuple[str | None, Warnings]:
    default = properties.get("default_level")
    if not default.absent:
        return _check_defined(default, levels), ()
    if len(levels) > 1:
        what = "of several levels one has to be the default"
        ignored = f"{what}: requests have to name a level"
        return None, (default.warning(ignored),)
    return next(iter(levels), None), ()


def _single_policy(policies: list[Policy]) -> Value:
    if len(policies) > 1:
        raise policies[1].value.fault("the flavour has this policy twice")
    return policies[0].properties


def _targets(policy: Policy, vdus: Vdus) -> Iterator[tuple[Value, Vdu]]:
    if not policy.targets:
        raise policy.value.fault("the policy has no targets")
    for target in policy.targets:
        if target.text() not in vdus:
            raise target.fault(f"there is no VDU {target.text()}")
        yield target, vdus[target.text()]


def _outside_profile(value: Value, vdu: Vdu) -> Warnings:
    count = value.count()
    if vdu.min_instances <= count <= vdu.max_instances:
        return ()
    return (
        value.warning(
            f"{count} is not within {vdu.min_instances} to"
            f" {vdu.max_instances}, the vdu_profile of {vdu.id}"
        ),
    )


def _number(value: Value) -> int:
    number = value.count()
    if number > MAX_NUMBER:
        raise value.fault(f"{number} is above {MAX_NUMBER}")
    return number


def _check_defined(value: Value, defined_names: Container[str]) -> str:
    if value.text() not in defined_names:
        raise value.fault(f"there is no {value.text()} in this flavour")
    return value.text()
