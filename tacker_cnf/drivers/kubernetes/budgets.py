"""PodDisruptionBudgets: how many pods may be away at the same time."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

Object = dict[str, Any]


def _in(labels: Mapping[str, str], key: str, values: Iterable[str]) -> bool:
    return key in labels and labels[key] in values


#: operator of a selector -> whether labels satisfy it
OPERATORS: Final[Mapping[str, Callable[..., bool]]] = {
    "In": _in,
    "NotIn": lambda labels, key, values: not _in(labels, key, values),
    "Exists": lambda labels, key, _: key in labels,
    "DoesNotExist": lambda labels, key, _: key not in labels,
}


def covers(budget: Object, pod: Object) -> bool:
    """Tell whether a budget counts a pod; an empty selector counts all."""
    selector = budget["spec"].get("selector")
    if selector is None:
        return False
    labels = pod["metadata"].get("labels", {})
    return all(
        labels.get(key) == value
        for key, value in (selector.get("matchLabels") or {}).items()
    ) and all(
        OPERATORS[one["operator"]](labels, one["key"], one.get("values", ()))
        for one in selector.get("matchExpressions") or ()
    )


def covering(budgets: Iterable[Object], pod: Object) -> list[Object]:
    """Choose the budgets that count a pod."""
    return [budget for budget in budgets if covers(budget, pod)]


def allows(budget: Object, *, are_ready: bool) -> bool:
    """Tell whether a budget may allow an eviction now.

    :param are_ready: whether all pods to be evicted serve; others may go
        while enough do, or always (unhealthyPodEvictionPolicy)
    """
    status = budget.get("status", {})
    if status.get("disruptionsAllowed", 0) > 0:
        return True
    healthy = status.get("currentHealthy", 0)
    desired = status.get("desiredHealthy", 0)
    return not are_ready and bool(healthy >= desired > 0)


def name_of(budget: Object) -> str:
    """Give the name of a budget."""
    return str(budget["metadata"]["name"])
