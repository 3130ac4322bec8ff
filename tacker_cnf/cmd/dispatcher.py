"""The program that tells subscribers: the child of a conductor.

In a process of its own it takes nothing from the operations. It ends when its
parent ends, however that happens: standard input is a pipe from there. A byte
that comes through it means that there is something new.
"""

import os
import signal
import sys
from typing import Final, NoReturn

from oslo_config import cfg

from tacker_cnf.cmd import start
from tacker_cnf.db import keys, session
from tacker_cnf.db.types import VAULT
from tacker_cnf.notification.dispatcher import Dispatcher
from tacker_cnf.sol import base

#: how far it gives way to operations where the processor is short
NICE: Final = 5
#: bytes that are read at once: each means the same
MANY: Final = 4096


def serve(conf: cfg.ConfigOpts) -> None:
    """Tell subscribers until standard input or SIGTERM says the end.

    :raises VnfmError: there is no key file
    """
    os.nice(NICE)
    # Ctrl-C goes to the parent as well, which says when to end
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    base.prepare()
    VAULT.open(keys.load(keys.path_of(conf)))
    store = session.of_conf(conf)
    dispatcher = Dispatcher(conf, store)
    dispatcher.start()
    try:
        signal.signal(signal.SIGTERM, _leave)
        while os.read(sys.stdin.fileno(), MANY):
            dispatcher.wake()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        dispatcher.stop()
        store.close()


def _leave(*_: object) -> NoReturn:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(start.server("tacker-cnf-dispatcher", serve, sys.argv[1:]))
