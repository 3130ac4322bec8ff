"""tacker-cnf-api: the API, served by gunicorn with threads."""

import sys
from collections.abc import Sequence
from typing import Any

import gunicorn.app.base
from oslo_config import cfg

from tacker_cnf import conf as configuration
from tacker_cnf import rpc
from tacker_cnf.api.middleware import Wsgi
from tacker_cnf.cmd import compose, start
from tacker_cnf.cmd.notification_waker import NotificationWaker


class Server(gunicorn.app.base.BaseApplication):  # type: ignore[misc]
    """gunicorn, told by our configuration instead of its own."""

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
            # the content of a package may take its time
            "timeout": 0,
            "graceful_timeout": 10,
            # an idle connection holds no thread
            "keepalive": options.keepalive_timeout,
            "control_socket_disable": True,
        }
        for name, value in settings.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> Wsgi:
        """Make the application, in each worker its own."""
        return _application(self._conf)


def application() -> Wsgi:
    """Give the WSGI application to any server; the configuration is that of
    oslo.config's usual places.
    """
    return _application(configuration.load([]))


def _application(conf: cfg.ConfigOpts) -> Wsgi:
    # a worker that boots while the database is away answers 503 until then
    shared = compose.parts(conf, connect=False)
    NotificationWaker(shared.store, rpc.Client(shared.transport))
    return compose.application(shared)


def serve(conf: cfg.ConfigOpts) -> None:
    """Check what can be checked before workers start, and serve."""
    shared = compose.parts(conf)
    start.check_schema(shared.store)
    shared.store.close()
    Server(conf).run()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the API."""
    arguments = sys.argv[1:] if argv is None else argv
    return start.run_server("tacker-cnf-api", serve, arguments)
