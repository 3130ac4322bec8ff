"""The way to an OpenStack, and how its errors are told."""

from collections.abc import Callable
from typing import TypeVar

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import api_errors
from tacker_cnf.drivers.openstack.openstack_connection import Connection
from tacker_cnf.drivers.retry_policy import Unreachable

T = TypeVar("T")


class OpenstackApi:
    """The way to one OpenStack, shared by all who have to do with it."""

    def __init__(self, connection: Connection, timeout: float) -> None:
        """Prepare it; nothing is sent before somebody asks.

        :param timeout: seconds for each answer
        """
        from tacker_cnf.drivers.openstack import library

        self.library = library
        self.endpoint = connection.endpoint
        self._region = connection.region
        self.session = library.session(connection, timeout)
        self.client = library.heat(self.session, connection.region)
        self.images = library.glance(self.session, connection.region)
        self.servers = library.nova(self.session, connection.region)

    def call(self, request: Callable[[], T]) -> T:
        """Ask, and tell the libraries' errors as ours."""
        try:
            return request()
        except self.library.HEAT_ERROR as error:
            raise api_errors.heat_error(
                int(error.code), error.message
            ) from error
        except self.library.NO_TLS as error:
            raise errors.VimUnreachable(
                f"{self.endpoint} is not to be trusted: {error}"
            ) from error
        except self.library.NO_CONNECTION as error:
            raise Unreachable(
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
                f"What answers at {self.endpoint} is no OpenStack: {error}"
            ) from error
