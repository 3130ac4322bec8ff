"""PodDisruptionBudgets: which pods they cover, and what they allow."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tacker_cnf.drivers.kubernetes.api_errors import NotFound
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.objects import Object


def _in(labels: Mapping[str, str], key: str, values: Iterable[str]) -> bool:
    return key in labels and labels[key] in values


#: operator of a label selector -> whether labels satisfy it
OPERATORS: Final[Mapping[str, Callable[..., bool]]] = {
    "In": _in,
    "NotIn": lambda labels, key, values: not _in(labels, key, values),
    "Exists": lambda labels, key, _: key in labels,
    "DoesNotExist": lambda labels, key, _: key not in labels,
}


def list_all(cluster: Cluster, namespace: str) -> list[Object]:
    """List the budgets of a namespace.

    :raises Forbidden: the credentials do not allow it
    """
    try:
        kind = cluster.kind("policy/v1", "PodDisruptionBudget")
        return list(cluster.list(kind, namespace)["items"])
    except NotFound:
        return []


def covers(budget: Object, pod: Object) -> bool:
    """Return whether a budget covers a pod; an empty selector covers all."""
    selector = budget["spec"].get("selector")
    if selector is None:
        return False
    labels = pod["metadata"].get("labels", {})
    return all(
        labels.get(key) == value
        for key, value in (selector.get("matchLabels") or {}).items()
    ) and all(
        OPERATORS[term["operator"]](
            labels, term["key"], term.get("values", ())
        )
        for term in selector.get("matchExpressions") or ()
    )


def covering(budgets: Iterable[Object], pod: Object) -> list[Object]:
    """Return the budgets that cover a pod."""
    return [budget for budget in budgets if covers(budget, pod)]


def allows(budget: Object, *, are_ready: bool) -> bool:
    """Return whether a budget may allow an eviction now.

    :param are_ready: whether all pods to be evicted are ready; others may be
        evicted while enough are, or always (unhealthyPodEvictionPolicy)
    """
    status = budget.get("status", {})
    if status.get("disruptionsAllowed", 0) > 0:
        return True
    healthy = status.get("currentHealthy", 0)
    desired = status.get("desiredHealthy", 0)
    return not are_ready and bool(healthy >= desired > 0)


def name_of(budget: Object) -> str:
    """Return the name of a budget."""
    return str(budget["metadata"]["name"])
