"""Kubernetes quantities: 100m, 1Gi, 2."""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from kubernetes.utils import parse_quantity

from kubernetes_sandbox import errors
from kubernetes_sandbox.objects import Obj

#: Suffixes and their factors, the largest first.
_DECIMAL = tuple(
    (suffix, Decimal(10) ** exponent)
    for suffix, exponent in zip(
        ("E", "P", "T", "G", "M", "k", "", "m", "u", "n"),
        range(18, -10, -3),
        strict=True,
    )
)
_BINARY = tuple(
    (suffix, Decimal(2) ** exponent)
    for suffix, exponent in zip(
        ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki", ""),
        range(60, -1, -10),
        strict=True,
    )
)


def parse(quantity: Any) -> Decimal:
    """Parse a quantity.

    :raises ValueError: it is not a quantity
    """
    found: Decimal = parse_quantity(quantity)  # type: ignore[no-untyped-call]
    return found


def canonical(quantity: Any) -> str:
    """Return the canonical form of a quantity: 1000 is 1k, 0.5 is 500m.

    :raises ValueError: it is not a quantity
    """
    return format_amount(parse(quantity), binary=str(quantity).endswith("i"))


def format_amount(amount: Decimal, *, binary: bool) -> str:
    """Return the canonical form of an amount."""
    units = _BINARY if binary else _DECIMAL
    for suffix, size in (*units, *_DECIMAL):
        if amount and amount % size == 0:
            return f"{int(amount / size)}{suffix}"
    # Smaller amounts are rounded up to one nano.
    return f"{math.ceil(amount * 10**9)}n" if amount else "0"


def canonical_resources(amounts: Obj) -> Obj:
    """Return a resource list with canonical quantities."""
    return {name: _canonical(amount) for name, amount in amounts.items()}


def _canonical(amount: Any) -> str:
    try:
        return canonical(amount)
    except ValueError:
        raise errors.bad_request(
            'Pod in version "v1" cannot be handled as a Pod: quantities must'
            " match the regular expression"
            " '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ) from None


def pod_requests(spec: Obj) -> dict[str, Decimal]:
    """Sum the resource requests of the containers of a pod."""
    total: dict[str, Decimal] = {}
    for container in spec.get("containers") or ():
        for name, amount in _requests(container).items():
            total[name] = total.get(name, 0) + amount
    for container in spec.get("initContainers") or ():
        for name, amount in _requests(container).items():
            total[name] = max(total.get(name, amount), amount)
    return total


def _requests(container: Obj) -> dict[str, Decimal]:
    requested = (container.get("resources") or {}).get("requests") or {}
    return {name: parse(amount) for name, amount in requested.items()}


def resolve_int_or_percent(value: Any, total: int, *, round_up: bool) -> int:
    """Resolve a count or a percentage of a total."""
    if isinstance(value, int):
        return value
    text = str(value)
    if not text.endswith("%"):
        return int(text)
    part = int(text[:-1]) * total / 100
    return math.ceil(part) if round_up else math.floor(part)


_GUARANTEED = ("cpu", "memory")


def quality_of_service(spec: Obj) -> str:
    """Compute status.qosClass of a pod."""
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
