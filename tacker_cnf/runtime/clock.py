"""The clock by which work waits and measures time."""

import datetime
import threading
import time
from typing import Final


class Clock:
    """The clock of this host. A test passes its own, which it controls."""

    def monotonic(self) -> float:
        """Return seconds since some moment; never goes back."""
        return time.monotonic()

    def boottime(self) -> float:
        """Return the seconds since the machine booted, including the time in
        which it was suspended.
        """
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def utcnow(self) -> datetime.datetime:
        """Return the date and time."""
        return datetime.datetime.now(datetime.UTC)

    def wait(self, event: threading.Event, seconds: float | None) -> bool:
        """Wait until an event is set; return whether it is.

        :param seconds: the longest time to wait; None: no limit
        """
        return event.wait(seconds)

    def sleep(self, seconds: float) -> None:
        """Wait for nothing but the time."""
        self.wait(threading.Event(), seconds)


SYSTEM_CLOCK: Final = Clock()
