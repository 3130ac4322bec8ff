"""Search for objects of VNF instances in a cluster, of any kind, by label."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.base import SearchTask
from tacker_cnf.drivers.kubernetes import inventory, manifests
from tacker_cnf.drivers.kubernetes.api_errors import Forbidden, NotFound
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.cluster_session import BUILTIN_GROUPS
from tacker_cnf.drivers.kubernetes.manifests import (
    CREATE_FIRST,
    INSTANCE_LABEL,
)
from tacker_cnf.drivers.kubernetes.objects import Object

LOG = log.getLogger(__name__)

#: kinds that copy the labels of another object, and are deleted with it
DERIVED_KINDS: Final = frozenset({"Endpoints", "EndpointSlice", "Event"})
#: maximum number of failures in an error
MAX_ERRORS: Final = 5


class LabelledObject(NamedTuple):
    """An object with the label of an instance."""

    resource: Any
    body: Object

    @property
    def instance_id(self) -> str:
        return str(self.body["metadata"]["labels"][INSTANCE_LABEL])

    @property
    def is_deleting(self) -> bool:
        return "deletionTimestamp" in self.body["metadata"]

    def __str__(self) -> str:
        meta = self.body["metadata"]
        prefix = f"{meta['namespace']}/" if meta.get("namespace") else ""
        return f"{self.resource.kind} {prefix}{meta['name']}"


def search(cluster: Cluster, task: SearchTask) -> Mapping[str, Sequence[str]]:
    """Find the labelled objects that are not being deleted.

    :returns: instance id -> kind and name of its objects
    """
    found: dict[str, list[str]] = {}
    objects = _ObjectSearch(cluster, task)
    for item in objects.all():
        if not item.is_deleting:
            found.setdefault(item.instance_id, []).append(str(item))
    for error in objects.failures():
        LOG.warning("Part of a cluster not searched: error=%s", error)
    return found


def clean(cluster: Cluster, task: SearchTask) -> Sequence[str]:
    """Delete the objects of an instance, those that others need last.

    :returns: kind and name of the objects, also of those being deleted
    :raises InfraError: some objects could not be found or deleted; all others
        are deleted
    """
    objects = _ObjectSearch(cluster, task)
    found = sorted(objects.all(), key=_deletion_order)
    failed: list[errors.InfraError] = []
    for item in found:
        if not item.is_deleting:
            try:
                cluster.delete(item.resource, item.body)
            except errors.VimRejected as error:
                failed.append(type(error)(f"{item} not deleted: {error}"))
    failed += objects.failures()
    if failed:
        raise type(failed[0])(" ".join(map(str, failed[:MAX_ERRORS])))
    return [str(item) for item in found]


def _deletion_order(found: LabelledObject) -> int:
    kind = found.resource.kind
    return (
        -CREATE_FIRST.index(kind)
        if kind in CREATE_FIRST
        else -len(CREATE_FIRST)
    )


class _ObjectSearch:
    """The labelled objects of a cluster, as far as they can be listed."""

    def __init__(self, cluster: Cluster, task: SearchTask) -> None:
        self._cluster = cluster
        self._task = task
        self._list = (
            cluster.list if task.running_only else cluster.list_metadata
        )
        self._namespaces = frozenset(_namespaces(task))
        self._selector = INSTANCE_LABEL
        if task.instance_id is not None:
            self._selector += f"={task.instance_id}"
        self._failed: list[errors.InfraError] = []
        #: namespaces in which a kind was listed; None: in all
        self._listed: set[str | None] = set()
        #: namespaces in which a kind may not be listed; None: not known which
        self._forbidden: dict[str | None, Forbidden] = {}

    def all(self) -> Iterator[LabelledObject]:
        """List the objects; then, ``failures`` has what could not be listed."""
        for resource in self._kinds():
            for body in self._of_kind(resource):
                if self._task.running_only and not inventory.is_living(body):
                    continue
                if self._task.running_only or not inventory.controller_of(
                    body
                ):
                    yield LabelledObject(resource, body)

    def failures(self) -> Sequence[errors.InfraError]:
        """Return why objects could not be listed. A forbidden kind does not
        count if others of its namespace were listed: no object of it exists.
        """
        forbidden = [
            error
            for namespace, error in self._forbidden.items()
            if not {namespace, None} & self._listed
        ]
        return [*self._failed, *forbidden]

    def _kinds(self) -> Iterator[Any]:
        if self._task.running_only:
            yield self._cluster.kind("v1", "Pod")
            return
        for version in self._cluster.groups():
            with self._skip_unavailable(version.group):
                for kind in self._cluster.kinds(version):
                    is_usable = {"list", "delete"} <= set(kind.verbs)
                    if is_usable and kind.kind not in DERIVED_KINDS:
                        yield kind

    def _of_kind(self, resource: Any) -> Sequence[Object]:
        found: list[Object] = []
        with self._skip_unavailable(resource.group):
            try:
                found += self._of_namespace(resource, None)
            except Forbidden as error:
                if resource.namespaced:
                    found += self._of_namespaces(resource, error)
        return found

    def _of_namespaces(
        self, resource: Any, cluster_wide_error: Forbidden
    ) -> Iterator[Object]:
        if not self._namespaces:
            self._forbidden[None] = cluster_wide_error
        for namespace in self._namespaces:
            try:
                yield from self._of_namespace(resource, namespace)
            except Forbidden as error:
                self._forbidden[namespace] = error

    def _of_namespace(
        self, resource: Any, namespace: str | None
    ) -> Sequence[Object]:
        try:
            found: Sequence[Object] = self._list(
                resource, namespace, label_selector=self._selector
            )["items"]
        except NotFound:  # its CustomResourceDefinition was just deleted
            return ()
        # to list all Pods is allowed for the watch, even by credentials that
        # allow nothing else
        if resource.namespaced and (
            namespace or self._task.running_only or resource.kind != "Pod"
        ):
            self._listed.add(namespace)
        return found

    @contextlib.contextmanager
    def _skip_unavailable(self, group: str) -> Iterator[None]:
        """Record errors of an API group that an extension API server or a
        webhook serves; the search of the others continues.
        """
        try:
            yield
        except (errors.VimRejected, errors.VimUnreachable) as error:
            if group in BUILTIN_GROUPS:
                raise
            self._failed.append(error)


def _namespaces(task: SearchTask) -> Iterator[str]:
    """Return the namespaces to search if the cluster-wide list is forbidden."""
    yield from task.tenants
    for origin in task.origins:
        # nothing was instantiated with invalid parameters
        with contextlib.suppress(errors.BadRequest):
            yield manifests.namespace_of(origin.parameters, origin.package)
