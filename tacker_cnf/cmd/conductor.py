"""tacker-cnf-conductor: carries lifecycle operations out."""

import logging
import os
import sys
from collections.abc import Sequence

from oslo_config import cfg
from oslo_log import log

from tacker_cnf.cmd import compose, start

LOG = log.getLogger(__name__)


def serve(conf: cfg.ConfigOpts) -> None:
    """Carry operations out until SIGTERM or SIGINT."""
    shared = compose.parts(conf)
    start.check_schema(shared.store)
    conductor = compose.conductor(shared)
    conductor.start(shared.transport)
    LOG.info("Conductor %s is up", conductor.claims.owner)
    start.until_told()
    LOG.info("Conductor %s goes", conductor.claims.owner)
    if not conductor.stop():
        # its threads wait for a VIM, and what they do is others' by now
        logging.shutdown()
        os._exit(0)
    shared.transport.cleanup()
    shared.store.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a conductor."""
    given = sys.argv[1:] if argv is None else argv
    return start.server("tacker-cnf-conductor", serve, given)
