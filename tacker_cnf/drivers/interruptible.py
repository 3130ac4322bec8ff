"""HTTP connections that send changes only within a lease, and that stop
waiting for an answer when the task is cancelled.
"""

import contextlib
import functools
import socket
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from tacker_cnf.runtime.cancellation import CancelToken

#: methods of requests that change nothing
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def _check_lease(connection: HTTPConnection, method: str) -> None:
    """Check the lease at the last moment before a request is sent.

    :raises VnfmError: the lease does not allow a change
    """
    cancel_token = CancelToken.current()
    if cancel_token is None or method.upper() in SAFE_METHODS:
        return
    if connection.sock is None:  # connecting takes time: do it before
        connection.connect()
    cancel_token.check_lease()


def _shut_down_on_cancel(
    connection: HTTPConnection,
) -> AbstractContextManager[None]:
    cancel_token = CancelToken.current()
    if cancel_token is None:
        return nullcontext()
    return cancel_token.on_cancel(functools.partial(_shut_down, connection))


def _shut_down(connection: HTTPConnection) -> None:
    sock = connection.sock  # another thread may close it meanwhile
    if sock is not None:
        with contextlib.suppress(OSError):  # it is closed already
            sock.shutdown(socket.SHUT_RDWR)


class HttpConnection(HTTPConnection):
    def request(self, method: str, *args: Any, **options: Any) -> None:
        _check_lease(self, method)
        super().request(method, *args, **options)

    def getresponse(self) -> Any:
        with _shut_down_on_cancel(self):
            return super().getresponse()


class HttpsConnection(HttpConnection, HTTPSConnection):
    pass


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = HttpConnection


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = HttpsConnection


class InterruptiblePoolManager(urllib3.PoolManager):
    """Pool manager of interruptible connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.pool_classes_by_scheme = {
            "http": _HttpPool,
            "https": _HttpsPool,
        }
