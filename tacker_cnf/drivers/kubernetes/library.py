"""The parts of the official client library that are used. Loaded when a
process connects to its first cluster; API servers seldom do.
"""

import os
import socket
from typing import Any, Final

import kubernetes.client
import kubernetes.dynamic
import urllib3
from kubernetes.dynamic import exceptions, resource

NotServed: Final = exceptions.ResourceNotFoundError
#: a list kind, which the discovery of the library returns among the kinds
ResourceList: Final = resource.ResourceList
#: errors of the library; status 0: TLS failed
ERRORS: Final = (
    exceptions.DynamicApiError,
    kubernetes.client.ApiException,
)


class Discoverer(kubernetes.dynamic.LazyDiscoverer):
    """Caches the discovery in memory; the library uses a file."""

    def __init__(self, client: Any, _cache_file: Any) -> None:
        super().__init__(client, "/nonexistent")  # type: ignore[no-untyped-call]

    def _write_cache(self) -> None:
        pass


class DynamicClient(kubernetes.dynamic.DynamicClient):
    """Raises 503 as an error that the discovery of the library does not catch;
    it would treat the API group as one without kinds. Its requests have a
    timeout, those of the discovery too.
    """

    def __init__(self, api: Any, timeout: float) -> None:
        self._timeout = timeout  # the constructor requests the API groups
        super().__init__(api, None, Discoverer)  # type: ignore[no-untyped-call]

    def request(self, method: str, path: str, **options: Any) -> Any:
        """Send one request; return what the API server answered."""
        send: Any = super().request
        options.setdefault("_request_timeout", self._timeout)
        try:
            return send(method, path, **options)
        except exceptions.ServiceUnavailableError as error:
            raise exceptions.DynamicApiError(error) from error  # type: ignore[no-untyped-call]


def dynamic_client(
    endpoint: str,
    token: str | None,
    pool: urllib3.PoolManager,
    timeout: float,
) -> Any:
    """Create a dynamic client; this requests the API groups of the cluster.

    Its User-Agent names this process, for the audit log of the cluster.

    :param timeout: seconds to wait for each part of a response
    """
    configuration = kubernetes.client.Configuration(host=endpoint)
    if token:
        configuration.api_key = {"authorization": f"Bearer {token}"}
    api = kubernetes.client.ApiClient(configuration)
    api.rest_client.pool_manager = pool
    api.user_agent = f"tacker_cnf ({socket.gethostname()}:{os.getpid()})"
    return DynamicClient(api, timeout)
