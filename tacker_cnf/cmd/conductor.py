"""tacker-cnf-conductor: carries lifecycle operations out."""

import functools
import logging
import os
import sys
from collections.abc import Sequence

from oslo_config import cfg
from oslo_log import log

from tacker_cnf.cmd import compose, start
from tacker_cnf.cmd.telling import Telling

LOG = log.getLogger(__name__)


def serve(arguments: Sequence[str], conf: cfg.ConfigOpts) -> None:
    """Carry operations out until SIGTERM or SIGINT.

    :param arguments: what the configuration was read by
    """
    # before it is up: who sees it in the log may tell it to end
    told = start.told_to_end()
    shared = compose.parts(conf)
    start.check_schema(shared.store)
    conductor = compose.conductor(shared)
    telling = Telling(shared.store, arguments)
    conductor.start(shared.transport)
    telling.start()
    LOG.info("Conductor %s is up", conductor.claims.owner)
    told.wait()
    LOG.info("Conductor %s goes", conductor.claims.owner)
    ended = conductor.stop()
    telling.stop()
    if not ended:
        # its threads wait for a VIM, and what they do is others' by now
        logging.shutdown()
        os._exit(0)
    shared.transport.cleanup()
    shared.store.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a conductor."""
    given = sys.argv[1:] if argv is None else argv
    told = functools.partial(serve, given)
    return start.server("tacker-cnf-conductor", told, given)
