"""What a conductor does again and again."""

import threading
from collections.abc import Callable
from typing import Final

from oslo_log import log

from tacker_cnf.db.session import DATABASE_DOWN, RowsLocked, first_line

LOG = log.getLogger(__name__)

#: seconds that are waited after what has failed
BREATH: Final = 1.0
#: seconds after which leases are renewed again if that has failed
RENEWAL_RETRY: Final = 0.5


class Clocks:
    """Threads that act again and again until they are stopped, whatever
    fails.
    """

    def __init__(self) -> None:
        #: set when all is to end
        self.stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(
        self,
        act: Callable[[], None],
        interval: float = 0.0,
        retry_delay: float | None = None,
    ) -> None:
        """Act from now on.

        :param act: waits by itself if there is no interval
        :param interval: seconds before each time
        :param retry_delay: seconds before the next time after one that
            failed; without it a moment longer than ever
        """
        if retry_delay is None:
            retry_delay = BREATH + interval

        def go_on() -> None:
            pause = interval
            while not self.stopped.wait(pause):
                pause = interval if _succeeds(act) else retry_delay

        thread = threading.Thread(target=go_on, daemon=True, name=act.__name__)
        thread.start()
        self._threads.append(thread)

    def stop(self) -> None:
        """Have them end; they may still be at it."""
        self.stopped.set()

    def join(self, patience: float | None = None) -> None:
        """Wait for each of them.

        :param patience: seconds
        """
        for thread in self._threads:
            thread.join(patience)


def _succeeds(act: Callable[[], None]) -> bool:
    """Act once; log what fails."""
    try:
        act()
    except RowsLocked as error:
        LOG.info("%s waits for locked rows: %s", act.__name__, error)
    except DATABASE_DOWN as error:
        LOG.debug("%s: %s", act.__name__, first_line(error))
    except Exception:
        LOG.exception("%s will be tried again", act.__name__)
    else:
        return True
    return False
