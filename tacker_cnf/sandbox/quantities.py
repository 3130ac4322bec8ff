"""Kubernetes quantities: 100m, 1Gi, 2."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tacker_cnf.sandbox.objects import Obj

_UNITS: Mapping[str, float] = {
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "Pi": 2.0**50,
    "Ei": 2.0**60,
}


def parse(quantity: Any) -> float:
    """Read a quantity.

    :raises ValueError: it is none
    """
    text = str(quantity).strip()
    for length in (2, 1):
        unit = text[-length:]
        if unit in _UNITS and len(text) > length:
            return float(text[:-length]) * _UNITS[unit]
    return float(text)


def requests_of(spec: Obj) -> dict[str, float]:
    """Sum what the containers of a pod ask for."""
    total: dict[str, float] = {}
    for container in spec.get("containers") or ():
        for name, amount in _requests(container).items():
            total[name] = total.get(name, 0.0) + amount
    for container in spec.get("initContainers") or ():
        for name, amount in _requests(container).items():
            total[name] = max(total.get(name, 0.0), amount)
    return total


def _requests(container: Obj) -> dict[str, float]:
    asked = (container.get("resources") or {}).get("requests") or {}
    return {name: parse(amount) for name, amount in asked.items()}


def share_of(value: Any, total: int, *, round_up: bool) -> int:
    """Read a count or a percentage of a total."""
    if isinstance(value, int):
        return value
    text = str(value)
    if not text.endswith("%"):
        return int(text)
    part = int(text[:-1]) * total / 100
    return math.ceil(part) if round_up else math.floor(part)


_GUARANTEED = ("cpu", "memory")


def quality_of_service(spec: Obj) -> str:
    """Work out status.qosClass of a pod."""
    containers = [
        *(spec.get("containers") or ()),
        *(spec.get("initContainers") or ()),
    ]
    resources: Sequence[Obj] = [c.get("resources") or {} for c in containers]
    if not any(r.get("requests") or r.get("limits") for r in resources):
        return "BestEffort"
    for each in resources:
        limits, requests = each.get("limits") or {}, each.get("requests") or {}
        for name in _GUARANTEED:
            if name not in limits or limits[name] != requests.get(name):
                return "Burstable"
    return "Guaranteed"
