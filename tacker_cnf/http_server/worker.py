"""gunicorn's process of a server, and its configuration."""

import asyncio
import collections
import os
import signal
from typing import Any

from gunicorn import glogging
from gunicorn.config import Config
from gunicorn.workers import base

from tacker_cnf.http_server import limits


class Worker(base.Worker):  # type: ignore[misc]
    """Runs the server that gunicorn's application builds."""

    #: the CPU that it is bound to; None: it uses any
    cpu: int | None = None

    def run(self) -> None:
        """Serve until SIGTERM, or until the parent process has ended."""
        if self.cpu is not None:
            os.sched_setaffinity(0, {self.cpu})
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        watch = loop.create_task(self._watch_parent(stop))
        await self.wsgi.serve([one.sock for one in self.sockets], stop)
        watch.cancel()

    async def _watch_parent(self, stop: asyncio.Event) -> None:
        # a signal that came early has ended "alive"
        while self.alive and self.ppid == os.getppid():  # noqa: ASYNC110
            await asyncio.sleep(1.0)
        stop.set()


def choose_cpu(arbiter: Any, worker: Worker) -> None:
    """Choose the CPU to which the fewest other workers are bound."""
    others = collections.Counter(w.cpu for w in arbiter.WORKERS.values())
    worker.cpu = min(sorted(os.sched_getaffinity(0)), key=others.__getitem__)


class Logger(glogging.Logger):  # type: ignore[misc]
    """Leaves the lines of gunicorn to the log of this service."""

    def setup(self, cfg: Config) -> None:
        """Configure no handler of its own."""
        super().setup(cfg)
        self.error_log.handlers.clear()
        self.error_log.propagate = True


def configuration(options: Any) -> Config:
    """Build gunicorn's configuration from [api]."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    config = Config()
    for name, value in {
        "bind": f"{host}:{options.port}",
        "workers": options.workers,
        "worker_class": Worker,
        "logger_class": Logger,
        "proc_name": "tacker-cnf-api",
        # a stopped process (SIGSTOP) may continue
        "timeout": 0,
        "graceful_timeout": limits.STOP_TIMEOUT_S + 1,
        "keepalive": options.keepalive_timeout,
        "control_socket_disable": True,
        "limit_request_line": 8190,
        # extensions in C have other errors
        "http_parser": "python",
        # nothing waits for a client that has closed its connection
        "asgi_disconnect_grace_period": 0,
        # for its message at the start; Server has the context
        "certfile": options.tls_certificate,
        "keyfile": options.tls_key,
    }.items():
        config.set(name, value)
    if options.cpu_affinity:
        config.set("pre_fork", choose_cpu)
    return config
