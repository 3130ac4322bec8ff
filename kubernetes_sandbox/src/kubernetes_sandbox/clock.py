"""The time of a cluster: that of the thread in which the cluster runs.

While it is held, it goes on only by calls of ``advance``.
"""

import datetime as dt
import threading

_THREAD = threading.local()


def current_time() -> dt.datetime:
    """Return the time of the cluster."""
    held: dt.datetime | None = getattr(_THREAD, "held", None)
    return held or dt.datetime.now(dt.UTC)


def seconds_since(timestamp: str) -> float:
    """Return the seconds that have passed since a timestamp."""
    passed = current_time() - dt.datetime.fromisoformat(timestamp)
    return passed.total_seconds()


def hold() -> None:
    """Stop the time of the cluster of this thread."""
    _THREAD.held = current_time()


def advance(seconds: float) -> None:
    """Go on by some seconds; the time is held."""
    _THREAD.held += dt.timedelta(seconds=seconds)
