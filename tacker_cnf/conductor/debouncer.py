"""Merges a burst of changes into one callback."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

#: seconds after a change until the callback
QUIET_PERIOD_S: Final = 0.3
#: seconds after the first change until the callback, at the most
MAX_DELAY_S: Final = 3.0


class Debouncer:
    """Calls back once for many changes of the same thing.

    :param callback: called with a name, in the thread of the debouncer
    """

    def __init__(self, callback: Callable[[str], None]) -> None:
        self._callback = callback
        #: name -> when it is due, and when at the latest (time.monotonic)
        self._due: dict[str, tuple[float, float]] = {}
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(
            target=self._run, name="debouncer", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Drop all names, and end the thread."""
        with self._changed:
            self._stopped = True
            self._due.clear()
            self._changed.notify()

    def schedule(
        self, names: Iterable[str], delay: float = QUIET_PERIOD_S
    ) -> None:
        """Schedule the callback for names, `delay` seconds from now."""
        now = time.monotonic()
        with self._changed:
            for name in names:
                _, latest = self._due.get(
                    name, (0, now + max(delay, MAX_DELAY_S))
                )
                self._due[name] = (min(now + delay, latest), latest)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                due_names = self._pop_due()
                if not due_names:
                    self._changed.wait(self._next_wait())
            for name in due_names:
                self._callback(name)

    def _pop_due(self) -> tuple[str, ...]:
        now = time.monotonic()
        due_names = tuple(n for n, (due, _) in self._due.items() if due <= now)
        for name in due_names:
            del self._due[name]
        return due_names

    def _next_wait(self) -> float | None:
        if not self._due:
            return None
        first = min(due for due, _ in self._due.values())
        return max(first - time.monotonic(), 0.0)
