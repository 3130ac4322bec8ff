"""Requests to a cluster; objects are passed and returned as plain dicts."""

import contextlib
import functools
import hashlib
import threading
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, Final, TypeVar

import msgspec
import urllib3
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import api_errors, propagation
from tacker_cnf.drivers.kubernetes.cluster_connection import ClusterConnection
from tacker_cnf.drivers.kubernetes.cluster_session import (
    ClusterSession,
    GroupVersion,
)
from tacker_cnf.drivers.kubernetes.object_paths import path_of
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.http_client.exchange import DEFAULT_LIMITS, ExchangeLimits
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.sol.common import VimConnectionInfo

LOG = log.getLogger(__name__)

T = TypeVar("T")

FIELD_MANAGER: Final = "tacker_cnf"
#: Accept header of a list of metadata
METADATA_MEDIA_TYPE: Final = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)
#: most bytes of events that are read at once
CHUNK_BYTES: Final = 65536
#: objects in a page of a list
PAGE_SIZE: Final = 500
#: pages of a list
MAX_PAGES: Final = 1000
#: attempts to read a list whose pages expire, as after a compaction of etcd
MAX_LIST_ATTEMPTS: Final = 3
#: clusters for which a process keeps a connection pool
MAX_SESSIONS: Final = 256
#: value of the parameter dryRun
DRY_RUN: Final = "All"


class _ListMeta(msgspec.Struct, frozen=True):
    version: str = msgspec.field(name="resourceVersion", default="")
    #: continues the list; empty: this is its last page
    token: str | None = msgspec.field(name="continue", default=None)


class _Page(msgspec.Struct, frozen=True):
    """A page of a list."""

    items: list[Object] | None
    metadata: _ListMeta = _ListMeta()


class Cluster:
    """A cluster, as used by one task.

    A cancelled task begins no further change; a forceful cancellation also
    ends its watches.
    """

    def __init__(
        self, session: ClusterSession, retry_policy: RetryPolicy
    ) -> None:
        self._session = session
        self._retry_policy = retry_policy
        self.cancel_token = retry_policy.cancel_token
        self._kinds: dict[tuple[str, str], Any] = {}

    def kind(self, api_version: str, kind: str) -> Any:
        """Return a kind that the cluster serves: its path, verbs and scope.

        :raises NotFound: the cluster serves no such kind
        """
        key = (api_version, kind)
        if key not in self._kinds:
            self._kinds[key] = self._session.cached_kind(
                *key
            ) or self._retry_policy.call(lambda: self._session.kind(*key))
        return self._kinds[key]

    def groups(self) -> Sequence[GroupVersion]:
        """List the API groups that the cluster serves."""
        return self._retry_policy.call(self._session.groups)

    def kinds(self, version: GroupVersion) -> Sequence[Any]:
        """List the kinds of an API group.

        :raises TooManyRequests: the API server of the group is unavailable
        """
        return self._retry_policy.call(lambda: self._session.kinds(version))

    def get(
        self, resource: Any, name: str, namespace: str | None
    ) -> Object | None:
        """Read an object; None: it does not exist."""
        try:
            return self._json("get", path_of(resource, name, namespace))
        except api_errors.NotFound:
            return None

    def latest_version(
        self, resource: Any, namespace: str | None, **selectors: str
    ) -> str:
        """Return the resourceVersion at which objects can be watched."""
        path = path_of(resource, namespace=namespace)
        page, _ = self._page(path, limit=1, **selectors)
        return page.metadata.version

    def list(
        self, resource: Any, namespace: str | None, **selectors: str
    ) -> Object:
        """List objects: ``items`` and ``metadata.resourceVersion``.

        :raises VimRejected: the list is larger than one response may be
        """
        path = path_of(resource, namespace=namespace)
        return self._all_pages(path, **selectors)

    def list_metadata(
        self, resource: Any, namespace: str | None, **selectors: str
    ) -> Object:
        """List objects, only their metadata.

        :raises VimRejected: the list is larger than one response may be
        """
        path = path_of(resource, namespace=namespace)
        return self._all_pages(
            path,
            header_params={"Accept": METADATA_MEDIA_TYPE},
            **selectors,
        )

    def create(
        self,
        resource: Any,
        body: Object,
        namespace: str | None,
        dry_run: str | None = None,
    ) -> Object:
        """Create an object.

        :param dry_run: DRY_RUN: check and return what would be stored
        :raises Conflict: an object of this name exists
        """
        self.cancel_token.check()
        path = path_of(resource, namespace=namespace)
        return self._json(
            "post",
            path,
            body=body,
            field_manager=FIELD_MANAGER,
            dry_run=dry_run,
        )

    def apply(
        self,
        resource: Any,
        body: Object,
        namespace: str | None,
        dry_run: str | None = None,
    ) -> Object:
        """Create or change an object by server-side apply.

        :param dry_run: DRY_RUN: check and return what would be stored
        """
        self.cancel_token.check()
        path = path_of(resource, body["metadata"]["name"], namespace)
        return self._json(
            "patch",
            path,
            body=body,
            content_type="application/apply-patch+yaml",
            field_manager=FIELD_MANAGER,
            force_conflicts=True,
            dry_run=dry_run,
        )

    def set_managed_fields(
        self, resource: Any, found: Object, entries: Iterable[Object]
    ) -> None:
        """Set the managedFields of an object that was just read.

        :raises Conflict: the object has changed since it was read
        """
        self.cancel_token.check()
        meta = found["metadata"]
        change = {
            "resourceVersion": meta["resourceVersion"],
            "managedFields": list(entries),
        }
        self._json(
            "patch",
            path_of(resource, meta["name"], meta.get("namespace")),
            body={"metadata": change},
            content_type="application/merge-patch+json",
            field_manager=FIELD_MANAGER,
        )

    def replace(
        self,
        resource: Any,
        body: Object,
        namespace: str | None,
        dry_run: str | None = None,
    ) -> Object:
        """Replace an object (PUT).

        :param dry_run: DRY_RUN: check and return what would be stored
        :raises Conflict: the object has changed since it was read
        """
        self.cancel_token.check()
        path = path_of(resource, body["metadata"]["name"], namespace)
        return self._json(
            "put",
            path,
            body=body,
            field_manager=FIELD_MANAGER,
            dry_run=dry_run,
        )

    def patch(
        self, resource: Any, name: str, namespace: str | None, change: Object
    ) -> Object:
        """Change an object by a strategic merge patch: null removes a field;
        lists of containers are merged by name.
        """
        self.cancel_token.check()
        return self._json(
            "patch",
            path_of(resource, name, namespace),
            body=change,
            content_type="application/strategic-merge-patch+json",
            field_manager=FIELD_MANAGER,
        )

    def scale(
        self, resource: Any, name: str, namespace: str, replicas: int
    ) -> None:
        """Set the replicas of a workload by its scale subresource."""
        self.cancel_token.check()
        self._json(
            "patch",
            path_of(resource, name, namespace) + "/scale",
            body={"spec": {"replicas": replicas}},
            content_type="application/merge-patch+json",
            field_manager=FIELD_MANAGER,
        )

    def delete(
        self, resource: Any, found: Object, *, grace: int | None = None
    ) -> None:
        """Delete exactly this object, by its uid. It is no error if the
        object, or its name, does not exist any more.
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
        path = path_of(resource, meta["name"], meta.get("namespace"))
        try:
            self._json("delete", path, body=body)
        except (api_errors.NotFound, api_errors.Conflict):
            LOG.debug(
                "Already deleted: kind=%s name=%s", resource.kind, meta["name"]
            )

    def evict(self, resource: Any, pod: Object) -> None:
        """Evict exactly this pod, by its uid. It is no error if the pod does
        not exist any more.

        :raises DisruptionNotAllowed: its PodDisruptionBudget does not allow it
            now
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
        path = path_of(resource, **object_meta) + "/eviction"
        try:
            self._json("post", path, body=body)
        except (api_errors.NotFound, api_errors.Conflict):
            LOG.debug("Already deleted: kind=Pod name=%s", meta["name"])

    def watch(
        self,
        resource: Any,
        namespace: str | None,
        since: str,
        seconds: int,
        **selectors: str,
    ) -> Generator[tuple[str, Object], None, None]:
        """Yield (type, object) of the events after a resourceVersion, for
        some seconds.

        :raises Expired: the resourceVersion is too old; list again
        """
        timeout = self._session.timeout
        response = self._send(
            "get",
            path_of(resource, namespace=namespace),
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
        except (
            urllib3.exceptions.HTTPError,
            msgspec.DecodeError,
            errors.PeerFailed,  # many events: more bytes than one response has
        ) as error:
            # callers open the watch again, which fails if the cluster is lost
            LOG.info(
                "Watch broken: cluster=%s error=%s",
                self._session.endpoint,
                error,
            )
        finally:
            response.close()

    def _all_pages(self, path: str, **options: Any) -> Object:
        """Read a list in pages; start again if it expires meanwhile.

        :raises Expired: it has expired several times
        """
        for _ in range(MAX_LIST_ATTEMPTS - 1):
            with contextlib.suppress(api_errors.Expired):
                return self._read_pages(path, options)
        return self._read_pages(path, options)

    def _read_pages(self, path: str, options: Mapping[str, Any]) -> Object:
        """Read a list in pages, all as of the resourceVersion of the first.

        :raises Expired: the API server no longer has this version
        """
        items: list[Object] = []
        size, token = 0, None
        for _ in range(MAX_PAGES):
            page, length = self._page(
                path, limit=PAGE_SIZE, _continue=token, **options
            )
            items += page.items or ()
            size += length
            token = page.metadata.token
            if not token:
                version = {"resourceVersion": page.metadata.version}
                return {"metadata": version, "items": items}
            if size > self._session.max_bytes:
                break
        raise errors.VimRejected(
            f"The list {path} of the cluster {self._session.endpoint} has more "
            f"than {MAX_PAGES} pages or {self._session.max_bytes} bytes "
            "([outgoing] max_response_bytes)."
        )

    def _page(self, path: str, **options: Any) -> tuple[_Page, int]:
        """Read a page of a list; return it, and its size in bytes."""

        def decode(data: bytes) -> tuple[_Page, int]:
            return msgspec.json.decode(data, type=_Page), len(data)

        return self._decoded(decode, "get", path, **options)

    def _json(self, method: str, path: str, **options: Any) -> Object:
        return self._decoded(msgspec.json.decode, method, path, **options)

    def _decoded(
        self,
        decode: Callable[[bytes], T],
        method: str,
        path: str,
        **options: Any,
    ) -> T:
        """Send a request, and decode its response."""

        def request() -> T:
            response = self._session.send(method, path, **options)
            body: T = self._session.translate_errors(
                lambda: decode(response.data)
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
    """Interrupt the thread that reads a response; ``close`` would not."""
    with contextlib.suppress(OSError, RuntimeError, ValueError):
        response.shutdown()  # fails if the response has ended already


def _lines(response: Any) -> Iterator[bytes]:
    remainder = b""
    for chunk in response.stream(CHUNK_BYTES):
        *lines, remainder = (remainder + chunk).split(b"\n")
        yield from filter(None, lines)


class ClusterPool:
    """The cluster sessions of this process, one connection pool each."""

    def __init__(
        self,
        timeout: float,
        ssrf_policy: SsrfPolicy,
        limits: ExchangeLimits = DEFAULT_LIMITS,
    ) -> None:
        self._timeout = timeout
        self._ssrf_policy = ssrf_policy
        self._limits = limits
        self._lock = threading.Lock()
        self._sessions: dict[str, ClusterSession] = {}

    def connect(
        self, info: VimConnectionInfo, retry_policy: RetryPolicy
    ) -> Cluster:
        """Return a cluster; connect to it if it is new.

        :raises InvalidVimConnection: the connection is incomplete or invalid
        :raises VimUnreachable: the cluster does not answer
        :raises VimRejected: the cluster rejects the credentials
        """
        connection = ClusterConnection.from_info(info)
        key = hashlib.sha256(msgspec.json.encode(connection)).hexdigest()
        with self._lock:
            cached = self._sessions.pop(key, None)
        # outside the lock: an unreachable cluster must not block others
        session = cached or retry_policy.call(
            lambda: ClusterSession(
                connection, self._timeout, self._ssrf_policy, self._limits
            )
        )
        with self._lock:
            self._sessions[key] = session  # the newest last
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.pop(next(iter(self._sessions)))
        return Cluster(session, retry_policy)
