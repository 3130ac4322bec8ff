"""A plan as text, for people."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from tacker_cnf.lcm import states
from tacker_cnf.lcm.vnf_plan import (
    Action,
    ActionOutcome,
    ActionType,
    Composition,
    FieldChange,
    VnfPlan,
)

#: type of an action -> its symbol, and its word in the summary
SYMBOLS: Final = {
    ActionType.CREATE: ("+", "to create"),
    ActionType.PATCH: ("~", "to change"),
    ActionType.RECREATE: ("-/+", "to recreate"),
    ActionType.DELETE: ("-", "to delete"),
    ActionType.UNCHANGED: (" ", "unchanged"),
}
#: outcome of an action -> its words
OUTCOMES: Final = {
    outcome: outcome.lower().replace("_", " ") for outcome in ActionOutcome
}
#: why the outcomes of an operation that has stopped are not known
UNKNOWN_OUTCOME: Final = (
    "What a retry would do could not be determined when the operation stopped; "
    "request a dry run of it."
)
#: characters of a value that are shown
MAX_VALUE_CHARS: Final = 200


def render(plan: VnfPlan) -> str:
    """Render a plan: a line for each resource that changes, with the fields
    below; then warnings, scripts and a summary.
    """
    return "\n".join(_lines(plan)) + "\n"


def render_executed(plan: VnfPlan) -> str:
    """Render the plan of an operation as render(), with its outcomes."""
    return "\n".join((*_lines(plan), _outcome_summary(plan))) + "\n"


def _lines(plan: VnfPlan) -> Iterator[str]:
    decision = "Rollback of " if plan.is_rollback else ""
    decision = "Retry of " if plan.is_retry else decision
    yield f"{decision}{plan.operation} of VNF instance {plan.vnf_instance_id}"
    yield from _composition_lines(plan)
    if plan.operation_in_progress:
        yield _describe_holder(plan)
    changed = [a for a in plan.actions if a.type is not ActionType.UNCHANGED]
    last_wave = max((action.wave for action in changed), default=1)
    wave = 0
    for number, action in enumerate(changed):
        if not number:
            yield ""
        if last_wave > 1 and action.wave != wave:
            wave = action.wave
            yield f"Wave {wave}"
        yield from _action_lines(action)
    yield from _section("Warnings", plan.warnings)
    scripts = (f"{hook}: {path}" for hook, path in plan.scripts.items())
    yield from _section("Scripts", scripts)
    yield from _section("Grant", _grant_lines(plan))
    yield from _section("Changes", _resource_change_lines(plan))
    yield _summary(plan)


def _composition_lines(plan: VnfPlan) -> Iterator[str]:
    """List what differs between the compositions of the VNF."""
    before, after = _attributes(plan.current), _attributes(plan.desired)
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, "none"), after.get(name, "none")
        if old != new:
            yield f"  {name}: {old} -> {new}"


def _attributes(composition: Composition | None) -> dict[str, str | int]:
    """Return the attributes of a composition by their names in the text."""
    if composition is None:
        return {}
    levels, counts = composition.scale_levels, composition.vnfc_counts
    return {
        "flavour": composition.flavour_id,
        "vnfState": composition.vnf_state,
        **{f"scale level of {name}": levels[name] for name in sorted(levels)},
        **{f"VNFCs of VDU {name}": counts[name] for name in sorted(counts)},
    }


def _describe_holder(plan: VnfPlan) -> str:
    """Describe the operation that has the VNF instance."""
    state = plan.operation_in_progress_state
    holder = f"Operation {plan.operation_in_progress} is {state}"
    if state in states.ACTIVE:
        return (
            f"{holder}, and may change what this plan is based on; until it "
            "ends, this request would be rejected."
        )
    return (
        f"{holder}: until it is retried, rolled back or failed, this request "
        "would be rejected."
    )


def _action_lines(action: Action) -> Iterator[str]:
    symbol, _ = SYMBOLS[action.type]
    name = f"{action.kind} {action.name}"
    place = f", VDU {action.vdu_id}" if action.vdu_id else ""
    outcome = f"  {OUTCOMES[action.outcome]}" if action.outcome else ""
    yield f"{symbol:>3} {name}  ({action.reason}{place}){outcome}"
    for change in action.changes:
        yield f"      {_change(change)}"


def _change(change: FieldChange) -> str:
    before, after = _value(change.before), _value(change.after)
    if change.before is None:
        return f"+ {change.path}: {after}"
    if change.after is None:
        return f"- {change.path}: {before}"
    return f"~ {change.path}: {before} -> {after}"


def _value(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    if len(text) <= MAX_VALUE_CHARS:
        return text
    return f"{text[:MAX_VALUE_CHARS]}... ({len(text)} characters)"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield from ("", title)
        yield from (f"  {line}" for line in found)


def _grant_lines(plan: VnfPlan) -> Iterator[str]:
    request = plan.grant_request
    if request is None:
        return
    for verb, resources in (
        ("adds", request.add_resources),
        ("removes", request.remove_resources),
        ("updates", request.update_resources),
    ):
        counts = Counter(
            f"{resource.type} of VDU {resource.vdu_id}"
            if resource.vdu_id
            else str(resource.type)
            for resource in resources
        )
        for what, count in sorted(counts.items()):
            yield f"{verb} {count} {what}"


def _resource_change_lines(plan: VnfPlan) -> Iterator[str]:
    changes = plan.resource_changes
    if changes is None:
        return
    for vnfc in changes.affected_vnfcs:
        handle = vnfc.compute_resource
        yield f"{vnfc.change_type} VNFC {handle.resource_id} of {vnfc.vdu_id}"
    for storage in changes.affected_virtual_storages:
        handle, of = storage.storage_resource, storage.virtual_storage_desc_id
        yield f"{storage.change_type} storage {handle.resource_id} of {of}"
    for link in changes.affected_virtual_links:
        handle, of = link.network_resource, link.vnf_virtual_link_desc_id
        yield f"{link.change_type} link {handle.resource_id} of {of}"
    for port in changes.affected_ext_link_ports:
        handle = port.resource_handle
        yield f"{port.change_type} link port {handle.resource_id}"


def _summary(plan: VnfPlan) -> str:
    counts = Counter(action.type for action in plan.actions)
    parts = [
        f"{counts[kind]} {word}"
        for kind, (_, word) in SYMBOLS.items()
        if counts[kind]
    ]
    return f"\nPlan: {', '.join(parts) or 'nothing to change on the VIM'}."


def _outcome_summary(plan: VnfPlan) -> str:
    if plan.operation_state in states.ACTIVE:
        return (
            f"Outcome: not known yet, the operation is {plan.operation_state}."
        )
    counts = Counter(action.outcome for action in plan.actions)
    parts = [
        f"{counts[outcome]} {word}"
        for outcome, word in OUTCOMES.items()
        if counts[outcome]
    ]
    if unknown := counts[None]:
        parts.append(f"{unknown} not known. {UNKNOWN_OUTCOME}")
    return (
        f"Outcome: {', '.join(parts) or 'nothing to change'}".rstrip(".") + "."
    )
