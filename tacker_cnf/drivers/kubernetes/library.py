"""What we take of the official client library; loaded when a process reaches
its first cluster, as an API server seldom does.
"""

import os
import socket
from typing import Any, Final

import kubernetes.client
import kubernetes.dynamic
import urllib3
from kubernetes.dynamic import exceptions, resource

NotServed: Final = exceptions.ResourceNotFoundError
#: a list of objects, which the client counts as a kind
ResourceList: Final = resource.ResourceList
#: an answer that is no success; status 0 where TLS failed
ERRORS: Final = (
    exceptions.DynamicApiError,
    kubernetes.client.ApiException,
)


class Client(kubernetes.dynamic.DynamicClient):
    """Raises 503 as an error that is not caught by the discovery of the
    library, which takes it for a group without kinds.
    """

    def request(self, method: str, path: str, **options: Any) -> Any:
        """Send one request; return what the API server answered."""
        send: Any = super().request
        try:
            return send(method, path, **options)
        except exceptions.ServiceUnavailableError as error:
            raise exceptions.DynamicApiError(error) from error  # type: ignore[no-untyped-call]


class Discoverer(kubernetes.dynamic.LazyDiscoverer):
    """Keeps what it discovered in memory; the library's keeps a file."""

    def __init__(self, client: Any, _cache_file: Any) -> None:
        super().__init__(client, "/nonexistent")  # type: ignore[no-untyped-call]

    def _write_cache(self) -> None:
        pass


def dynamic_client(
    endpoint: str, token: str | None, pool: urllib3.PoolManager
) -> Any:
    """Make a dynamic client; it asks the cluster for its API groups.

    Its User-Agent names this process, for the audit log of the cluster.
    """
    configuration = kubernetes.client.Configuration(host=endpoint)
    if token:
        configuration.api_key = {"authorization": f"Bearer {token}"}
    api = kubernetes.client.ApiClient(configuration)
    api.rest_client.pool_manager = pool
    api.user_agent = f"tacker_cnf ({socket.gethostname()}:{os.getpid()})"
    client_class: Any = Client
    return client_class(api, None, Discoverer)
