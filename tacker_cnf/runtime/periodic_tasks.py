"""Tasks that threads run periodically."""

import threading
from collections.abc import Callable
from typing import Final

from oslo_log import log

from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock

LOG = log.getLogger(__name__)

#: seconds between a failed run and the next, added to the interval
DEFAULT_RETRY_DELAY_S: Final = 1.0
#: seconds between a failed renewal of leases and the next
RENEWAL_RETRY_DELAY_S: Final = 0.5


class PeriodicTasks:
    """Threads that each run a task until they are stopped, even if it
    fails.

    :param severity: returns the level at which an error is logged: from
        WARNING on with its traceback, a lower level only once in a row
    """

    def __init__(
        self,
        severity: Callable[[Exception], int],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._severity = severity
        self._clock = clock
        #: set when the threads are to end
        self.stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(
        self,
        task: Callable[[], None],
        interval: float = 0.0,
        retry_delay: float | None = None,
    ) -> None:
        """Start a thread that runs a task periodically.

        :param task: waits by itself if there is no interval
        :param interval: seconds before each run
        :param retry_delay: seconds between a failed run and the next; by
            default `interval` and DEFAULT_RETRY_DELAY_S
        """
        if retry_delay is None:
            retry_delay = DEFAULT_RETRY_DELAY_S + interval

        def loop() -> None:
            delay, level = interval, None
            while not self._clock.wait(self.stopped, delay):
                level = self._run_once(task, level)
                delay = interval if level is None else retry_delay

        thread = threading.Thread(target=loop, daemon=True, name=task.__name__)
        thread.start()
        self._threads.append(thread)

    def stop(self) -> None:
        """Request all threads to end; wait for none."""
        self.stopped.set()

    def join(self, timeout: float | None = None) -> None:
        """Wait for each thread.

        :param timeout: seconds for each
        """
        for thread in self._threads:
            thread.join(timeout)

    def _run_once(
        self, task: Callable[[], None], last_level: int | None
    ) -> int | None:
        """Run a task; log an error.

        :param last_level: what the run before has returned
        :returns: the severity of the error; None: there was none
        """
        try:
            task()
        except Exception as error:
            name, level = task.__name__, self._severity(error)
            if level >= log.WARNING:
                LOG.exception("Periodic task failed, retrying: task=%s", name)
            else:
                LOG.log(
                    log.DEBUG if level == last_level else level,
                    "Periodic task failed, retrying: task=%s error=%r",
                    name,
                    error,
                )
            return level
        return None
