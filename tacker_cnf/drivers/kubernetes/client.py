"""What is asked of a cluster; bodies go in and out as plain dicts."""

import contextlib
import functools
import hashlib
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
import urllib3
from oslo_log import log

from tacker_cnf.drivers.endurance import Endurance
from tacker_cnf.drivers.kubernetes import propagation, refusals
from tacker_cnf.drivers.kubernetes.connection import Connection
from tacker_cnf.drivers.kubernetes.link import Link, Version
from tacker_cnf.sol.common import VimConnectionInfo

LOG = log.getLogger(__name__)

Object = dict[str, Any]

FIELD_MANAGER: Final = "tacker_cnf"
#: how a list of metadata is asked for
METADATA: Final = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)
#: clusters a process keeps a connection pool for
KEPT: Final = 256


class Cluster:
    """A cluster, as one task asks things of it.

    No change is begun once the task was called off, and no watch goes on
    once it was called off at once.
    """

    def __init__(self, link: Link, endurance: Endurance) -> None:
        self._link = link
        self._endurance = endurance
        self.halt = endurance.halt
        self._kinds: dict[tuple[str, str], Any] = {}

    def kind(self, api_version: str, kind: str) -> Any:
        """Find a kind that the cluster serves: its path, verbs and scope.

        :raises Gone: it serves no such kind
        """
        key = (api_version, kind)
        if key not in self._kinds:
            self._kinds[key] = self._link.known(*key) or self._endurance.ask(
                lambda: self._link.kind(*key)
            )
        return self._kinds[key]

    def groups(self) -> Sequence[Version]:
        """List the groups of kinds that the cluster serves."""
        return self._endurance.ask(self._link.groups)

    def kinds(self, version: Version) -> Sequence[Any]:
        """List the kinds of a group.

        :raises Busy: the API server that serves the group is unavailable
        """
        return self._endurance.ask(lambda: self._link.kinds(version))

    def get(
        self, resource: Any, name: str, namespace: str | None
    ) -> Object | None:
        """Read one object; None when it does not exist."""
        try:
            return self._json("get", resource.path(name, namespace))
        except refusals.Gone:
            return None

    def list(
        self, resource: Any, namespace: str | None, **selectors: str
    ) -> Object:
        """List objects; ``items`` and ``metadata.resourceVersion``."""
        path = resource.path(namespace=namespace)
        return self._json("get", path, **selectors)

    def list_metadata(
        self, resource: Any, namespace: str | None, **selectors: str
    ) -> Object:
        """List objects, of each its metadata alone."""
        path = resource.path(namespace=namespace)
        return self._json(
            "get", path, header_params={"Accept": METADATA}, **selectors
        )

    def create(
        self, resource: Any, body: Object, namespace: str | None
    ) -> Object:
        """Create an object.

        :raises AlreadyExists: one of its name exists
        """
        self.halt.check()
        path = resource.path(namespace=namespace)
        return self._json("post", path, body=body, field_manager=FIELD_MANAGER)

    def apply(
        self, resource: Any, body: Object, namespace: str | None
    ) -> Object:
        """Make an object as it is here, by server-side apply."""
        self.halt.check()
        path = resource.path(body["metadata"]["name"], namespace)
        return self._json(
            "patch",
            path,
            body=body,
            content_type="application/apply-patch+yaml",
            field_manager=FIELD_MANAGER,
            force_conflicts=True,
        )

    def set_owners(
        self, resource: Any, found: Object, owners: Iterable[Object]
    ) -> None:
        """Say who owns which field of an object that was just read.

        :raises AlreadyExists: it has changed since it was read
        """
        self.halt.check()
        meta = found["metadata"]
        change = {
            "resourceVersion": meta["resourceVersion"],
            "managedFields": list(owners),
        }
        self._json(
            "patch",
            resource.path(meta["name"], meta.get("namespace")),
            body={"metadata": change},
            content_type="application/merge-patch+json",
            field_manager=FIELD_MANAGER,
        )

    def replace(
        self, resource: Any, body: Object, namespace: str | None
    ) -> Object:
        """Make an object wholly as it is here.

        :raises AlreadyExists: it has changed since it was read
        """
        self.halt.check()
        path = resource.path(body["metadata"]["name"], namespace)
        return self._json("put", path, body=body, field_manager=FIELD_MANAGER)

    def patch(
        self, resource: Any, name: str, namespace: str | None, change: Object
    ) -> Object:
        """Change what is named here of an object; null takes away. Of a list
        of containers those that are named.
        """
        self.halt.check()
        return self._json(
            "patch",
            resource.path(name, namespace),
            body=change,
            content_type="application/strategic-merge-patch+json",
            field_manager=FIELD_MANAGER,
        )

    def scale(
        self, resource: Any, name: str, namespace: str, replicas: int
    ) -> None:
        """Set the replicas of a workload, and nothing else of it."""
        self.halt.check()
        self._json(
            "patch",
            resource.path(name, namespace) + "/scale",
            body={"spec": {"replicas": replicas}},
            content_type="application/merge-patch+json",
            field_manager=FIELD_MANAGER,
        )

    def delete(
        self, resource: Any, found: Object, *, grace: int | None = None
    ) -> None:
        """Delete just this object, its dependents first; if it has gone, or
        another has taken its name, that is well.
        """
        self.halt.check()
        meta = found["metadata"]
        body: Object = {
            "propagationPolicy": propagation.policy_of(
                resource.group or "", resource.kind
            ),
            "preconditions": {"uid": meta["uid"]},
        }
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        path = resource.path(meta["name"], meta.get("namespace"))
        try:
            self._json("delete", path, body=body)
        except (refusals.Gone, refusals.AlreadyExists):
            LOG.debug("%s %s had gone", resource.kind, meta["name"])

    def evict(self, resource: Any, pod: Object) -> None:
        """Delete just this pod, if its PodDisruptionBudget allows it; if it
        has gone, that is well.

        :raises BudgetSpent: not now
        """
        self.halt.check()
        meta = pod["metadata"]
        place = {"name": meta["name"], "namespace": meta["namespace"]}
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": place,
            "deleteOptions": {"preconditions": {"uid": meta["uid"]}},
        }
        path = resource.path(**place) + "/eviction"
        try:
            self._json("post", path, body=body)
        except (refusals.Gone, refusals.AlreadyExists):
            LOG.debug("Pod %s had gone", meta["name"])

    def watch(
        self,
        resource: Any,
        namespace: str | None,
        since: str,
        seconds: int,
        **selectors: str,
    ) -> Generator[tuple[str, Object], None, None]:
        """Stream what happens after a resourceVersion, for some seconds.

        :raises Expired: that resourceVersion is too old; list again
        """
        timeout = self._link.timeout
        response = self._send(
            "get",
            resource.path(namespace=namespace),
            watch=True,
            resource_version=since,
            timeout_seconds=seconds,
            allow_watch_bookmarks=True,
            _request_timeout=(timeout, seconds + timeout),
            **selectors,
        )
        try:
            with self.halt.wakes(functools.partial(_cut, response)):
                yield from _events(response)
        except (urllib3.exceptions.HTTPError, msgspec.DecodeError) as error:
            # a watch that breaks is opened again; a dead cluster shows there
            LOG.info("A watch of %s broke: %s", self._link.endpoint, error)
        finally:
            response.close()

    def _json(self, method: str, path: str, **options: Any) -> Object:
        def ask() -> Object:
            response = self._link.send(method, path, **options)
            body: Object = self._link.told(
                lambda: msgspec.json.decode(response.data)
            )
            return body

        return self._endurance.ask(ask)

    def _send(self, method: str, path: str, **options: Any) -> Any:
        return self._endurance.ask(
            lambda: self._link.send(method, path, **options)
        )


def _events(response: Any) -> Iterator[tuple[str, Object]]:
    for line in _lines(response):
        event = msgspec.json.decode(line)
        if event["type"] == "ERROR":
            raise refusals.of_watch(event["object"])
        yield event["type"], event["object"]


def _cut(response: Any) -> None:
    """End what another thread reads; closing alone would not wake it."""
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        response.shutdown()  # unless it has ended by itself


def _lines(response: Any) -> Iterator[bytes]:
    rest = b""
    for chunk in response.stream(None, decode_content=True):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)


class Clusters:
    """The clusters of this process, one pool of connections each."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lock = threading.Lock()
        self._kept: dict[str, Link] = {}

    def connect(
        self, info: VimConnectionInfo, endurance: Endurance
    ) -> Cluster:
        """Give a cluster; it is connected when it is new.

        :raises InvalidVimConnection: the connection says too little
        :raises VimUnreachable: the cluster does not answer
        :raises VimRefused: the cluster does not let us in
        """
        connection = Connection.of(info)
        key = hashlib.sha256(msgspec.json.encode(connection)).hexdigest()
        with self._lock:
            kept = self._kept.pop(key, None)
        # outside the lock: one dead cluster holds up nobody else
        link = kept or endurance.ask(lambda: Link(connection, self._timeout))
        with self._lock:
            self._kept[key] = link  # the newest last
            while len(self._kept) > KEPT:
                self._kept.pop(next(iter(self._kept)))
        return Cluster(link, endurance)
