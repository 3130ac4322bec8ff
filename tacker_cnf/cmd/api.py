"""tacker-cnf-api: the API, served by processes of gunicorn."""

import gc
import ipaddress
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import gunicorn.app.base
from oslo_config import cfg
from oslo_log import log

from tacker_cnf import conf as configuration
from tacker_cnf import rpc
from tacker_cnf.api import authentication, middleware
from tacker_cnf.api.middleware import Wsgi
from tacker_cnf.cmd import compose, metrics_server, start
from tacker_cnf.cmd.notification_waker import NotificationWaker
from tacker_cnf.conf.opts import VERSION
from tacker_cnf.http_server import tls, worker
from tacker_cnf.http_server.application import Routes
from tacker_cnf.http_server.limits import Limits
from tacker_cnf.http_server.server import Server
from tacker_cnf.metrics import API_METRICS, Registry
from tacker_cnf.web import paths as web_paths

LOG = log.getLogger(__name__)


class ApiServer(gunicorn.app.base.BaseApplication):  # type: ignore[misc]
    """gunicorn with the configuration of this service instead of its own."""

    def __init__(
        self, conf: cfg.ConfigOpts, shared_metrics: "SharedMetrics | None"
    ) -> None:
        self._conf = conf
        self._metrics = shared_metrics
        super().__init__()

    def load_config(self) -> None:
        self.cfg = worker.configuration(self._conf.api)
        if self._metrics:
            self.cfg.set("on_exit", self._metrics.remove)

    def load(self) -> Server:
        """Build the server of a worker."""
        if self._metrics:
            self._metrics.start(self._conf)
        return server(self._conf, _application(self._conf))


class SharedMetrics:
    """The metrics of all workers, which each of them can serve: they accept
    connections at the same socket, and count in the same directory.

    :raises OSError: the port is in use
    """

    def __init__(self, conf: cfg.ConfigOpts, port: int) -> None:
        self._listener = metrics_server.listen(conf, port)
        self._directory = Path(tempfile.mkdtemp(prefix="tacker-cnf-metrics-"))

    def start(self, conf: cfg.ConfigOpts) -> None:
        """Count and serve in this worker."""
        registry = Registry(API_METRICS, VERSION, self._directory)
        metrics_server.start(conf, self._listener, registry)

    def remove(self, _server: object) -> None:
        """Delete the values, when the last worker has ended."""
        shutil.rmtree(self._directory, ignore_errors=True)


def server(conf: cfg.ConfigOpts, app: Wsgi) -> Server:
    """Build the server of a process.

    :raises VnfmError: the certificate cannot be used
    """
    return Server(
        app,
        worker.configuration(conf.api),
        Limits.of(conf.api),
        Routes(is_upload=_is_upload, is_probe=middleware.is_probe),
        tls.context(conf.api),
    )


def _is_upload(method: str, path: str) -> bool:
    return middleware.is_upload(method, path) or web_paths.is_upload(
        method, path
    )


def application() -> Wsgi:
    """Return the WSGI application for any server; the configuration is read
    from oslo.config's default files.
    """
    conf = configuration.load([])
    authentication.check_options(conf)
    start.start_tracing(conf, "tacker-cnf-api")
    return _application(conf)


def _application(conf: cfg.ConfigOpts) -> Wsgi:
    # a worker that starts without a database answers 503 until it is up
    shared = compose.parts(conf, connect=False)
    NotificationWaker(shared.store, rpc.ConductorClient(shared.transport))
    return compose.application(shared)


def serve(conf: cfg.ConfigOpts) -> None:
    """Check the configuration and the schema, then start the workers."""
    authentication.check_options(conf)
    tls.context(conf.api)
    _warn_of_plain_http(conf)
    shared = compose.parts(conf)
    start.check_schema(shared.store)
    shared.store.close()
    # a garbage collection of a worker would copy the pages of all imports
    gc.freeze()
    port = conf.metrics.api_port
    ApiServer(conf, None if port is None else SharedMetrics(conf, port)).run()


def _warn_of_plain_http(conf: cfg.ConfigOpts) -> None:
    options = conf.api
    is_https = (options.endpoint or "").startswith("https:")
    if options.tls_certificate or is_https or _is_loopback(options.host):
        return
    LOG.warning(
        "API served without TLS, tokens and passwords can be read on the "
        "network: address=%s. Set [api] tls_certificate, or put a proxy with "
        "TLS in front and set [api] endpoint to its https URL",
        options.host,
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the API."""
    arguments = sys.argv[1:] if argv is None else argv
    return start.run_server("tacker-cnf-api", serve, arguments)
