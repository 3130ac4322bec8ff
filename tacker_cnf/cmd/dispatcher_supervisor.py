"""The dispatcher as a child process, which is there as long as this one."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Final

from oslo_log import log

from tacker_cnf.db.session import Store

LOG = log.getLogger(__name__)

PROGRAM: Final = "tacker_cnf.cmd.dispatcher"
#: seconds after which one that has ended is started anew
RESTART_DELAY_S: Final = 2.0
#: seconds it has to end
STOP_TIMEOUT_S: Final = 10.0


class DispatcherSupervisor:
    """Keeps a dispatcher running, and wakes it.

    :param store: where this process writes down what happens
    :param arguments: of the command line: which configuration it reads
    """

    def __init__(self, store: Store, arguments: Sequence[str]) -> None:
        self._store = store
        # -P: no module is taken from the directory where this was started
        self._command = [sys.executable, "-P", "-m", PROGRAM, *arguments]
        # one pipe for all that are started, one after another
        self._wake_reader, wake_writer = os.pipe()
        os.set_blocking(wake_writer, False)
        self._wake_writer = os.fdopen(wake_writer, "wb", buffering=0)
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._supervise, daemon=True, name="dispatcher-supervisor"
        )

    def start(self) -> None:
        """Have a dispatcher from here on."""
        self._thread.start()
        self._store.listeners.append(self.wake)

    def wake(self) -> None:
        """Tell it that there is something new, from any thread."""
        with contextlib.suppress(OSError, ValueError):  # it is just ending
            self._wake_writer.write(b".")  # a full pipe says it already

    def stop(self) -> None:
        """Let it end, and wait for that."""
        self._store.listeners.remove(self.wake)
        self._stopping.set()
        self._wake_writer.close()
        self._thread.join(STOP_TIMEOUT_S)
        if self._thread.is_alive() and self._process:
            LOG.warning("The dispatcher does not end, and is killed")
            self._process.kill()
            self._thread.join()
        os.close(self._wake_reader)

    def _supervise(self) -> None:
        while not self._stopping.is_set():
            try:
                with subprocess.Popen(  # noqa: S603
                    self._command, stdin=self._wake_reader
                ) as self._process:
                    outcome = f"ended with {self._process.wait()}"
            except OSError as error:
                outcome = f"cannot be started ({error})"
            if not self._stopping.wait(RESTART_DELAY_S):
                LOG.warning("The dispatcher %s: there is a new one", outcome)
