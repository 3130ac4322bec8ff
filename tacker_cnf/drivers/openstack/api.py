"""Clients of one OpenStack, and the mapping of their errors."""

from collections.abc import Callable
from typing import TypeVar

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import api_errors
from tacker_cnf.drivers.openstack.openstack_connection import Connection
from tacker_cnf.http_client.exchange import ExchangeLimits
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy

T = TypeVar("T")


class OpenstackApi:
    """Keystone session and service clients of one OpenStack, shared."""

    def __init__(
        self,
        connection: Connection,
        timeout: float,
        ssrf_policy: SsrfPolicy,
        limits: ExchangeLimits,
    ) -> None:
        """Create the clients; no request is sent yet.

        :param timeout: seconds to wait for each part of a response
        """
        from tacker_cnf.drivers.openstack import library

        self.library = library
        self.endpoint = connection.endpoint
        self._region = connection.region
        self.session = library.session(
            connection, timeout, ssrf_policy, limits
        )
        self.client = library.heat(self.session, connection.region)
        self.images = library.glance(self.session, connection.region)
        self.servers = library.nova(self.session, connection.region)

    def call(self, request: Callable[[], T]) -> T:
        """Send a request and convert the libraries' errors.

        :raises InfraError: the request failed
        """
        try:
            return request()
        except (errors.PeerFailed, errors.Forbidden) as error:
            # too large, or at an address that is not allowed
            raise errors.VimRejected(str(error)) from error
        except self.library.HEAT_ERROR as error:
            raise api_errors.heat_error(
                int(error.code), error.message
            ) from error
        except self.library.NO_TLS as error:
            raise errors.VimUnreachable(
                f"The TLS connection to {self.endpoint} failed: {error}"
            ) from error
        except self.library.NO_CONNECTION as error:
            raise errors.VimUnavailable(
                f"The OpenStack {self.endpoint} does not answer: {error}"
            ) from error
        except self.library.KEYSTONE_ERROR as error:
            raise api_errors.keystone_error(
                error.http_status, error.message
            ) from error
        except self.library.NO_SERVICE as error:
            where = f" in region {self._region}" if self._region else ""
            raise errors.VimRejected(
                f"The OpenStack {self.endpoint} has no orchestration service"
                f"{where}: {error}"
            ) from error
        except self.library.ANY_ERROR as error:
            raise errors.VimUnreachable(
                f"{self.endpoint} is not an OpenStack endpoint: {error}"
            ) from error
