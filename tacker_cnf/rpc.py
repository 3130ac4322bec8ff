"""Wake-up messages to conductors: they carry the ID of a resource, and how it
takes turns.
"""

import sys
import threading
from collections.abc import Callable
from typing import Any, Final

from oslo_config import cfg
from oslo_log import log
from oslo_service import backend

from tacker_cnf import errors

# oslo.service requires eventlet, and futurist imports it if it is installed:
# hide it (doc/source/contributor/decisions/no-eventlet.rst).
sys.modules.setdefault("eventlet", None)  # type: ignore[arg-type]
backend.init_backend(backend.BackendType.THREADING)

import oslo_messaging as messaging  # noqa: E402
from oslo_messaging._metrics import client as metrics  # noqa: E402
from oslo_messaging._tracing import client as tracing  # noqa: E402

LOG = log.getLogger(__name__)

TOPIC: Final = "tacker_cnf_conductor"
#: topic that no process listens to
UNREAD_TOPIC: Final = "tacker_cnf_readiness"
NAMESPACE: Final = "lcm"
#: the client of an older minor version is understood
VERSION: Final = "1.1"
#: transport within one process, for a deployment of one process
EMBEDDED: Final = "fake://"
#: seconds between two attempts to connect to a broker
RETRY_DELAY_S: Final = 5.0
#: seconds that the sweep of conductors leaves an operation to the message
WAKEUP_TIMEOUT_S: Final = 5.0
#: messages that are processed at the same time: each only wakes other threads
MAX_THREADS: Final = 4
#: seconds that a conductor waits for the broker when it starts
CONNECT_TIMEOUT_S: Final = 3.0
#: seconds that a conductor waits for the broker when it stops
STOP_TIMEOUT_S: Final = 5.0


def open_transport(conf: cfg.ConfigOpts, url: str | None = None) -> Any:
    """Return the transport of a URL; by default of `transport_url`."""
    # oslo.messaging registers these on its global configuration only
    conf.register_opts(
        tracing.oslo_messaging_tracing, group="oslo_messaging_tracing"
    )
    conf.register_opts(
        metrics.oslo_messaging_metrics, group="oslo_messaging_metrics"
    )
    return messaging.get_rpc_transport(conf, url=url)


def notifier(conf: cfg.ConfigOpts, url: str | None = None) -> Any:
    """Return what sends notifications to other services, to the log by
    default.
    """
    transport = messaging.get_notification_transport(conf, url=url)
    conf.set_default("driver", ["log"], "oslo_messaging_notifications")
    # one attempt: a request does not wait for the broker
    return messaging.Notifier(transport, "tacker_cnf", retry=0)


class ConductorClient:
    """Sends messages to conductors."""

    def __init__(self, transport: Any) -> None:
        target = messaging.Target(
            topic=TOPIC, namespace=NAMESPACE, version=VERSION
        )
        # a request does not wait for the broker: the sweep needs no message
        self._client = messaging.get_rpc_client(transport, target, retry=0)
        self._fanout = self._client.prepare(fanout=True)
        self._unread = self._client.prepare(fanout=True, topic=UNREAD_TOPIC)

    def wake(self, op_occ_id: str, project_id: str, vim_group: str) -> None:
        """Send the ID of a waiting operation, and the groups by which it
        takes turns, to a conductor.

        Raise nothing if that fails: the sweep finds the row.
        """
        _cast(
            self._client,
            "run",
            op_occ_id=op_occ_id,
            project_id=project_id,
            vim_group=vim_group,
        )

    def cancel(self, op_occ_id: str) -> None:
        """Send the ID of a cancelled operation to all conductors.

        Raise nothing if that fails: the conductor of the operation reads the
        row when it renews the lease.
        """
        _cast(self._fanout, "cancel", op_occ_id=op_occ_id)

    def notify(self) -> None:
        """Wake the notification dispatchers of all conductors.

        Raise nothing if that fails: dispatchers poll.
        """
        _cast(self._fanout, "notify")

    def fetch(self, package_id: str, project_id: str) -> None:
        """Send the ID of a VNF package to fetch, and its project, to a
        conductor.

        Raise nothing if that fails: the sweep finds the row.
        """
        _cast(
            self._client,
            "fetch",
            package_id=package_id,
            project_id=project_id,
        )

    def check(self) -> None:
        """Send a message that no process receives.

        :raises Exception: the broker is unreachable; of any library that a
            transport uses
        """
        self._unread.cast({}, "check")

    def sync(self, instance_id: str) -> None:
        """Send the ID of a VNF instance to synchronize to a conductor.

        :raises Unavailable: the message cannot be sent
        """
        try:
            self._client.cast({}, "sync", instance_id=instance_id)
        except Exception as error:  # of any library a transport uses
            raise errors.Unavailable(
                "The message broker of the conductors is unreachable."
            ) from error


def _cast(client: Any, method: str, **arguments: str) -> None:
    """Send a message to conductors; log a failure, since they also poll."""
    try:
        client.cast({}, method, **arguments)
    except Exception as error:  # noqa: BLE001
        LOG.warning(
            "Message not sent, conductors poll: method=%s%s error=%s",
            method,
            "".join(f" {name}={value}" for name, value in arguments.items()),
            _reason(error),
        )


def _log_failed_connection(reason: str) -> None:
    LOG.warning("Broker connection failed, retrying: error=%s", reason)


class ConductorEndpoint:
    """Passes the messages that a conductor receives to callbacks."""

    target = messaging.Target(namespace=NAMESPACE, version=VERSION)

    def __init__(
        self,
        run: Callable[[str, str, str], None],
        cancel: Callable[[str], None],
        sync: Callable[[str], None],
        fetch: Callable[[str, str], None],
        notify: Callable[[], None],
    ) -> None:
        self._run = run
        self._cancel = cancel
        self._sync = sync
        self._fetch = fetch
        self._notify = notify

    @messaging.expose  # type: ignore[untyped-decorator]
    def run(
        self,
        _context: dict[str, Any],
        op_occ_id: str,
        project_id: str = "",
        vim_group: str = "",
    ) -> None:
        """Start an operation, unless another conductor has claimed it.

        :param project_id: with vim_group, since version 1.1
        """
        self._run(op_occ_id, project_id, vim_group)

    @messaging.expose  # type: ignore[untyped-decorator]
    def cancel(self, _context: dict[str, Any], op_occ_id: str) -> None:
        """Stop an operation, if it runs on this conductor."""
        self._cancel(op_occ_id)

    @messaging.expose  # type: ignore[untyped-decorator]
    def sync(self, _context: dict[str, Any], instance_id: str) -> None:
        """Synchronize a VNF instance."""
        self._sync(instance_id)

    @messaging.expose  # type: ignore[untyped-decorator]
    def fetch(
        self, _context: dict[str, Any], package_id: str, project_id: str = ""
    ) -> None:
        """Fetch a VNF package.

        :param project_id: since version 1.1
        """
        self._fetch(package_id, project_id)

    @messaging.expose  # type: ignore[untyped-decorator]
    def notify(self, _context: dict[str, Any]) -> None:
        """Check for notifications to deliver."""
        self._notify()


class Listener:
    """Receives the messages of one conductor while the broker is reachable.

    It connects in its own thread: oslo.messaging does not return while the
    broker is unreachable, and a conductor works without it.
    """

    def __init__(
        self, transport: Any, host: str, endpoint: ConductorEndpoint
    ) -> None:
        self._transport = transport
        self._target = messaging.Target(topic=TOPIC, server=host)
        self._endpoint = endpoint
        self._server: Any = None
        self._connected = threading.Event()
        self._stopped = threading.Event()

    def start(self) -> None:
        """Connect; return after CONNECT_TIMEOUT_S even if not connected."""
        threading.Thread(
            target=self._connect, daemon=True, name="listener"
        ).start()
        if not self._connected.wait(CONNECT_TIMEOUT_S):
            _log_failed_connection(f"no connection in {CONNECT_TIMEOUT_S} s")

    def _connect(self) -> None:
        while not self._stopped.is_set():
            server = messaging.get_rpc_server(
                self._transport,
                self._target,
                [self._endpoint],
                executor="threading",
                access_policy=messaging.ExplicitRPCAccessPolicy,
            )
            try:
                server.start(override_pool_size=MAX_THREADS)
            except Exception as error:  # noqa: BLE001
                _log_failed_connection(_reason(error))
                self._stopped.wait(RETRY_DELAY_S)
            else:
                LOG.info("Broker connected")
                self._server = server
                self._connected.set()
                return

    def stop(self) -> bool:
        """Disconnect; return whether all threads have ended, which they do
        not while the broker is unreachable.
        """
        self._stopped.set()
        if not self._connected.is_set():
            return False
        thread = threading.Thread(target=self._disconnect, daemon=True)
        thread.start()
        thread.join(STOP_TIMEOUT_S)
        return not thread.is_alive()

    def _disconnect(self) -> None:
        self._server.stop()
        self._server.wait()


def _reason(error: Exception) -> str:
    """Return the first line of an error of the transport."""
    return str(error).partition("\n")[0] or type(error).__name__
