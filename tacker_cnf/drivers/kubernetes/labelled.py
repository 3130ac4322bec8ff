"""Finds what VNF instances have in a cluster, of whatever kind, by label."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tacker_cnf import errors
from tacker_cnf.drivers.base import SearchTask
from tacker_cnf.drivers.kubernetes import inventory, manifests
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.manifests import FIRST, INSTANCE_LABEL
from tacker_cnf.drivers.kubernetes.refusals import Forbidden, Gone

Object = dict[str, Any]
#: lists the objects of a kind
Ask = Callable[..., Object]

#: copies of the labels of what they are about, and deleted with that
COPIES: Final = frozenset({"Endpoints", "EndpointSlice", "Event"})


class Found(NamedTuple):
    """An object with the label of an instance."""

    resource: Any
    body: Object

    @property
    def instance_id(self) -> str:
        return str(self.body["metadata"]["labels"][INSTANCE_LABEL])

    @property
    def is_going(self) -> bool:
        return "deletionTimestamp" in self.body["metadata"]

    def __str__(self) -> str:
        meta = self.body["metadata"]
        place = f"{meta['namespace']}/" if meta.get("namespace") else ""
        return f"{self.resource.kind} {place}{meta['name']}"


def search(cluster: Cluster, task: SearchTask) -> Mapping[str, Sequence[str]]:
    """Find the objects that have the label; none that is being deleted."""
    found: dict[str, list[str]] = {}
    for one in _all(cluster, task):
        if not one.is_going:
            found.setdefault(one.instance_id, []).append(str(one))
    return found


def clean(cluster: Cluster, task: SearchTask) -> Sequence[str]:
    """Delete the objects of an instance, what others need last."""
    found = sorted(_all(cluster, task), key=_order)
    for one in found:
        if not one.is_going:
            cluster.delete(one.resource, one.body)
    return [str(one) for one in found]


def _order(found: Found) -> int:
    kind = found.resource.kind
    return -FIRST.index(kind) if kind in FIRST else -len(FIRST)


def _all(cluster: Cluster, task: SearchTask) -> Iterator[Found]:
    selector = INSTANCE_LABEL
    if task.instance_id is not None:
        selector += f"={task.instance_id}"
    namespaces = frozenset(_namespaces(task))
    ask = cluster.list if task.running else cluster.list_metadata
    for resource in _kinds(cluster, task):
        for body in _list(ask, resource, namespaces, selector):
            if task.running and not inventory.is_living(body):
                continue
            if task.running or not inventory.has_controller(body):
                yield Found(resource, body)


def _kinds(cluster: Cluster, task: SearchTask) -> Iterable[Any]:
    if task.running:
        return [cluster.kind("v1", "Pod")]
    return [
        one
        for one in cluster.kinds()
        if {"list", "delete"} <= set(one.verbs) and one.kind not in COPIES
    ]


def _namespaces(task: SearchTask) -> Iterator[str]:
    """Find where to search if the cluster as a whole is forbidden."""
    yield from task.tenants
    for origin in task.origins:
        # what is wrong was not instantiated either
        with contextlib.suppress(errors.BadRequest):
            yield manifests.namespace_of(origin.parameters, origin.package)


def _list(
    ask: Ask, resource: Any, namespaces: Iterable[str], selector: str
) -> Iterator[Object]:
    try:
        yield from _listed(ask, resource, None, selector)
    except Forbidden:
        for namespace in namespaces if resource.namespaced else ():
            try:
                yield from _listed(ask, resource, namespace, selector)
            except Forbidden:  # so that nothing of it was made by us
                return


def _listed(
    ask: Ask, resource: Any, namespace: str | None, selector: str
) -> Sequence[Object]:
    try:
        found: Sequence[Object] = ask(
            resource, namespace, label_selector=selector
        )["items"]
    except Gone:  # its CustomResourceDefinition was just deleted
        return ()
    return found
