"""The wake-up call: an operation's id on a queue, nothing more."""

import sys
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
        try:
            self._client.cast({}, "run", op_occ_id=op_occ_id)
        except Exception:
            LOG.exception("No wake-up could be sent for %s", op_occ_id)

    def cancel(self, op_occ_id: str) -> None:
        """Tell all conductors that an operation is to stop.

        A message that cannot be sent only delays: who carries it out looks
        at the row whenever the lease is renewed.
        """
        try:
            self._fanout.cast({}, "cancel", op_occ_id=op_occ_id)
        except Exception:
            LOG.exception("Nobody could be told to stop %s", op_occ_id)

    def tell(self) -> None:
        """Tell all conductors that there is something for subscribers.

        A message that cannot be sent only delays: dispatchers poll.
        """
        try:
            self._fanout.cast({}, "tell")
        except Exception:
            LOG.exception("Nobody could be told what subscribers want")

    def fetch(self, package_id: str) -> None:
        """Tell the conductors of a package that is to be fetched.

        A message that cannot be sent is no failure: the sweep finds it.
        """
        try:
            self._client.cast({}, "fetch", package_id=package_id)
        except Exception:
            LOG.exception("No wake-up could be sent for %s", package_id)

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


def server(transport: Any, host: str, endpoint: Endpoint) -> Any:
    """Make the listener of one conductor; it still has to be started."""
    return messaging.get_rpc_server(
        transport,
        messaging.Target(topic=TOPIC, server=host),
        [endpoint],
        executor="threading",
        access_policy=messaging.ExplicitRPCAccessPolicy,
    )
