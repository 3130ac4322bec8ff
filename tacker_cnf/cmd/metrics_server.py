"""The server of /metrics, which is apart from that of the API."""

import asyncio
import dataclasses
import http
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from importlib import util
from typing import Any, Final

from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.http_server import worker, wsgi
from tacker_cnf.http_server.application import Routes
from tacker_cnf.http_server.limits import Limits
from tacker_cnf.http_server.server import Server
from tacker_cnf.metrics import Registry
from tacker_cnf.services.readiness import Readiness
from tacker_cnf.sol import base

LOG = log.getLogger(__name__)

#: a scraper that is slower is disconnected
LIMITS: Final = Limits(
    header_timeout=5.0,
    body_timeout=5.0,
    min_transfer_rate=10_000,
    max_body_bytes=0,
    max_connections=16,
    threads=1,
    uploads=1,
)
LIBRARY: Final = "prometheus_client"
#: connections that wait for a free process
BACKLOG: Final = 16


@dataclasses.dataclass(frozen=True)
class Page:
    """A response."""

    content: bytes
    media_type: str = "application/json"
    status: int = 200


def listen(conf: cfg.ConfigOpts, port: int) -> socket.socket:
    """Open the port.

    :raises VnfmError: prometheus_client is not installed
    :raises OSError: another program has the port
    """
    if util.find_spec(LIBRARY) is None:
        raise errors.VnfmError(
            f"[metrics]: a port is set, and the package {LIBRARY} is not "
            "installed. Install it, or remove the port."
        )
    host = conf.metrics.host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server(
        (host, port), family=family, backlog=BACKLOG
    )
    address, number, *_ = listener.getsockname()
    LOG.info("Metrics served: address=%s port=%d", address, number)
    return listener


def start(
    conf: cfg.ConfigOpts,
    listener: socket.socket,
    registry: Registry,
    pages: Mapping[str, Callable[[], Page]] | None = None,
) -> None:
    """Serve in a thread of its own, until the process ends.

    :param pages: paths beside /metrics
    """
    table = {
        "/metrics": lambda: Page(registry.text(), registry.media_type),
        **(pages or {}),
    }
    server = Server(
        _application(table),
        worker.configuration(conf.api),
        LIMITS,
        Routes(is_upload=lambda *_: False, is_probe=table.__contains__),
    )

    async def serve() -> None:
        await server.serve([listener], asyncio.Event())

    threading.Thread(
        target=lambda: asyncio.run(serve()), daemon=True, name="metrics"
    ).start()


def health_pages(readiness: Readiness) -> Mapping[str, Callable[[], Page]]:
    """Return /healthz and /readyz, as the API has them."""

    def ready() -> Page:
        try:
            readiness.check()
        except errors.Unavailable as error:
            details = errors.problem_details(error)
            return Page(base.encode(details), wsgi.PROBLEM, error.status)
        return Page(b'{"status":"ready"}')

    return {"/healthz": lambda: Page(b'{"status":"ok"}'), "/readyz": ready}


def _application(table: Mapping[str, Callable[[], Page]]) -> Any:
    """Build the WSGI application of some pages."""

    def application(
        environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        page = Page(b"Not found\n", "text/plain", 404)
        if environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
            page = Page(b"Use GET\n", "text/plain", 405)
        elif build := table.get(environ["PATH_INFO"]):
            page = build()
        status = http.HTTPStatus(page.status)
        headers = [
            ("Content-Type", page.media_type),
            ("Content-Length", str(len(page.content))),
        ]
        start_response(f"{status.value} {status.phrase}", headers)
        return [page.content]

    return application
