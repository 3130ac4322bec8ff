"""Connect to a machine by SSH, verify its host key, and log in."""

import contextlib
import dataclasses
import itertools
import logging
import socket
import threading
from collections.abc import Iterator
from typing import Any, Final

import paramiko

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.remote.keys import HostKey, Login
from tacker_cnf.runtime.cancellation import Deadline

#: seconds between attempts while a machine boots; the last one is repeated
RETRY_DELAYS_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
#: the same after a rejected login; longer, as many attempts may lock the user
LOGIN_RETRY_DELAYS_S: Final = (5.0, 10.0)
#: seconds for one TCP connection attempt, and for handshake and login
CONNECT_TIMEOUT_S: Final = 5.0
HANDSHAKE_TIMEOUT_S: Final = 30.0
#: TCP options that detect a lost machine within about 30 seconds
KEEPALIVE_OPTIONS: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000),
)

#: all exceptions of a failing connection
CONNECTION_ERRORS: Final = (paramiko.SSHException, OSError, EOFError)

# our errors report these failures; paramiko would repeat them in the script's
# log
logging.getLogger("paramiko").addHandler(logging.NullHandler())


@dataclasses.dataclass(frozen=True)
class SshTarget:
    """An SSH server, the login, and the expected host key.

    :param known_key: the host key that the machine has to present; None: any
    :param fresh: the machine was created just now: retry a rejected login,
        because the user may not have the password or key yet
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
    """Connect and log in; retry until the deadline while the machine boots.

    :raises RemoteUnreachable: no SSH server answered in time
    :raises HostKeyChanged: the machine presented another host key than
        known_key
    :raises LoginRejected: the machine rejected the login
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
            deadline.clock.sleep(delay)


def _delays(delays: tuple[float, ...]) -> Iterator[float]:
    return itertools.chain(delays, itertools.repeat(delays[-1]))


def _connect_once(target: SshTarget, deadline: Deadline) -> Any:
    """Connect once.

    :return: a transport that is logged in
    """
    transport = paramiko.Transport(_socket(target, deadline))
    deadline = deadline.limited(HANDSHAKE_TIMEOUT_S)
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
    transport.sock.close()  # close() leaves it open if never started
    if transport.is_alive():
        transport.join(CONNECT_TIMEOUT_S)


@contextlib.contextmanager
def close_at(transport: Any, deadline: Deadline) -> Iterator[None]:
    """Close a connection at the deadline, which ends every wait for it."""
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
        raise _unreachable(target, "the machine does not respond") from error
    except OSError as error:
        raise _unreachable(target, error.strerror or error) from error
    for level, option, value in KEEPALIVE_OPTIONS:
        connection.setsockopt(level, option, value)
    return connection


def _handshake(transport: Any, target: SshTarget, deadline: Deadline) -> None:
    """Negotiate encryption, and verify the host key.

    :raises RemoteUnreachable: no SSH server answers
    :raises HostKeyChanged: the machine presents another key than known_key
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
            f"SSH to {target}: the machine presents the host key "
            f"{shown.fingerprint}, but the known key is "
            f"{known.fingerprint}; it may be another machine. No login and no "
            "command was sent to it."
        )


def _handshake_failure(
    transport: Any, error: Exception, deadline: Deadline
) -> str:
    """Return why the handshake failed."""
    if transport.remote_version:
        return f"SSH fails before the login: {error or 'no response'}"
    if deadline.passed:
        return "the port is open, but no SSH server responds"
    return "the port is open, but no SSH server listens there"


def _log_in(transport: Any, target: SshTarget) -> None:
    """Log in by one method, or by several if the server requires them all.

    :raises LoginRejected: the server accepted no method
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
    methods = f"; it allows only {', '.join(allowed)}" if allowed else ""
    raise errors.LoginRejected(
        f"SSH to {target}: the machine rejects the login{methods}"
    )


def _unreachable(
    target: SshTarget, reason: object
) -> errors.RemoteUnreachable:
    return errors.RemoteUnreachable(f"SSH to {target}: {reason}")
