"""Connections that send no change outside of a lease, and whose wait for an
answer ends when the work is called off.
"""

import contextlib
import functools
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from tacker_cnf.halting import Halt

#: methods of requests that change nothing
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_local = threading.local()


@contextlib.contextmanager
def under(halt: Halt) -> Iterator[None]:
    """Let this thread's waits for answers end when the work is called off
    at once, and let it send no change when the lease does not allow it.
    """
    before: Halt | None = getattr(_local, "halt", None)
    _local.halt = halt
    try:
        yield
    finally:
        _local.halt = before


def _check_lease(connection: HTTPConnection, method: str) -> None:
    """Check the lease at the last moment before a request is sent.

    :raises VnfmError: it does not allow a change
    """
    halt: Halt | None = getattr(_local, "halt", None)
    if halt is None or method.upper() in SAFE:
        return
    if connection.sock is None:  # this takes time too
        connection.connect()
    halt.check_lease()


def _ending(connection: HTTPConnection) -> AbstractContextManager[None]:
    halt: Halt | None = getattr(_local, "halt", None)
    if halt is None:
        return nullcontext()
    return halt.wakes(functools.partial(_cut, connection))


def _cut(connection: HTTPConnection) -> None:
    sock = connection.sock  # another thread may take it away meanwhile
    if sock is not None:
        with contextlib.suppress(OSError):  # it has ended by itself
            sock.shutdown(socket.SHUT_RDWR)


class HttpConnection(HTTPConnection):
    def request(self, method: str, *args: Any, **options: Any) -> None:
        _check_lease(self, method)
        super().request(method, *args, **options)

    def getresponse(self) -> Any:
        with _ending(self):
            return super().getresponse()


class HttpsConnection(HTTPSConnection):
    def request(self, method: str, *args: Any, **options: Any) -> None:
        _check_lease(self, method)
        super().request(method, *args, **options)

    def getresponse(self) -> Any:
        with _ending(self):
            return super().getresponse()


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = HttpConnection


class _SecuredPool(HTTPSConnectionPool):
    ConnectionCls = HttpsConnection


class Pools(urllib3.PoolManager):
    """Pools of such connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.pool_classes_by_scheme = {
            "http": _PlainPool,
            "https": _SecuredPool,
        }
