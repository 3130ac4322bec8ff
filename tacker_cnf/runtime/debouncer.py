"""Merges a burst of changes into one callback."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock

#: seconds after a change until the callback
QUIET_PERIOD_S: Final = 0.3
#: seconds after the first change until the callback, at the most
MAX_DELAY_S: Final = 3.0


class Debouncer:
    """Calls back once for many changes of the same thing.

    :param callback: called with a name, in the thread of the debouncer
    """

    def __init__(
        self, callback: Callable[[str], None], clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._callback = callback
        self._clock = clock
        #: name -> when it is due, and when at the latest (Clock.monotonic)
        self._due: dict[str, tuple[float, float]] = {}
        #: names that are not due before release(), and how often they are held
        self._held = Counter[str]()
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(
            target=self._run, name="debouncer", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Drop all names, and end the thread."""
        with self._lock:
            self._stopped = True
            self._due.clear()
        self._changed.set()

    def schedule(
        self, names: Iterable[str], delay: float = QUIET_PERIOD_S
    ) -> None:
        """Schedule the callback for names, `delay` seconds from now."""
        now = self._clock.monotonic()
        with self._lock:
            for name in names:
                _, latest = self._due.get(
                    name, (0, now + max(delay, MAX_DELAY_S))
                )
                self._due[name] = (min(now + delay, latest), latest)
        self._changed.set()

    def hold(self, name: str) -> None:
        """Delay the callback for a name until release()."""
        with self._lock:
            self._held[name] += 1

    def release(self, name: str) -> None:
        """End one hold(): without another one, its changes are due."""
        with self._lock:
            self._held[name] -= 1
            if not self._held[name]:
                del self._held[name]
        self._changed.set()

    def _run(self) -> None:
        while not self._stopped:
            self._changed.clear()
            for name in self._pop_due():
                self._callback(name)
            self._clock.wait(self._changed, self._next_wait())

    def _pop_due(self) -> tuple[str, ...]:
        now = self._clock.monotonic()
        with self._lock:
            due_names = tuple(
                name
                for name, (due, _) in self._due.items()
                if due <= now and name not in self._held
            )
            for name in due_names:
                del self._due[name]
        return due_names

    def _next_wait(self) -> float | None:
        with self._lock:
            pending = [
                due
                for name, (due, _) in self._due.items()
                if name not in self._held
            ]
        if not pending:
            return None
        return max(min(pending) - self._clock.monotonic(), 0.0)
