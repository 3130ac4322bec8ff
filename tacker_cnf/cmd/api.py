"""tacker-cnf-api: the API, served by gunicorn with threads."""

import sys
from collections.abc import Sequence
from typing import Any

import gunicorn.app.base
from oslo_config import cfg

from tacker_cnf import conf as configuration
from tacker_cnf import rpc
from tacker_cnf.api import authentication
from tacker_cnf.api.middleware import Wsgi
from tacker_cnf.cmd import compose, start
from tacker_cnf.cmd.notification_waker import NotificationWaker


class ApiServer(gunicorn.app.base.BaseApplication):  # type: ignore[misc]
    """gunicorn with the configuration of this service instead of its own."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        super().__init__()

    def load_config(self) -> None:
        options = self._conf.api
        settings: dict[str, Any] = {
            "bind": f"{options.host}:{options.port}",
            "workers": options.workers,
            "threads": options.threads,
            "worker_class": "gthread",
            "proc_name": "tacker-cnf-api",
            # the upload of a package may take long
            "timeout": 0,
            "graceful_timeout": 10,
            # an idle connection occupies no thread
            "keepalive": options.keepalive_timeout,
            "control_socket_disable": True,
        }
        for name, value in settings.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Wsgi:
        """Build the application of a worker."""
        return _application(self._conf)


def application() -> Wsgi:
    """Return the WSGI application for any server; the configuration is read
    from oslo.config's default files.
    """
    conf = configuration.load([])
    authentication.check_options(conf)
    return _application(conf)


def _application(conf: cfg.ConfigOpts) -> Wsgi:
    # a worker that starts without a database answers 503 until it is up
    shared = compose.parts(conf, connect=False)
    NotificationWaker(shared.store, rpc.ConductorClient(shared.transport))
    return compose.application(shared)


def serve(conf: cfg.ConfigOpts) -> None:
    """Check the configuration and the schema, then start the workers."""
    authentication.check_options(conf)
    shared = compose.parts(conf)
    start.check_schema(shared.store)
    shared.store.close()
    ApiServer(conf).run()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the API."""
    arguments = sys.argv[1:] if argv is None else argv
    return start.run_server("tacker-cnf-api", serve, arguments)
