"""tacker-cnf-conductor: runs lifecycle operations."""

import functools
import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from oslo_config import cfg
from oslo_log import log

from tacker_cnf.cmd import compose, start
from tacker_cnf.cmd.dispatcher_supervisor import DispatcherSupervisor

if TYPE_CHECKING:
    from tacker_cnf.cmd.conductor_metrics import ConductorMetrics

LOG = log.getLogger(__name__)


def serve(arguments: Sequence[str], conf: cfg.ConfigOpts) -> None:
    """Run operations until SIGTERM or SIGINT.

    :param arguments: the command line, which names the configuration
    """
    # before the start is logged: a signal may follow at once
    signals = start.open_signal_pipe(signal.SIGTERM, signal.SIGINT)
    exposed = _open_metrics(conf)
    shared = compose.parts(conf)
    start.check_schema(shared.store)
    conductor = compose.conductor(shared)
    dispatcher = DispatcherSupervisor(shared.store, arguments, shared.clock)
    conductor.start(shared.transport)
    dispatcher.start()
    if exposed:
        exposed.start(shared, conductor, dispatcher)
    LOG.info("Conductor started: owner=%s", conductor.claims.owner)
    os.read(signals, 1)
    LOG.info("Conductor stopping: owner=%s", conductor.claims.owner)
    if exposed:
        exposed.stop()
    stopped = conductor.stop()
    dispatcher.stop()
    if not stopped:
        # threads still wait for a VIM; other conductors have their operations
        logging.shutdown()
        os._exit(0)
    shared.transport.cleanup()
    shared.store.close()


def _open_metrics(conf: cfg.ConfigOpts) -> "ConductorMetrics | None":
    """Begin to count, if [metrics] says so.

    :raises OSError: the port is in use
    """
    if conf.metrics.conductor_port is None:
        return None
    # imported here: a conductor needs less memory without it
    from tacker_cnf.cmd.conductor_metrics import ConductorMetrics

    return ConductorMetrics(conf, conf.metrics.conductor_port)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a conductor."""
    arguments = sys.argv[1:] if argv is None else argv
    serve_with_arguments = functools.partial(serve, arguments)
    return start.run_server(
        "tacker-cnf-conductor", serve_with_arguments, arguments
    )
