"""ResourceQuotas of a namespace, compared with the pods that a plan adds."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

from kubernetes.utils import parse_quantity

from tacker_cnf.drivers.kubernetes.api_errors import Forbidden, NotFound
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.manifests import pod_templates
from tacker_cnf.drivers.kubernetes.objects import Object

#: names of a quota for the number of pods
POD_COUNTS: Final = ("pods", "count/pods")


def pods_of(body: Object) -> Iterator[Object]:
    """Return the pod, or the pod template, of a workload."""
    if body.get("kind") == "Pod":
        yield body
    else:
        yield from pod_templates(body)


def replicas_of(body: Object) -> int:
    """Return the number of pods that a workload has at once; of a DaemonSet,
    which depends on the nodes, 1; of a CronJob, which starts them later, 0.
    """
    if body.get("kind") == "CronJob":
        return 0
    found = _map(body.get("spec")).get("replicas")
    return found if isinstance(found, int) else 1


def list_warnings(
    cluster: Cluster, namespace: str, new_pods: Iterable[tuple[Object, int]]
) -> Iterator[str]:
    """List the quotas that do not suffice for new pods.

    Quotas with scopes concern some pods only and are left out, as are the
    defaults of LimitRanges.

    :param new_pods: (pod or its template, number)
    """
    found = [*_list(cluster, namespace)]
    if not found:
        return
    needed: defaultdict[str, Decimal] = defaultdict(Decimal)
    for template, count in new_pods:
        for name, amount in _needs(template):
            needed[name] += amount * count
    for quota in found:
        status = quota.get("status", {})
        for name, limit in status.get("hard", {}).items():
            used = _parse(status.get("used", {}).get(name, 0))
            free = max(_parse(limit) - used, Decimal(0))
            if needed[name] > free:
                yield (
                    f"ResourceQuota {quota['metadata']['name']} allows "
                    f"{free.normalize():f} more of {name}, and the new pods "
                    f"need {needed[name].normalize():f}."
                )


def _parse(quantity: Any) -> Decimal:
    """Parse a quantity; one that is not valid, which the API server rejects,
    counts as 0.
    """
    try:
        found: Decimal = parse_quantity(quantity)  # type: ignore[no-untyped-call]
    except (ArithmeticError, TypeError, ValueError):
        return Decimal(0)
    return found


def _needs(template: Object) -> Iterator[tuple[str, Decimal]]:
    for name in POD_COUNTS:
        yield name, Decimal(1)
    containers = _map(template.get("spec")).get("containers")
    for container in containers if isinstance(containers, list) else ():
        resources = _map(_map(container).get("resources"))
        limits = _map(resources.get("limits"))
        # a container requests its limit if it does not say otherwise
        requests = {**limits, **_map(resources.get("requests"))}
        for resource, amount in requests.items():
            value = _parse(amount)
            yield f"requests.{resource}", value
            yield resource, value  # the short name of the same quota
        for resource, amount in limits.items():
            yield f"limits.{resource}", _parse(amount)


def _map(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _list(cluster: Cluster, namespace: str) -> Iterator[Object]:
    try:
        kind = cluster.kind("v1", "ResourceQuota")
        found = cluster.list(kind, namespace)["items"]
    except (Forbidden, NotFound):
        return
    for quota in found:
        spec = quota.get("spec", {})
        if not spec.get("scopes") and not spec.get("scopeSelector"):
            yield quota
