"""The OpenStack client libraries; imported with the first connection to an
OpenStack, as an API server rarely needs them.
"""

import ssl
from typing import Any, Final

import requests.adapters
from heatclient import client, exc
from keystoneauth1 import adapter, exceptions
from keystoneauth1 import session as keystone
from keystoneauth1.identity import v3

from tacker_cnf.drivers.openstack.openstack_connection import Connection
from tacker_cnf.http_client.exchange import ExchangeLimits
from tacker_cnf.http_client.pool_manager import PoolManager
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy

#: connections to one host that are kept open
MAX_POOLED_CONNECTIONS: Final = 64

#: an error response of Heat, with .code and its body in .message
HEAT_ERROR: Final = exc.HTTPException
#: an error response of Keystone
KEYSTONE_ERROR: Final = exceptions.HttpError
NO_CONNECTION: Final = (
    exceptions.ConnectFailure,
    exceptions.ConnectTimeout,
    exceptions.UnknownConnectionError,
)
NO_TLS: Final = exceptions.SSLError
NO_SERVICE: Final = (
    exceptions.EndpointNotFound,
    exceptions.catalog.CatalogException,
)
ANY_ERROR: Final = (exceptions.ClientException, exc.BaseException)


class _Adapter(requests.adapters.HTTPAdapter):
    """Uses one TLS context, and connections within limits."""

    def __init__(
        self,
        context: ssl.SSLContext,
        ssrf_policy: SsrfPolicy,
        limits: ExchangeLimits,
    ) -> None:
        self._context = context
        self._ssrf_policy = ssrf_policy
        self._limits = limits
        super().__init__(
            pool_connections=4, pool_maxsize=MAX_POOLED_CONNECTIONS
        )

    def init_poolmanager(
        self,
        connections: int,
        maxsize: int,
        block: bool = False,  # noqa: FBT002
        **_options: Any,
    ) -> None:
        self.poolmanager = PoolManager(
            self._ssrf_policy,
            self._limits,
            num_pools=connections,
            maxsize=maxsize,
            block=block,
            ssl_context=self._context,
        )

    def build_connection_pool_key_attributes(
        self, request: Any, verify: Any, cert: Any = None
    ) -> Any:
        host, _ = super().build_connection_pool_key_attributes(
            request, verify, cert
        )
        return host, {}

    def cert_verify(self, *_: Any) -> None:
        """Do nothing: the context verifies the certificate."""


def session(
    connection: Connection,
    timeout: float,
    ssrf_policy: SsrfPolicy,
    limits: ExchangeLimits,
) -> Any:
    """Create a session that authenticates at the first request, and again
    when its token has expired.

    :param timeout: seconds to wait for each part of a response
    """
    http_session = requests.Session()
    http_session.trust_env = False  # ignore proxies and netrc of the host
    http_session.headers["Accept-Encoding"] = "identity"
    adapter = _Adapter(connection.ssl_context(), ssrf_policy, limits)
    http_session.adapters.clear()
    http_session.mount("", adapter)  # it checks the scheme
    plugin = (
        v3.ApplicationCredential
        if connection.uses_application_credential
        else v3.Password
    )
    auth = plugin(connection.endpoint, **connection.credentials())
    return keystone.Session(auth=auth, session=http_session, timeout=timeout)


def heat(session: Any, region: str | None) -> Any:
    """Create a Heat client; its URL comes from the service catalogue."""
    return client.Client(
        "1",
        session=session,
        service_type="orchestration",
        interface="public",
        region_name=region,
    )


def glance(session: Any, region: str | None) -> Any:
    """Create a Glance v2 client; its URL comes from the service catalogue."""
    return adapter.Adapter(
        session,
        service_type="image",
        interface="public",
        region_name=region,
        min_version="2",
        max_version="2.latest",
    )


def nova(session: Any, region: str | None) -> Any:
    """Create a Nova client; its URL comes from the service catalogue."""
    return adapter.Adapter(
        session,
        service_type="compute",
        interface="public",
        region_name=region,
        # the first with delete_on_termination of volumes
        default_microversion="2.3",
    )
