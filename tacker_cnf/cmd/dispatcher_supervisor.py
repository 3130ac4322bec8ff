"""Run the dispatcher as a child process, as long as this process runs."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.db.session import Store
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock

LOG = log.getLogger(__name__)

PROGRAM: Final = "tacker_cnf.cmd.dispatcher"
#: seconds between the end of a dispatcher and the start of the next one
RESTART_DELAY_S: Final = 2.0
#: seconds after which a dispatcher that does not stop is killed
STOP_TIMEOUT_S: Final = 10.0


class DispatcherSupervisor:
    """Keeps a dispatcher running, and wakes it.

    :param store: the store in which this process records events
    :param arguments: the command line, which names the configuration
    """

    def __init__(
        self,
        store: Store,
        arguments: Sequence[str],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._clock = clock
        self._store = store
        # -P: no module is imported from the working directory
        self._command = [sys.executable, "-P", "-m", PROGRAM, *arguments]
        # one pipe for all dispatchers, which run one after another
        self._wake_reader, wake_writer = os.pipe()
        os.set_blocking(wake_writer, False)
        self._wake_writer = os.fdopen(wake_writer, "wb", buffering=0)
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._supervise, daemon=True, name="dispatcher-supervisor"
        )

    def start(self) -> None:
        """Start the dispatcher and its supervision."""
        self._thread.start()
        self._store.listeners.append(self.wake)

    def check(self) -> None:
        """Check that the dispatcher runs.

        :raises Unavailable: it does not
        """
        if self._process is None or self._process.returncode is not None:
            raise errors.Unavailable("The dispatcher does not run.")

    def wake(self) -> None:
        """Wake the dispatcher because of new events; thread-safe."""
        with contextlib.suppress(OSError, ValueError):  # it is stopping
            self._wake_writer.write(b".")  # a full pipe wakes it as well

    def stop(self) -> None:
        """Stop the dispatcher and wait for its end."""
        self._store.listeners.remove(self.wake)
        self._stopping.set()
        self._wake_writer.close()
        self._thread.join(STOP_TIMEOUT_S)
        if self._thread.is_alive() and self._process:
            LOG.warning(
                "Dispatcher killed: timeout_s=%s pid=%s",
                STOP_TIMEOUT_S,
                self._process.pid,
            )
            self._process.kill()
            self._thread.join()
        os.close(self._wake_reader)

    def _supervise(self) -> None:
        while not self._stopping.is_set():
            try:
                with subprocess.Popen(  # noqa: S603
                    self._command, stdin=self._wake_reader
                ) as self._process:
                    reason = f"exit status {self._process.wait()}"
            except OSError as error:
                reason = str(error)
            if not self._clock.wait(self._stopping, RESTART_DELAY_S):
                LOG.warning("Dispatcher ended, restarting: reason=%s", reason)
