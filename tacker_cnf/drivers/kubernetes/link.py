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
from tacker_cnf.drivers.endurance import Away
from tacker_cnf.drivers.kubernetes import refusals
from tacker_cnf.drivers.kubernetes.connection import Connection

#: groups of kinds that belong to Kubernetes; others come and go with their
#: CustomResourceDefinitions
BUILTIN: Final = frozenset(
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
POOL: Final = 64
#: a change with an unknown field is refused, which by default is dropped
STRICT: Final = (("fieldValidation", "Strict"),)


class Version(NamedTuple):
    """A version of a group of kinds, and where it is served."""

    prefix: str
    group: str
    version: str


class Link:
    """The way to one cluster, shared by all who have to do with it."""

    def __init__(self, connection: Connection, timeout: float) -> None:
        """Connect.

        :param timeout: seconds that the cluster has to answer one request
        :raises VimUnreachable: it does not answer
        :raises VimRefused: it does not let us in
        """
        from tacker_cnf.drivers.kubernetes import library

        self._library = library
        self.endpoint = connection.endpoint.rstrip("/")
        self.timeout = timeout
        self._kinds: dict[tuple[str, str], Any] = {}
        self._versions: dict[Version, list[Any]] = {}
        self._discovery = threading.Lock()
        pool = interruptible.Pools(
            maxsize=POOL,
            ssl_context=connection.ssl_context(),
            retries=False,  # who asks knows better what may be sent twice
        )
        self._client = self.told(
            lambda: library.dynamic_client(
                connection.endpoint, connection.token, pool
            )
        )

    def known(self, api_version: str, kind: str) -> Any | None:
        """Give a kind of Kubernetes that was asked for before."""
        return self._kinds.get((api_version, kind))

    def kind(self, api_version: str, kind: str) -> Any:
        """Ask for a kind that the cluster serves: its path, verbs and scope.

        :raises Gone: it serves no such kind
        """
        group, _, version = api_version.rpartition("/")
        if group not in BUILTIN:
            return self._custom(group, version, kind)
        with self._discovery:
            try:
                found = self.told(
                    lambda: self._client.resources.get(
                        api_version=api_version, kind=kind
                    )
                )
            except self._library.NotServed:
                raise self._not_served(api_version, kind) from None
        self._kinds[api_version, kind] = found
        return found

    def _custom(self, group: str, version: str, kind: str) -> Any:
        """Ask for a kind that may be another one than the last time: with
        another scope, for instance.
        """
        found = self.told(
            lambda: self._client.resources.get_resources_for_api_version(
                "apis", group, version, preferred=True
            )
        )
        if kind not in found:
            raise self._not_served(f"{group}/{version}", kind)
        return found[kind][0]

    def groups(self) -> list[Version]:
        """List the groups that the cluster serves, each in the version that
        the cluster prefers.
        """
        groups = self.told(lambda: self._client.request("GET", "/apis").groups)
        return [Version("api", "", "v1")] + [
            Version("apis", one["name"], one["preferredVersion"]["version"])
            for one in groups
        ]

    def kinds(self, version: Version) -> list[Any]:
        """List the kinds of a group; those of Kubernetes are read once."""
        if version in self._versions:
            return self._versions[version]
        listed = self.told(
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
        if found and version.group in BUILTIN:
            self._versions[version] = found
        return found

    def _not_served(self, api_version: str, kind: str) -> refusals.Gone:
        return refusals.Gone(
            f"The cluster {self.endpoint} has no kind {kind} in {api_version}."
        )

    def send(self, method: str, path: str, **options: Any) -> Any:
        """Send one request; give the answer, whose body is not yet read.

        :raises VimUnreachable: the cluster does not answer
        :raises VimRefused: it does not do what it was asked
        """
        options.setdefault("_request_timeout", self.timeout)
        strict = STRICT if method in {"post", "put", "patch"} else ()
        return self.told(
            lambda: self._client.request(
                method,
                path,
                serialize=False,
                query_params=[*strict],  # the client adds its own to it
                **options,
            )
        )

    def told(self, ask: Callable[[], Any]) -> Any:
        """Ask the cluster, and tell its errors as ours."""
        try:
            return ask()
        except self._library.ERRORS as error:
            if not error.status:  # so the client tells what TLS refused
                raise self._of_tls(error.reason) from error
            raise refusals.of_status(
                error.status, error.body, error.reason
            ) from error
        except urllib3.exceptions.ProtocolError as error:
            raise refusals.Dropped(
                f"The cluster {self.endpoint} dropped the connection."
            ) from error
        except urllib3.exceptions.HTTPError as error:
            reason = getattr(error, "reason", None) or error
            raise Away(
                f"The cluster {self.endpoint} does not answer: {reason}"
            ) from error
        except (msgspec.DecodeError, AttributeError, ValueError) as error:
            raise errors.VimUnreachable(
                f"What answers at {self.endpoint} is no Kubernetes API."
            ) from error

    def _of_tls(self, reason: Any) -> errors.VimUnreachable:
        """Tell a cluster that is not to be trusted from one that went away
        while we shook hands.
        """
        refused = " ".join(str(reason).split())
        kind = Away if "EOF" in refused else errors.VimUnreachable
        return kind(f"The cluster {self.endpoint} does not answer: {refused}")
