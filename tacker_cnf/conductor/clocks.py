"""What a conductor does again and again."""

import threading
from collections.abc import Callable
from typing import Final

from oslo_log import log

from tacker_cnf.db.session import DATABASE_DOWN, first_line

LOG = log.getLogger(__name__)

#: seconds that are waited after what has failed
BREATH: Final = 1.0


class Clocks:
    """Threads that act again and again until they are stopped, whatever
    fails.
    """

    def __init__(self) -> None:
        #: set when all is to end
        self.stopped = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, act: Callable[[], None], interval: float = 0.0) -> None:
        """Act from now on.

        :param act: waits by itself if there is no interval
        :param interval: seconds before each time
        """

        def go_on() -> None:
            while not self.stopped.wait(interval):
                try:
                    act()
                except DATABASE_DOWN as error:
                    LOG.warning("%s: %s", act.__name__, first_line(error))
                    self.stopped.wait(BREATH)
                except Exception:
                    LOG.exception("%s will be tried again", act.__name__)
                    self.stopped.wait(BREATH)

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
