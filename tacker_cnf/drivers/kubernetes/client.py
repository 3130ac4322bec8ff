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

from tacker_cnf.drivers.kubernetes import api_errors, propagation
from tacker_cnf.drivers.kubernetes.cluster_connection import ClusterConnection
from tacker_cnf.drivers.kubernetes.cluster_session import (
    ClusterSession,
    GroupVersion,
)
from tacker_cnf.drivers.retry_policy import RetryPolicy
from tacker_cnf.sol.common import VimConnectionInfo

LOG = log.getLogger(__name__)

Object = dict[str, Any]

FIELD_MANAGER: Final = "tacker_cnf"
#: how a list of metadata is asked for
METADATA_MEDIA_TYPE: Final = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)
#: clusters a process keeps a connection pool for
MAX_SESSIONS: Final = 256


class Cluster:
    """A cluster, as one task asks things of it.

    No change is begun once the task was called off, and no watch goes on
    once it was called off at once.
    """

    def __init__(
        self, session: ClusterSession, retry_policy: RetryPolicy
    ) -> None:
        self._session = session
        self._retry_policy = retry_policy
        self.cancel_token = retry_policy.cancel_token
        self._kinds: dict[tuple[str, str], Any] = {}

    def kind(self, api_version: str, kind: str) -> Any:
        """Find a kind that the cluster serves: its path, verbs and scope.

        :raises NotFound: it serves no such kind
        """
        key = (api_version, kind)
        if key not in self._kinds:
            self._kinds[key] = self._session.cached_kind(
                *key
            ) or self._retry_policy.call(lambda: self._session.kind(*key))
        return self._kinds[key]

    def groups(self) -> Sequence[GroupVersion]:
        """List the groups of kinds that the cluster serves."""
        return self._retry_policy.call(self._session.groups)

    def kinds(self, version: GroupVersion) -> Sequence[Any]:
        """List the kinds of a group.

        :raises Busy: the API server that serves the group is unavailable
        """
        return self._retry_policy.call(lambda: self._session.kinds(version))

    def get(
        self, resource: Any, name: str, namespace: str | None
    ) -> Object | None:
        """Read one object; None when it does not exist."""
        try:
            return self._json("get", resource.path(name, namespace))
        except api_errors.NotFound:
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
            "get",
            path,
            header_params={"Accept": METADATA_MEDIA_TYPE},
            **selectors,
        )

    def create(
        self, resource: Any, body: Object, namespace: str | None
    ) -> Object:
        """Create an object.

        :raises Conflict: one of its name exists
        """
        self.cancel_token.check()
        path = resource.path(namespace=namespace)
        return self._json("post", path, body=body, field_manager=FIELD_MANAGER)

    def apply(
        self, resource: Any, body: Object, namespace: str | None
    ) -> Object:
        """Make an object as it is here, by server-side apply."""
        self.cancel_token.check()
        path = resource.path(body["metadata"]["name"], namespace)
        return self._json(
            "patch",
            path,
            body=body,
            content_type="application/apply-patch+yaml",
            field_manager=FIELD_MANAGER,
            force_conflicts=True,
        )

    def set_managed_fields(
        self, resource: Any, found: Object, entries: Iterable[Object]
    ) -> None:
        """Say who owns which field of an object that was just read.

        :raises Conflict: it has changed since it was read
        """
        self.cancel_token.check()
        meta = found["metadata"]
        change = {
            "resourceVersion": meta["resourceVersion"],
            "managedFields": list(entries),
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

        :raises Conflict: it has changed since it was read
        """
        self.cancel_token.check()
        path = resource.path(body["metadata"]["name"], namespace)
        return self._json("put", path, body=body, field_manager=FIELD_MANAGER)

    def patch(
        self, resource: Any, name: str, namespace: str | None, change: Object
    ) -> Object:
        """Change what is named here of an object; null takes away. Of a list
        of containers those that are named.
        """
        self.cancel_token.check()
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
        self.cancel_token.check()
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
        self.cancel_token.check()
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
        except (api_errors.NotFound, api_errors.Conflict):
            LOG.debug("%s %s had gone", resource.kind, meta["name"])

    def evict(self, resource: Any, pod: Object) -> None:
        """Delete just this pod, if its PodDisruptionBudget allows it; if it
        has gone, that is well.

        :raises BudgetSpent: not now
        """
        self.cancel_token.check()
        meta = pod["metadata"]
        object_meta = {"name": meta["name"], "namespace": meta["namespace"]}
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": object_meta,
            "deleteOptions": {"preconditions": {"uid": meta["uid"]}},
        }
        path = resource.path(**object_meta) + "/eviction"
        try:
            self._json("post", path, body=body)
        except (api_errors.NotFound, api_errors.Conflict):
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
        timeout = self._session.timeout
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
            with self.cancel_token.on_cancel(
                functools.partial(_shut_down, response)
            ):
                yield from _events(response)
        except (urllib3.exceptions.HTTPError, msgspec.DecodeError) as error:
            # a watch that breaks is opened again; a dead cluster shows there
            LOG.info("A watch of %s broke: %s", self._session.endpoint, error)
        finally:
            response.close()

    def _json(self, method: str, path: str, **options: Any) -> Object:
        def request() -> Object:
            response = self._session.send(method, path, **options)
            body: Object = self._session.translate_errors(
                lambda: msgspec.json.decode(response.data)
            )
            return body

        return self._retry_policy.call(request)

    def _send(self, method: str, path: str, **options: Any) -> Any:
        return self._retry_policy.call(
            lambda: self._session.send(method, path, **options)
        )


def _events(response: Any) -> Iterator[tuple[str, Object]]:
    for line in _lines(response):
        event = msgspec.json.decode(line)
        if event["type"] == "ERROR":
            raise api_errors.error_from_watch(event["object"])
        yield event["type"], event["object"]


def _shut_down(response: Any) -> None:
    """End what another thread reads; closing alone would not wake it."""
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        response.shutdown()  # unless it has ended by itself


def _lines(response: Any) -> Iterator[bytes]:
    rest = b""
    for chunk in response.stream(None, decode_content=True):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from filter(None, lines)


class ClusterPool:
    """The clusters of this process, one pool of connections each."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lock = threading.Lock()
        self._sessions: dict[str, ClusterSession] = {}

    def connect(
        self, info: VimConnectionInfo, retry_policy: RetryPolicy
    ) -> Cluster:
        """Give a cluster; it is connected when it is new.

        :raises InvalidVimConnection: the connection says too little
        :raises VimUnreachable: the cluster does not answer
        :raises VimRejected: the cluster does not let us in
        """
        connection = ClusterConnection.from_info(info)
        key = hashlib.sha256(msgspec.json.encode(connection)).hexdigest()
        with self._lock:
            cached = self._sessions.pop(key, None)
        # outside the lock: one dead cluster holds up nobody else
        session = cached or retry_policy.call(
            lambda: ClusterSession(connection, self._timeout)
        )
        with self._lock:
            self._sessions[key] = session  # the newest last
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.pop(next(iter(self._sessions)))
        return Cluster(session, retry_policy)
