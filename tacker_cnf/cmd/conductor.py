"""tacker-cnf-conductor: carries lifecycle operations out."""

import functools
import logging
import os
import sys
from collections.abc import Sequence

from oslo_config import cfg
from oslo_log import log

from tacker_cnf.cmd import compose, start
from tacker_cnf.cmd.dispatcher_supervisor import DispatcherSupervisor

LOG = log.getLogger(__name__)


def serve(arguments: Sequence[str], conf: cfg.ConfigOpts) -> None:
    """Carry operations out until SIGTERM or SIGINT.

    :param arguments: what the configuration was read by
    """
    # before it is up: who sees it in the log may tell it to end
    stop_requested = start.stop_event_on_signals()
    shared = compose.parts(conf)
    start.check_schema(shared.store)
    conductor = compose.conductor(shared)
    dispatcher = DispatcherSupervisor(shared.store, arguments)
    conductor.start(shared.transport)
    dispatcher.start()
    LOG.info("Conductor %s is up", conductor.claims.owner)
    stop_requested.wait()
    LOG.info("Conductor %s goes", conductor.claims.owner)
    stopped = conductor.stop()
    dispatcher.stop()
    if not stopped:
        # its threads wait for a VIM, and what they do is others' by now
        logging.shutdown()
        os._exit(0)
    shared.transport.cleanup()
    shared.store.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a conductor."""
    arguments = sys.argv[1:] if argv is None else argv
    serve_with_arguments = functools.partial(serve, arguments)
    return start.run_server(
        "tacker-cnf-conductor", serve_with_arguments, arguments
    )
