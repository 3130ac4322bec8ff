"""Session with a cluster: a connection pool, and the discovered kinds.

It uses the official dynamic client, which supports any kind and custom
resource, and converts its errors.
"""

import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec
import urllib3

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import api_errors, object_paths
from tacker_cnf.drivers.kubernetes.cluster_connection import ClusterConnection
from tacker_cnf.http_client.exchange import ExchangeLimits
from tacker_cnf.http_client.pool_manager import PoolManager
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy

#: API groups of Kubernetes; kinds of others may change with their
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
#: concurrent requests of one operation to a cluster
MAX_REQUESTS: Final = 4
#: concurrent requests of a process to a cluster that need no new connection;
#: [conductor] workers is 48
POOL_SIZE: Final = 256
#: reject changes with an unknown field, which the default would drop
STRICT_VALIDATION: Final = (("fieldValidation", "Strict"),)


class GroupVersion(NamedTuple):
    """A version of an API group, and the prefix of its path."""

    prefix: str
    group: str
    version: str


class ClusterSession:
    """Session with one cluster, shared by all tasks of the process."""

    def __init__(
        self,
        connection: ClusterConnection,
        timeout: float,
        ssrf_policy: SsrfPolicy,
        limits: ExchangeLimits,
    ) -> None:
        """Connect.

        :param timeout: seconds to wait for each part of a response
        :raises VimUnreachable: the cluster does not answer
        :raises VimRejected: the cluster rejects the credentials
        """
        from tacker_cnf.drivers.kubernetes import library

        self._library = library
        self.endpoint = connection.endpoint.rstrip("/")
        self.timeout = timeout
        #: size of a response, and of all pages of a list
        self.max_bytes = limits.max_bytes
        self._kinds: dict[tuple[str, str], Any] = {}
        self._versions: dict[GroupVersion, list[Any]] = {}
        self._discovery_lock = threading.Lock()
        pool = PoolManager(
            ssrf_policy,
            limits,
            maxsize=POOL_SIZE,
            ssl_context=connection.ssl_context(),
            retries=False,  # callers decide what may be sent twice
        )
        self._client = self.translate_errors(
            lambda: library.dynamic_client(
                connection.endpoint, connection.token, pool, timeout
            )
        )

    def cached_kind(self, api_version: str, kind: str) -> Any | None:
        """Return a Kubernetes kind that was read before; None: it was not."""
        return self._kinds.get((api_version, kind))

    def kind(self, api_version: str, kind: str) -> Any:
        """Read a kind that the cluster serves: its path, verbs and scope.

        :raises NotFound: the cluster serves no such kind
        :raises InvalidParameters: there cannot be such a kind
        """
        object_paths.check_kind(api_version, kind)
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
        """Read a kind that may have changed since it was read last, for
        instance its scope.
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
        """List the API groups, each in the version that the cluster prefers."""
        groups = self.translate_errors(
            lambda: self._client.request("GET", "/apis").groups
        )
        return [GroupVersion("api", "", "v1")] + [
            GroupVersion(
                "apis", group["name"], group["preferredVersion"]["version"]
            )
            for group in groups
        ]

    def kinds(self, version: GroupVersion) -> list[Any]:
        """List the kinds of an API group; those of Kubernetes are cached."""
        if version in self._versions:
            return self._versions[version]
        listed = self.translate_errors(
            lambda: self._client.resources.get_resources_for_api_version(
                *version, preferred=True
            )
        )
        found = [
            kind
            for kinds in listed.values()
            for kind in kinds
            if not isinstance(kind, self._library.ResourceList)
        ]
        if found and version.group in BUILTIN_GROUPS:
            self._versions[version] = found
        return found

    def _not_served(self, api_version: str, kind: str) -> api_errors.NotFound:
        return api_errors.NotFound(
            f"The cluster {self.endpoint} has no kind {kind} in {api_version}."
        )

    def send(self, method: str, path: str, **options: Any) -> Any:
        """Send a request; return the response, its body not yet read.

        :raises VimUnreachable: the cluster does not answer
        :raises VimRejected: the cluster rejects the request
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
                query_params=[*strict],  # a copy: the client extends the list
                **options,
            )
        )

    def translate_errors(self, call: Callable[[], Any]) -> Any:
        """Call the client, and convert its errors to ``errors.InfraError``."""
        try:
            return call()
        except self._library.ERRORS as error:
            if not error.status:  # TLS failed
                raise self._tls_error(error.reason) from error
            raise api_errors.error_from_status(
                error.status, error.body
            ) from error
        except urllib3.exceptions.ProtocolError as error:
            raise api_errors.ConnectionDropped(
                f"The cluster {self.endpoint} dropped the connection."
            ) from error
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise errors.VimUnavailable(
                f"The cluster {self.endpoint} does not answer: {reason}"
            ) from error
        except (errors.PeerFailed, errors.Forbidden) as error:
            # too large, or at an address that is not allowed
            raise errors.VimRejected(str(error)) from error
        except (
            msgspec.DecodeError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:
            raise errors.VimUnreachable(
                f"The server at {self.endpoint} is not a Kubernetes API server."
            ) from error

    def _tls_error(self, reason: Any) -> errors.VimUnreachable:
        """Build the error of a failed TLS handshake: a connection that was
        closed may be retried, an untrusted certificate may not.
        """
        message = " ".join(str(reason).split())
        kind = (
            errors.VimUnavailable
            if "EOF" in message
            else errors.VimUnreachable
        )
        return kind(f"The cluster {self.endpoint} does not answer: {message}")
