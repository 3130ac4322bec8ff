"""Clients of one OpenStack, and the mapping of their errors."""

import os
import socket
from collections.abc import Callable
from typing import Final, TypeVar

import urllib3

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import api_errors
from tacker_cnf.drivers.openstack.openstack_connection import Connection
from tacker_cnf.http_client.exchange import ExchangeLimits
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy

T = TypeVar("T")

#: what the libraries raise if a response is not as they expect
UNEXPECTED: Final = (
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


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
                f"The OpenStack {self.endpoint} does not answer: "
                f"{_reason(error)}"
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
        except (*self.library.ANY_ERROR, *UNEXPECTED) as error:
            # its text may contain parts of a body
            raise errors.VimUnreachable(
                f"The server at {self.endpoint}, or one in its service "
                "catalogue, does not answer as an OpenStack."
            ) from error


def _reason(error: BaseException) -> str:
    """Return why a connection failed, without what the server sent."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):
            return "its host name cannot be resolved"
        if isinstance(cause, TimeoutError | urllib3.exceptions.TimeoutError):
            return "no answer in time"
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno)
        cause = cause.__cause__ or cause.__context__
    return "it closed the connection, or does not send HTTP"
