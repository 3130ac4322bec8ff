"""Lets a burst of changes come to rest before somebody looks."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

#: seconds without a change after which something has settled
QUIET: Final = 0.3
#: seconds after which nobody waits longer for that
LATEST: Final = 3.0


class Settling:
    """Tells once what many changes were noted of.

    :param settled: told, from a thread of its own, of what has settled
    """

    def __init__(self, settled: Callable[[str], None]) -> None:
        self._settled = settled
        #: name -> when it will have settled, and the latest such time
        self._noted: dict[str, tuple[float, float]] = {}
        self._changed = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(
            target=self._run, name="settling", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Tell nothing more."""
        with self._changed:
            self._stopped = True
            self._noted.clear()
            self._changed.notify()

    def note(self, names: Iterable[str], delay: float = QUIET) -> None:
        """Note that some have changed, or are to be looked at later."""
        now = time.monotonic()
        with self._changed:
            for name in names:
                _, latest = self._noted.get(
                    name, (0, now + max(delay, LATEST))
                )
                self._noted[name] = (min(now + delay, latest), latest)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                ripe = self._ripe()
                if not ripe:
                    self._changed.wait(self._pause())
            for name in ripe:
                self._settled(name)

    def _ripe(self) -> tuple[str, ...]:
        now = time.monotonic()
        ripe = tuple(n for n, (due, _) in self._noted.items() if due <= now)
        for name in ripe:
            del self._noted[name]
        return ripe

    def _pause(self) -> float | None:
        if not self._noted:
            return None
        first = min(due for due, _ in self._noted.values())
        return max(first - time.monotonic(), 0.0)
