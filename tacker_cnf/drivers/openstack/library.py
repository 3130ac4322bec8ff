"""What we take of OpenStack's client libraries; loaded when a process
reaches its first OpenStack, as an API server seldom does.
"""

import ssl
from typing import Any, Final

import requests.adapters
from heatclient import client, exc
from keystoneauth1 import adapter, exceptions
from keystoneauth1 import session as keystone
from keystoneauth1.identity import v3

from tacker_cnf.drivers import interruptible
from tacker_cnf.drivers.openstack.openstack_connection import Connection

#: requests of one process that an OpenStack answers without new sockets
MAX_POOLED_CONNECTIONS: Final = 64

#: an answer of Heat that is no success; it has .code and its body as text
HEAT_ERROR: Final = exc.HTTPException
#: an answer of Keystone that is no success
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
    """Speaks TLS as one context says, and can be woken while it waits."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
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
        self.poolmanager = interruptible.InterruptiblePoolManager(
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
        """Leave it to the context."""


def session(connection: Connection, timeout: float) -> Any:
    """Make a session that logs in when it is first used, and anew when its
    token has expired.

    :param timeout: seconds for each answer
    """
    http_session = requests.Session()
    http_session.trust_env = False  # no proxy and no netrc that nobody named
    adapter = _Adapter(connection.ssl_context())
    for scheme in ("http://", "https://"):
        http_session.mount(scheme, adapter)
    plugin = (
        v3.ApplicationCredential
        if connection.uses_application_credential
        else v3.Password
    )
    auth = plugin(connection.endpoint, **connection.credentials())
    return keystone.Session(auth=auth, session=http_session, timeout=timeout)


def heat(session: Any, region: str | None) -> Any:
    """Make a client of Heat; it finds its address in the catalogue."""
    return client.Client(
        "1",
        session=session,
        service_type="orchestration",
        interface="public",
        region_name=region,
    )


def glance(session: Any, region: str | None) -> Any:
    """Make what asks Glance, in version 2; the catalogue has its address."""
    return adapter.Adapter(
        session,
        service_type="image",
        interface="public",
        region_name=region,
        min_version="2",
        max_version="2.latest",
    )


def nova(session: Any, region: str | None) -> Any:
    """Make what asks Nova; the catalogue has its address."""
    return adapter.Adapter(
        session,
        service_type="compute",
        interface="public",
        region_name=region,
        # the first that tells which volumes go with a server
        default_microversion="2.3",
    )
