"""Waiting for what another process does: a deadline, never a fixed sleep."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(
    look: Callable[[], T | None], what: str, patience: float = 30.0
) -> T:
    """Look again and again until there is something to see; give it."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within {patience} s: {what}")
