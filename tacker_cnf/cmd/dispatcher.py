"""The program that sends notifications: a child process of the conductor.

In a process of its own it takes no processor time from the operations. It
ends when its parent ends, however that happens: standard input is a pipe from
the parent. A byte in the pipe means that there are new notifications.
"""

import os
import select
import signal
import sys
from typing import Final

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
    signals = start.open_signal_pipe(signal.SIGTERM)
    dispatcher.start()
    wakeups = sys.stdin.fileno()
    while [wakeups] == select.select([wakeups, signals], [], [])[0]:
        if not os.read(wakeups, WAKE_READ_BYTES):
            break
        dispatcher.wake()
    dispatcher.stop()
    store.close()


if __name__ == "__main__":
    sys.exit(start.run_server("tacker-cnf-dispatcher", serve, sys.argv[1:]))
