"""The program that sends notifications: a child process of the conductor.

In a process of its own it takes no processor time from the operations. It
ends when its parent ends, however that happens: standard input is a pipe from
the parent. A byte in the pipe means that there are new notifications.
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

#: nice value: operations have priority
NICENESS: Final = 5
#: bytes of one read; all bytes have the same meaning
WAKE_READ_BYTES: Final = 4096


def serve(conf: cfg.ConfigOpts) -> None:
    """Send notifications until the end of standard input, or SIGTERM.

    :raises VnfmError: there is no key file
    """
    os.nice(NICENESS)
    # the parent receives Ctrl-C as well, and stops this process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    base.precompile_types()
    VAULT.open(keys.load(keys.key_file_path(conf)))
    store = session.open_store(conf)
    dispatcher = Dispatcher(conf, store)
    dispatcher.start()
    try:
        signal.signal(signal.SIGTERM, _exit_on_signal)
        while os.read(sys.stdin.fileno(), WAKE_READ_BYTES):
            dispatcher.wake()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        dispatcher.stop()
        store.close()


def _exit_on_signal(*_: object) -> NoReturn:
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(start.run_server("tacker-cnf-dispatcher", serve, sys.argv[1:]))
