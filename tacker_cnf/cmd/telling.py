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
PAUSE: Final = 2.0
#: seconds it has to end
FAREWELL: Final = 10.0


class Telling:
    """Keeps a dispatcher running, and wakes it.

    :param store: where this process writes down what happens
    :param arguments: of the command line: which configuration it reads
    """

    def __init__(self, store: Store, arguments: Sequence[str]) -> None:
        self._store = store
        # -P: no module is taken from the directory where this was started
        self._command = [sys.executable, "-P", "-m", PROGRAM, *arguments]
        # one pipe for all that are started, one after another
        self._heard, pen = os.pipe()
        os.set_blocking(pen, False)
        self._pen = os.fdopen(pen, "wb", buffering=0)
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ending = threading.Event()
        self._thread = threading.Thread(
            target=self._keep, daemon=True, name="telling"
        )

    def start(self) -> None:
        """Have a dispatcher from here on."""
        self._thread.start()
        self._store.listeners.append(self.wake)

    def wake(self) -> None:
        """Tell it that there is something new, from any thread."""
        with contextlib.suppress(OSError, ValueError):  # it is just ending
            self._pen.write(b".")  # a full pipe says it already

    def stop(self) -> None:
        """Let it end, and wait for that."""
        self._store.listeners.remove(self.wake)
        self._is_ending.set()
        self._pen.close()
        self._thread.join(FAREWELL)
        if self._thread.is_alive() and self._process:
            LOG.warning("The dispatcher does not end, and is killed")
            self._process.kill()
            self._thread.join()
        os.close(self._heard)

    def _keep(self) -> None:
        while not self._is_ending.is_set():
            try:
                with subprocess.Popen(  # noqa: S603
                    self._command, stdin=self._heard
                ) as self._process:
                    ended = f"ended with {self._process.wait()}"
            except OSError as error:
                ended = f"cannot be started ({error})"
            if not self._is_ending.wait(PAUSE):
                LOG.warning("The dispatcher %s: there is a new one", ended)
