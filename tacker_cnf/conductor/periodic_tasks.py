"""What a conductor does again and again."""

import threading
from collections.abc import Callable
from typing import Final

from oslo_log import log

from tacker_cnf.db.session import DATABASE_DOWN, RowsLocked, first_line

LOG = log.getLogger(__name__)

#: seconds that are waited after what has failed
DEFAULT_RETRY_DELAY_S: Final = 1.0
#: seconds after which leases are renewed again if that has failed
RENEWAL_RETRY_DELAY_S: Final = 0.5


class PeriodicTasks:
    """Threads that act again and again until they are stopped, whatever
    fails.
    """

    def __init__(self) -> None:
        #: set when all is to end
        self.stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(
        self,
        task: Callable[[], None],
        interval: float = 0.0,
        retry_delay: float | None = None,
    ) -> None:
        """Act from now on.

        :param task: waits by itself if there is no interval
        :param interval: seconds before each time
        :param retry_delay: seconds before the next time after one that
            failed; without it a moment longer than ever
        """
        if retry_delay is None:
            retry_delay = DEFAULT_RETRY_DELAY_S + interval

        def loop() -> None:
            delay = interval
            while not self.stopped.wait(delay):
                delay = interval if _run_once(task) else retry_delay

        thread = threading.Thread(target=loop, daemon=True, name=task.__name__)
        thread.start()
        self._threads.append(thread)

    def stop(self) -> None:
        """Have them end; they may still be at it."""
        self.stopped.set()

    def join(self, timeout: float | None = None) -> None:
        """Wait for each of them.

        :param timeout: seconds
        """
        for thread in self._threads:
            thread.join(timeout)


def _run_once(task: Callable[[], None]) -> bool:
    """Act once; log what fails."""
    try:
        task()
    except RowsLocked as error:
        LOG.info("%s waits for locked rows: %s", task.__name__, error)
    except DATABASE_DOWN as error:
        LOG.debug("%s: %s", task.__name__, first_line(error))
    except Exception:
        LOG.exception("%s will be tried again", task.__name__)
    else:
        return True
    return False
