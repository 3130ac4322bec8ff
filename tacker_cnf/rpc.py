"""The wake-up call: an operation's id on a queue, nothing more."""

import sys
import threading
from collections.abc import Callable
from typing import Any, Final

from oslo_config import cfg
from oslo_log import log
from oslo_service import backend

from tacker_cnf import errors

# oslo.service requires eventlet, and futurist imports what is installed: here
# it is not there (doc/source/contributor/decisions/no-eventlet.rst).
sys.modules.setdefault("eventlet", None)  # type: ignore[arg-type]
backend.init_backend(backend.BackendType.THREADING)

import oslo_messaging as messaging  # noqa: E402
from oslo_messaging._metrics import client as metrics  # noqa: E402
from oslo_messaging._tracing import client as tracing  # noqa: E402

LOG = log.getLogger(__name__)

TOPIC: Final = "tacker_cnf_conductor"
NAMESPACE: Final = "lcm"
VERSION: Final = "1.0"
#: a queue inside one process, which then is the only one
EMBEDDED: Final = "fake://"
#: seconds between two attempts to reach a broker that refuses
RETRY_DELAY_S: Final = 5.0
#: seconds that a start waits for the broker before it goes on without
CONNECT_TIMEOUT_S: Final = 3.0
#: seconds that a stop waits for the broker
STOP_TIMEOUT_S: Final = 5.0


def open_transport(conf: cfg.ConfigOpts, url: str | None = None) -> Any:
    """Open the queue at a URL; by default the configured `transport_url`."""
    # oslo.messaging registers these on its global configuration alone
    conf.register_opts(
        tracing.oslo_messaging_tracing, group="oslo_messaging_tracing"
    )
    conf.register_opts(
        metrics.oslo_messaging_metrics, group="oslo_messaging_metrics"
    )
    return messaging.get_rpc_transport(conf, url=url)


class Client:
    """Wakes a conductor."""

    def __init__(self, transport: Any) -> None:
        target = messaging.Target(
            topic=TOPIC, namespace=NAMESPACE, version=VERSION
        )
        # a request does not wait for the broker: the sweep does without it
        self._client = messaging.get_rpc_client(transport, target, retry=0)
        self._fanout = self._client.prepare(fanout=True)

    def wake(self, op_occ_id: str) -> None:
        """Tell the conductors of an operation that waits.

        A message that cannot be sent is no failure: the row is there, and
        the sweep finds it.
        """
        failure_message = (
            f"Wake-up not sent, operation {op_occ_id} waits for the sweep"
        )
        _cast(self._client, failure_message, "run", op_occ_id=op_occ_id)

    def cancel(self, op_occ_id: str) -> None:
        """Tell all conductors that an operation is to stop.

        A message that cannot be sent only delays: who carries it out looks
        at the row whenever the lease is renewed.
        """
        failure_message = (
            f"Cancel not sent, operation {op_occ_id} stops at its next "
        )
        _cast(
            self._fanout,
            f"{failure_message}heartbeat",
            "cancel",
            op_occ_id=op_occ_id,
        )

    def tell(self) -> None:
        """Tell all conductors that there is something for subscribers.

        A message that cannot be sent only delays: dispatchers poll.
        """
        _cast(
            self._fanout, "Wake-up of dispatchers not sent, they poll", "tell"
        )

    def fetch(self, package_id: str) -> None:
        """Tell the conductors of a package that is to be fetched.

        A message that cannot be sent is no failure: the sweep finds it.
        """
        failure_message = (
            f"Wake-up not sent, VNF package {package_id} waits for the sweep"
        )
        _cast(self._client, failure_message, "fetch", package_id=package_id)

    def sync(self, instance_id: str) -> None:
        """Ask a conductor to look what a VIM has made of an instance.

        :raises Unavailable: no conductor can be asked
        """
        try:
            self._client.cast({}, "sync", instance_id=instance_id)
        except Exception as error:  # of whatever library the transport has
            raise errors.Unavailable(
                "The queue to the conductors does not answer."
            ) from error


def _cast(
    client: Any, failure_message: str, method: str, **arguments: str
) -> None:
    """Send a message to conductors.

    :param failure_message: what is logged when it cannot be sent
    """
    try:
        client.cast({}, method, **arguments)
    except Exception as error:  # noqa: BLE001
        LOG.warning("%s: %s", failure_message, _reason(error))


class Endpoint:
    """Where the wake-up calls arrive."""

    target = messaging.Target(namespace=NAMESPACE, version=VERSION)

    def __init__(
        self,
        run: Callable[[str], None],
        cancel: Callable[[str], None],
        sync: Callable[[str], None],
        fetch: Callable[[str], None],
        tell: Callable[[], None],
    ) -> None:
        self._run = run
        self._cancel = cancel
        self._sync = sync
        self._fetch = fetch
        self._tell = tell

    @messaging.expose  # type: ignore[untyped-decorator]
    def run(self, _context: dict[str, Any], op_occ_id: str) -> None:
        """Begin with an operation, unless somebody has."""
        self._run(op_occ_id)

    @messaging.expose  # type: ignore[untyped-decorator]
    def cancel(self, _context: dict[str, Any], op_occ_id: str) -> None:
        """Stop an operation, if it is carried out here."""
        self._cancel(op_occ_id)

    @messaging.expose  # type: ignore[untyped-decorator]
    def sync(self, _context: dict[str, Any], instance_id: str) -> None:
        """Synchronize a VNF instance."""
        self._sync(instance_id)

    @messaging.expose  # type: ignore[untyped-decorator]
    def fetch(self, _context: dict[str, Any], package_id: str) -> None:
        """Fetch a VNF package."""
        self._fetch(package_id)

    @messaging.expose  # type: ignore[untyped-decorator]
    def tell(self, _context: dict[str, Any]) -> None:
        """Look for what subscribers are to be told."""
        self._tell()


class Listener:
    """Receives the wake-up calls of one conductor while there is a broker.

    It connects in a thread of its own: oslo.messaging does not return while
    the broker is unreachable, and a conductor works without one.
    """

    def __init__(self, transport: Any, host: str, endpoint: Endpoint) -> None:
        self._transport = transport
        self._target = messaging.Target(topic=TOPIC, server=host)
        self._endpoint = endpoint
        self._server: Any = None
        self._connected = threading.Event()
        self._stopped = threading.Event()

    def start(self) -> None:
        """Connect; return without a connection when that takes too long."""
        threading.Thread(
            target=self._connect, daemon=True, name="listener"
        ).start()
        if not self._connected.wait(CONNECT_TIMEOUT_S):
            LOG.warning("Broker not reached, the sweep finds operations")

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
                server.start()
            except Exception as error:  # noqa: BLE001
                LOG.warning("Broker not usable, retrying: %s", _reason(error))
                self._stopped.wait(RETRY_DELAY_S)
            else:
                LOG.info("Broker connected")
                self._server = server
                self._connected.set()
                return

    def stop(self) -> bool:
        """Receive no more calls; return whether all its threads have ended,
        which they do not without a broker.
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
