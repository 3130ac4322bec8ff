"""Kubernetes quantities: 100m, 1Gi, 2."""

import decimal
import math
from collections.abc import Mapping, Sequence
from typing import Any

from kubernetes_sandbox.objects import Obj

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


_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def canonical(quantity: Any) -> str:
    """Write a quantity as a server stores it: 1000 is 1k, 0.5 is 500m."""
    text = str(quantity).strip()
    if text.endswith("i"):
        return _scaled(decimal.Decimal(text[:-2]), text[-2:], _BINARY, 1024)
    unit = text[-1:] if text[-1:] in _DECIMAL and text[-1:] else ""
    amount = decimal.Decimal(text[: len(text) - len(unit)])
    return _scaled(amount, unit, _DECIMAL, 1000)


def _scaled(
    amount: decimal.Decimal, unit: str, units: Sequence[str], step: int
) -> str:
    at = units.index(unit)
    while amount != amount.to_integral_value() and at:
        amount, at = amount * step, at - 1
    while amount and amount % step == 0 and at + 1 < len(units):
        amount, at = amount / step, at + 1
    return f"{int(amount)}{units[at] if amount else ''}"


def canonical_all(amounts: Obj) -> Obj:
    """Write all quantities of a resource list as a server stores them."""
    return {name: _canonical(amount) for name, amount in amounts.items()}


def _canonical(amount: Any) -> str:
    try:
        return canonical(amount)
    except (decimal.InvalidOperation, ValueError):
        return str(amount)


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
