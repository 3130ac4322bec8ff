"""The way to a cluster: one pool of connections, and what it serves.

The official dynamic client, so that any kind and any custom resource is
served. Its errors become ours here.
"""

import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec
import urllib3

from tacker_cnf import errors
from tacker_cnf.drivers import interruptible
from tacker_cnf.drivers.kubernetes import api_errors
from tacker_cnf.drivers.kubernetes.cluster_connection import ClusterConnection
from tacker_cnf.drivers.retry_policy import Unreachable

#: groups of kinds that belong to Kubernetes; others come and go with their
#: CustomResourceDefinitions
BUILTIN_GROUPS: Final = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
    }
)
#: requests of one process that a cluster answers at once without new sockets
POOL_SIZE: Final = 64
#: a change with an unknown field is refused, which by default is dropped
STRICT_VALIDATION: Final = (("fieldValidation", "Strict"),)


class GroupVersion(NamedTuple):
    """A version of a group of kinds, and where it is served."""

    prefix: str
    group: str
    version: str


class ClusterSession:
    """The way to one cluster, shared by all who have to do with it."""

    def __init__(self, connection: ClusterConnection, timeout: float) -> None:
        """Connect.

        :param timeout: seconds that the cluster has to answer one request
        :raises VimUnreachable: it does not answer
        :raises VimRejected: it does not let us in
        """
        from tacker_cnf.drivers.kubernetes import library

        self._library = library
        self.endpoint = connection.endpoint.rstrip("/")
        self.timeout = timeout
        self._kinds: dict[tuple[str, str], Any] = {}
        self._versions: dict[GroupVersion, list[Any]] = {}
        self._discovery_lock = threading.Lock()
        pool = interruptible.InterruptiblePoolManager(
            maxsize=POOL_SIZE,
            ssl_context=connection.ssl_context(),
            retries=False,  # who asks knows better what may be sent twice
        )
        self._client = self.translate_errors(
            lambda: library.dynamic_client(
                connection.endpoint, connection.token, pool
            )
        )

    def cached_kind(self, api_version: str, kind: str) -> Any | None:
        """Give a kind of Kubernetes that was asked for before."""
        return self._kinds.get((api_version, kind))

    def kind(self, api_version: str, kind: str) -> Any:
        """Ask for a kind that the cluster serves: its path, verbs and scope.

        :raises NotFound: it serves no such kind
        """
        group, _, version = api_version.rpartition("/")
        if group not in BUILTIN_GROUPS:
            return self._get_custom_kind(group, version, kind)
        with self._discovery_lock:
            try:
                found = self.translate_errors(
                    lambda: self._client.resources.get(
                        api_version=api_version, kind=kind
                    )
                )
            except self._library.NotServed:
                raise self._not_served(api_version, kind) from None
        self._kinds[api_version, kind] = found
        return found

    def _get_custom_kind(self, group: str, version: str, kind: str) -> Any:
        """Ask for a kind that may be another one than the last time: with
        another scope, for instance.
        """
        found = self.translate_errors(
            lambda: self._client.resources.get_resources_for_api_version(
                "apis", group, version, preferred=True
            )
        )
        if kind not in found:
            raise self._not_served(f"{group}/{version}", kind)
        return found[kind][0]

    def groups(self) -> list[GroupVersion]:
        """List the groups that the cluster serves, each in the version that
        the cluster prefers.
        """
        groups = self.translate_errors(
            lambda: self._client.request("GET", "/apis").groups
        )
        return [GroupVersion("api", "", "v1")] + [
            GroupVersion(
                "apis", one["name"], one["preferredVersion"]["version"]
            )
            for one in groups
        ]

    def kinds(self, version: GroupVersion) -> list[Any]:
        """List the kinds of a group; those of Kubernetes are read once."""
        if version in self._versions:
            return self._versions[version]
        listed = self.translate_errors(
            lambda: self._client.resources.get_resources_for_api_version(
                *version, preferred=True
            )
        )
        found = [
            one
            for kinds in listed.values()
            for one in kinds
            if not isinstance(one, self._library.ResourceList)
        ]
        if found and version.group in BUILTIN_GROUPS:
            self._versions[version] = found
        return found

    def _not_served(self, api_version: str, kind: str) -> api_errors.NotFound:
        return api_errors.NotFound(
            f"The cluster {self.endpoint} has no kind {kind} in {api_version}."
        )

    def send(self, method: str, path: str, **options: Any) -> Any:
        """Send one request; give the answer, whose body is not yet read.

        :raises VimUnreachable: the cluster does not answer
        :raises VimRejected: it does not do what it was asked
        """
        options.setdefault("_request_timeout", self.timeout)
        strict = (
            STRICT_VALIDATION if method in {"post", "put", "patch"} else ()
        )
        return self.translate_errors(
            lambda: self._client.request(
                method,
                path,
                serialize=False,
                query_params=[*strict],  # the client adds its own to it
                **options,
            )
        )

    def translate_errors(self, call: Callable[[], Any]) -> Any:
        """Ask the cluster, and tell its errors as ours."""
        try:
            return call()
        except self._library.ERRORS as error:
            if not error.status:  # so the client tells what TLS refused
                raise self._tls_error(error.reason) from error
            raise api_errors.error_from_status(
                error.status, error.body, error.reason
            ) from error
        except urllib3.exceptions.ProtocolError as error:
            raise api_errors.ConnectionDropped(
                f"The cluster {self.endpoint} dropped the connection."
            ) from error
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise Unreachable(
                f"The cluster {self.endpoint} does not answer: {reason}"
            ) from error
        except (msgspec.DecodeError, AttributeError, ValueError) as error:
            raise errors.VimUnreachable(
                f"What answers at {self.endpoint} is no Kubernetes API."
            ) from error

    def _tls_error(self, reason: Any) -> errors.VimUnreachable:
        """Tell a cluster that is not to be trusted from one that went away
        while we shook hands.
        """
        message = " ".join(str(reason).split())
        kind = Unreachable if "EOF" in message else errors.VimUnreachable
        return kind(f"The cluster {self.endpoint} does not answer: {message}")
