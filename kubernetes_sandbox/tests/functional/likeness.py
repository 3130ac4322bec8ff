"""When an answer is like a recorded one.

Everything must be the same, except what is never twice the same: uids,
versions, times and addresses must only be there on both sides; generated
ends of names and template hashes are taken for each other, and so are the
nodes. Conditions have no order. Of a refused pod update the printed diff of
Go structures is left out, of a refused patch the object that it would have
made, and of a refused review its managedFields.
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
    (re.compile(r"^too old resource version: (\d+) \(\d+\)"), r"too old \1"),
)


def text(value: str) -> str:
    """Take the generated parts out of a string."""
    value = value.partition("\n@@")[0]
    for pattern, told in _RULES:
        value = pattern.sub(told, value)
    return value


def essence(value: Any, *, status: bool = True) -> Any:
    """Take out of an answer what is never twice the same."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        items = [essence(item, status=status) for item in value]
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


def _field(key: str, value: Any, *, status: bool) -> Any:
    if key in _VOLATILE and value:
        return "<set>"
    return essence(value, status=status)


def _order(item: Any) -> str:
    return json.dumps(item, sort_keys=True)


def _sorted_items(value: Any) -> Any:
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        return {**value, "items": sorted(value["items"], key=_order)}
    return value


def events_told(body: Any) -> set[tuple[str, ...]]:
    """Tell a list of events by what each says, whatever its number."""
    return {
        (
            event["involvedObject"]["kind"],
            text(event["involvedObject"]["name"]),
            event["reason"],
            text(event["message"]),
            event["type"],
            event["reportingComponent"],
        )
        for event in body["items"]
    }


def differ(recorded: Any, found: Any, *, status: bool = True) -> bool:
    """Tell whether an answer is unlike the recorded one."""
    if isinstance(recorded, dict) and recorded.get("kind") == "EventList":
        return events_told(recorded) != events_told(found)
    before = told(recorded, status=status)
    return bool(before != told(found, status=status))


def told(body: Any, *, status: bool = True) -> Any:
    """Bring an answer into the form in which two are compared."""
    return _sorted_items(essence(body, status=status))


def differences(recorded: Any, found: Any, path: str = "") -> list[str]:
    """List where two answers differ, each with both values."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        told = []
        for key in sorted({*recorded, *found}):
            before = recorded.get(key, "<absent>")
            after = found.get(key, "<absent>")
            told += differences(before, after, f"{path}.{key}")
        return told
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
