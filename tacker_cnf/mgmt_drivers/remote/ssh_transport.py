"""Reaches a machine by SSH, knows it by its key, and logs in."""

import contextlib
import dataclasses
import itertools
import logging
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import paramiko

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.remote.keys import HostKey, Login
from tacker_cnf.runtime.cancellation import Deadline

#: seconds between tries while a machine boots; the last again and again
RETRY_DELAYS_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
#: the same after a login was refused: who guesses is locked out
LOGIN_RETRY_DELAYS_S: Final = (5.0, 10.0)
#: seconds for one try to connect, and to talk until one is logged in
CONNECT_TIMEOUT_S: Final = 5.0
HANDSHAKE_TIMEOUT_S: Final = 30.0
#: what a lost machine is noticed by, within some 30 seconds
KEEPALIVE_OPTIONS: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000),
)

#: all that goes wrong with a connection
CONNECTION_ERRORS: Final = (paramiko.SSHException, OSError, EOFError)

# its errors are told by ours, and would stand in the log of the script
logging.getLogger("paramiko").addHandler(logging.NullHandler())


@dataclasses.dataclass(frozen=True)
class SshTarget:
    """Where to connect to, and what to find there.

    :param known_key: the key that the machine has to show; None: any
    :param fresh: the machine was made just now, so that its user may not
        have its password or key yet: a login that is refused is tried again
    """

    address: str
    login: Login
    known_key: HostKey | None = None
    port: int = 22
    fresh: bool = False

    def __str__(self) -> str:
        port = "" if self.port == 22 else f" port {self.port}"
        return f"{self.login.username}@{self.address}{port}"


def connect(target: SshTarget, deadline: Deadline) -> Any:
    """Connect and log in, again and again while the machine may be booting.

    :raises RemoteUnreachable: nobody answered as an SSH server does
    :raises HostKeyChanged: the machine is another than the one known
    :raises LoginRejected: it does not let the user in
    """
    delays: dict[type[Exception], Iterator[float]] = {
        errors.RemoteUnreachable: _delays(RETRY_DELAYS_S)
    }
    if target.fresh:
        delays[errors.LoginRejected] = _delays(LOGIN_RETRY_DELAYS_S)
    while True:
        try:
            return _connect_once(target, deadline)
        except tuple(delays) as error:
            delay = next(delays[type(error)])
            if deadline.remaining <= delay:
                raise
            time.sleep(delay)


def _delays(delays: tuple[float, ...]) -> Iterator[float]:
    return itertools.chain(delays, itertools.repeat(delays[-1]))


def _connect_once(target: SshTarget, deadline: Deadline) -> Any:
    """Try once.

    :return: a transport that is logged in
    """
    transport = paramiko.Transport(_socket(target, deadline))
    deadline = Deadline.within(min(HANDSHAKE_TIMEOUT_S, deadline.remaining))
    try:
        with close_at(transport, deadline):
            _handshake(transport, target, deadline)
            _log_in(transport, target)
    except BaseException:
        close(transport)
        raise
    return transport


def close(transport: Any) -> None:
    """End a connection, and the thread that reads from it."""
    transport.close()
    transport.sock.close()  # for one that was never started
    if transport.is_alive():
        transport.join(CONNECT_TIMEOUT_S)


@contextlib.contextmanager
def close_at(transport: Any, deadline: Deadline) -> Iterator[None]:
    """Close a connection when the time is up: whatever waits for it ends."""
    timer = threading.Timer(deadline.remaining, transport.close)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _socket(target: SshTarget, deadline: Deadline) -> socket.socket:
    timeout = max(min(CONNECT_TIMEOUT_S, deadline.remaining), 0.1)
    try:
        connection = socket.create_connection(
            (target.address, target.port), timeout
        )
    except ConnectionRefusedError as error:
        raise _unreachable(target, "the connection is refused") from error
    except TimeoutError as error:
        raise _unreachable(target, "the machine does not answer") from error
    except OSError as error:
        raise _unreachable(target, error.strerror or error) from error
    for level, option, value in KEEPALIVE_OPTIONS:
        connection.setsockopt(level, option, value)
    return connection


def _handshake(transport: Any, target: SshTarget, deadline: Deadline) -> None:
    """Agree on encryption, and see who is at the other end.

    :raises RemoteUnreachable: there is no SSH server
    :raises HostKeyChanged: it shows another key
    """
    transport.banner_timeout = deadline.remaining
    transport.handshake_timeout = deadline.remaining
    known = target.known_key
    if known:
        options = transport.get_security_options()
        others = (a for a in options.key_types if a not in known.algorithms)
        options.key_types = (*known.algorithms, *others)
    try:
        transport.start_client()
    except CONNECTION_ERRORS as error:
        raise _unreachable(
            target, _handshake_failure(transport, error, deadline)
        ) from error
    shown = HostKey.from_key(transport.get_remote_server_key())
    if known and shown != known:
        raise errors.HostKeyChanged(
            f"SSH to {target}: the machine shows the host key "
            f"{shown.fingerprint}, but {known.fingerprint} is known of it; "
            "it may be another machine. Nothing was sent to it."
        )


def _handshake_failure(
    transport: Any, error: Exception, deadline: Deadline
) -> str:
    """Tell why there is no agreement."""
    if transport.remote_version:
        return f"SSH fails before the login: {error or 'it is silent'}"
    if deadline.passed:
        return "the port is open, but SSH is silent there"
    return "no SSH server answers there"


def _log_in(transport: Any, target: SshTarget) -> None:
    """Log in, in one of the ways, or in several where each is a part.

    :raises LoginRejected: none was accepted
    :raises RemoteUnreachable: the connection ended
    """
    transport.auth_timeout = HANDSHAKE_TIMEOUT_S
    allowed: list[str] = []
    for authenticate in target.login.auth_methods(transport):
        try:
            authenticate()
        except paramiko.BadAuthenticationType as error:
            allowed = error.allowed_types
        except CONNECTION_ERRORS as error:
            if transport.is_active():
                continue
            reason = f"the connection ended during the login: {error}"
            raise _unreachable(target, reason) from error
        if transport.is_authenticated():
            return
    ways = f"; it allows {', '.join(allowed)} alone" if allowed else ""
    raise errors.LoginRejected(
        f"SSH to {target}: the machine refuses the login{ways}"
    )


def _unreachable(
    target: SshTarget, reason: object
) -> errors.RemoteUnreachable:
    return errors.RemoteUnreachable(f"SSH to {target}: {reason}")
