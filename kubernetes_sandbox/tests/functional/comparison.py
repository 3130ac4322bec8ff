"""Comparison of responses with recorded ones.

They have to be equal, except for values that differ in every run: uids,
versions, times and addresses have to be set in both; generated name suffixes,
template hashes and nodes are equal to each other. Conditions have no order.
Ignored are the diff of Go structs in a rejected pod update, the object in a
rejected patch and the managedFields in a rejected review.
"""

import json
import re
from typing import Any

_VOLATILE = frozenset(
    {
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "lastTransitionTime",
        "lastUpdateTime",
        "lastPhaseTransitionTime",
        "startedAt",
        "finishedAt",
        "startTime",
        "hostIP",
        "podIP",
        "ip",
        "containerID",
        "continue",
        "serverAddress",
        "ca.crt",
        "pod-template-hash",
        "clusterIP",
        "nodePort",
        "timeAdded",
        "completionTime",
        "lastProbeTime",
        "lastHeartbeatTime",
        "lastScheduleTime",
        "controller-uid",
        "batch.kubernetes.io/controller-uid",
    }
)
_LETTERS = "[bcdfghjklmnpqrstvwxz2456789]"
_RULES = (
    (re.compile(rf"-{_LETTERS}{{8,10}}(?![a-z0-9])"), "-<hash>"),
    (re.compile(rf"^{_LETTERS}{{8,10}}$"), "<hash>"),
    (re.compile(rf"-{_LETTERS}{{5}}(?![a-z0-9])"), "-<id>"),
    (re.compile(r"(fake|sandbox)-node-\d+"), "<node>"),
    (re.compile(r"^(fake|sandbox)://"), "<runtime>://"),
    (re.compile(r"\([0-9a-f-]{36}\)"), "(<uid>)"),
    (re.compile(r',?"managedFields":\[.*\](?=\}: must be empty)'), ""),
    (re.compile(r'Invalid value: "\{.*\}(?=": strict)'), 'Invalid value: "{}'),
    (re.compile(r" at \d{4}-\d\d-\d\dT[\d:]+Z"), ""),
    (re.compile(r"\b10\.96\.\d+\.\d+"), "<ip>"),
    (re.compile(r"Bad_\w+"), "Bad_<id>"),
    (re.compile(r"pod-template-hash=\w+"), "pod-template-hash=<hash>"),
    (re.compile(r"\bg{50}\w+"), "<generated>"),
    (re.compile(r"(UID|ResourceVersion)(.*) \([^)]+\)(?= does| in)"), r"\1"),
    (re.compile(r"in record \(\d+\)"), "in record (<version>)"),
    (re.compile(r", current: \d+"), ", current: <version>"),
    (re.compile(r"^too old resource version: (\d+) \(\d+\)"), r"too old \1"),
)


def without_generated(value: str) -> str:
    """Replace the generated parts of a string."""
    value = value.partition("\n@@")[0]
    for pattern, replacement in _RULES:
        value = pattern.sub(replacement, value)
    return value


def without_volatile(value: Any, *, status: bool = True) -> Any:
    """Replace the values that differ in every run."""
    if isinstance(value, str):
        return without_generated(value)
    if isinstance(value, list):
        items = [
            without_volatile(item, status=status)
            for item in value
            if not _is_openshift(item)
        ]
        if items and isinstance(items[0], dict) and "type" in items[0]:
            return sorted(items, key=lambda item: str(item.get("type")))
        return items
    if not isinstance(value, dict):
        return value
    return {
        key: _field(key, item, status=status)
        for key, item in value.items()
        if key != "managedFields" and (status or key != "status")
    }


def _is_openshift(value: Any) -> bool:
    """Return whether a volume source is added by OpenShift only."""
    if not isinstance(value, dict):
        return False
    source = value.get("configMap") or {}
    return source.get("name") == "openshift-service-ca.crt"


def _field(key: str, value: Any, *, status: bool) -> Any:
    if key in _VOLATILE and value:
        return "<set>"
    if key == "disruptedPods":
        return sorted(map(without_generated, value))
    return without_volatile(value, status=status)


def _order(item: Any) -> str:
    return json.dumps(item, sort_keys=True)


def _sorted_items(value: Any) -> Any:
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        return {**value, "items": sorted(value["items"], key=_order)}
    return value


def event_facts(body: Any) -> set[tuple[str, ...]]:
    """Return what each event reports, without its count."""
    return {
        (
            event["involvedObject"]["kind"],
            without_generated(event["involvedObject"]["name"]),
            event["reason"],
            without_generated(event["message"]),
            event["type"],
            event["reportingComponent"],
        )
        for event in body["items"]
    }


def normalized(body: Any, *, status: bool = True) -> Any:
    """Return a response in the form that is compared."""
    return _sorted_items(without_volatile(body, status=status))


def body_differences(
    recorded: Any, found: Any, *, status: bool = True
) -> list[str]:
    """List where a body differs from a recorded one."""
    if isinstance(recorded, dict) and recorded.get("kind") == "EventList":
        before = event_facts(recorded)
        after = event_facts(found) if "items" in found else set()
        return sorted(map(str, before ^ after))
    return differences(
        normalized(recorded, status=status), normalized(found, status=status)
    )


def event_differences(recorded: list[list[str]], found: Any) -> list[str]:
    """List where the events of a watch differ, by type and name."""
    events = found if isinstance(found, list) else []
    after = [
        [event["type"], event["object"].get("metadata", {}).get("name")]
        for event in events
    ]
    if sorted(map(str, recorded)) == sorted(map(str, after)):
        return []
    return [f"events: recorded {recorded}, found {after}"]


def differences(recorded: Any, found: Any, path: str = "") -> list[str]:
    """List the fields that differ, with both values."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        found_differences = []
        for key in sorted({*recorded, *found}):
            before = recorded.get(key, "<absent>")
            after = found.get(key, "<absent>")
            found_differences += differences(before, after, f"{path}.{key}")
        return found_differences
    if _are_lists_alike(recorded, found):
        pairs = enumerate(zip(recorded, found, strict=True))
        return [
            one
            for index, (before, after) in pairs
            for one in differences(before, after, f"{path}[{index}]")
        ]
    if recorded == found:
        return []
    return [f"{path}: recorded {recorded!r}, found {found!r}"]


def _are_lists_alike(one: Any, other: Any) -> bool:
    if not isinstance(one, list) or not isinstance(other, list):
        return False
    return len(one) == len(other)
