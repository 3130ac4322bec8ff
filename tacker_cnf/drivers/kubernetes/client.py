"""The one module that talks to a cluster.

The official dynamic client, so that any kind and any custom resource is
served; bodies go in and out as plain dicts. Its errors become ours here.
"""

import hashlib
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

import msgspec
import urllib3
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import refusals
from tacker_cnf.drivers.kubernetes.connection import Connection
from tacker_cnf.sol.common import VimConnectionInfo

LOG = log.getLogger(__name__)

Object = dict[str, Any]

FIELD_MANAGER: Final = "tacker_cnf"
#: clusters a process keeps a connection pool for
KEPT: Final = 256
#: seconds between tries while a cluster has no time for us
PAUSES: Final = (0.05, 0.5, 1.0, 2.0, 4.0)
#: requests of one process that a cluster answers at once without new sockets
POOL: Final = 64


class Cluster:
    """A cluster, reached through one pool of connections."""

    def __init__(self, connection: Connection, timeout: float) -> None:
        """Connect.

        :raises VimUnreachable: it does not answer
        :raises VimRefused: it does not let us in
        """
        from tacker_cnf.drivers.kubernetes import library

        self._library = library
        self._endpoint = connection.endpoint.rstrip("/")
        self._kinds: dict[tuple[str, str], Any] = {}
        self._timeout = timeout
        pool = urllib3.PoolManager(
            maxsize=POOL,
            ssl_context=connection.ssl_context(),
            retries=False,  # _send knows better what may be sent twice
        )
        self._client = self._told(
            lambda: library.dynamic_client(
                connection.endpoint, connection.token, pool
            )
        )
        self._discovery = threading.Lock()

    def _discovered(self, api_version: str, kind: str) -> Any:
        with self._discovery:
            try:
                return self._told(
                    lambda: self._client.resources.get(
                        api_version=api_version, kind=kind
                    )
                )
            except self._library.NotServed:
                raise refusals.Gone(
                    f"The cluster {self._endpoint} has no kind {kind} in "
                    f"{api_version}."
                ) from None

    def kind(self, api_version: str, kind: str) -> Any:
        """Find a kind that the cluster serves: its path, verbs and scope.

        :raises Gone: it serves no such kind
        """
        key = (api_version, kind)
        if key not in self._kinds:
            self._kinds[key] = self._discovered(api_version, kind)
        return self._kinds[key]

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

    def create(
        self, resource: Any, body: Object, namespace: str | None
    ) -> Object:
        """Create an object.

        :raises AlreadyExists: one of its name exists
        """
        path = resource.path(namespace=namespace)
        return self._json("post", path, body=body, field_manager=FIELD_MANAGER)

    def apply(
        self, resource: Any, body: Object, namespace: str | None
    ) -> Object:
        """Make an object as it is here, by server-side apply."""
        path = resource.path(body["metadata"]["name"], namespace)
        return self._json(
            "patch",
            path,
            body=body,
            content_type="application/apply-patch+yaml",
            field_manager=FIELD_MANAGER,
            force_conflicts=True,
        )

    def scale(
        self, resource: Any, name: str, namespace: str, replicas: int
    ) -> None:
        """Set the replicas of a workload, and nothing else of it."""
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
        meta = found["metadata"]
        body: Object = {
            "propagationPolicy": "Foreground",
            "preconditions": {"uid": meta["uid"]},
        }
        if grace is not None:
            body["gracePeriodSeconds"] = grace
        path = resource.path(meta["name"], meta.get("namespace"))
        try:
            self._json("delete", path, body=body)
        except (refusals.Gone, refusals.AlreadyExists):
            LOG.debug("%s %s had gone", resource.kind, meta["name"])

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
        response = self._send(
            "get",
            resource.path(namespace=namespace),
            watch=True,
            resource_version=since,
            timeout_seconds=seconds,
            allow_watch_bookmarks=True,
            _request_timeout=(self._timeout, seconds + self._timeout),
            **selectors,
        )
        try:
            for line in _lines(response):
                event = msgspec.json.decode(line)
                if event["type"] == "ERROR":
                    raise refusals.of_watch(event["object"])
                yield event["type"], event["object"]
        except (urllib3.exceptions.HTTPError, msgspec.DecodeError) as error:
            # a watch that breaks is opened again; a dead cluster shows there
            LOG.info("A watch of %s broke: %s", self._endpoint, error)
        finally:
            response.close()

    def _json(self, method: str, path: str, **options: Any) -> Object:
        response = self._send(method, path, **options)
        body: Object = self._told(lambda: msgspec.json.decode(response.data))
        return body

    def _send(self, method: str, path: str, **options: Any) -> Any:
        options.setdefault("_request_timeout", self._timeout)

        def send() -> Any:
            return self._client.request(
                method, path, serialize=False, **options
            )

        for pause in PAUSES:
            try:
                return self._told(send)
            except (refusals.Dropped, refusals.Busy):
                # all that we send may be sent twice
                threading.Event().wait(pause)
        return self._told(send)

    def _told(self, ask: Callable[[], Any]) -> Any:
        """Ask the cluster, and tell its errors as ours."""
        try:
            return ask()
        except self._library.ERRORS as error:
            if not error.status:  # so the client tells what TLS refused
                refused = " ".join(str(error.reason).split())
                raise errors.VimUnreachable(
                    f"The cluster {self._endpoint} does not answer: {refused}"
                ) from error
            raise refusals.of_status(
                error.status, error.body, error.reason
            ) from error
        except urllib3.exceptions.ProtocolError as error:
            raise refusals.Dropped(
                f"The cluster {self._endpoint} dropped the connection."
            ) from error
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise errors.VimUnreachable(
                f"The cluster {self._endpoint} does not answer: {reason}"
            ) from error
        except (msgspec.DecodeError, AttributeError, ValueError) as error:
            raise errors.VimUnreachable(
                f"What answers at {self._endpoint} is no Kubernetes API."
            ) from error


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
        self._kept: dict[str, Cluster] = {}

    def connect(self, info: VimConnectionInfo) -> Cluster:
        """Give the pool of a cluster; it is connected when it is new.

        :raises InvalidVimConnection: the connection says too little
        :raises VimUnreachable: the cluster does not answer
        :raises VimRefused: the cluster does not let us in
        """
        connection = Connection.of(info)
        key = hashlib.sha256(msgspec.json.encode(connection)).hexdigest()
        with self._lock:
            kept = self._kept.pop(key, None)
        # outside the lock: one dead cluster holds up nobody else
        cluster = kept or Cluster(connection, self._timeout)
        with self._lock:
            self._kept[key] = cluster  # the newest last
            while len(self._kept) > KEPT:
                self._kept.pop(next(iter(self._kept)))
        return cluster
