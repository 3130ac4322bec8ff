"""Periodic tasks of a conductor."""

import threading
from collections.abc import Callable
from typing import Final

from oslo_log import log

from tacker_cnf.db.session import DATABASE_DOWN, RowsLocked, first_line
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock

LOG = log.getLogger(__name__)

#: seconds between a failed run and the next, added to the interval
DEFAULT_RETRY_DELAY_S: Final = 1.0
#: seconds between a failed renewal of leases and the next
RENEWAL_RETRY_DELAY_S: Final = 0.5


class PeriodicTasks:
    """Threads that each run a task until they are stopped, even if it
    fails.
    """

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
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
            delay = interval
            while not self._clock.wait(self.stopped, delay):
                delay = interval if _run_once(task) else retry_delay

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


def _run_once(task: Callable[[], None]) -> bool:
    """Run a task; log an error, and return whether there was none."""
    name = task.__name__
    try:
        task()
    except RowsLocked as error:
        LOG.info("Rows locked, retrying: task=%s rows=%s", name, error)
    except DATABASE_DOWN as error:
        LOG.debug(
            "Periodic task failed, retrying: task=%s error=%s",
            name,
            first_line(error),
        )
    except Exception:
        LOG.exception("Periodic task failed, retrying: task=%s", name)
    else:
        return True
    return False
