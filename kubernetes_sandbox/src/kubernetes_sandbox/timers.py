"""Timers on the event loop of the cluster."""

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import Any

LOG = logging.getLogger(__name__)


class Timers:
    """Calls functions later, until it is closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # By number: handles are equal if their callbacks are, so a set would
        # drop one of two equal ones.
        self._handles: dict[int, asyncio.Handle] = {}
        self._numbers = itertools.count()
        self._closed = False

    def soon(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Call in the next iteration of the event loop."""
        if not self._closed:
            self._loop.call_soon(self._run, None, work, arguments)

    def later(
        self, seconds: float, work: Callable[..., Any], *arguments: Any
    ) -> Callable[[], None]:
        """Call after some seconds; return a function that cancels it."""
        if self._closed:
            return lambda: None
        number = next(self._numbers)
        self._handles[number] = self._loop.call_later(
            seconds, self._run, number, work, arguments
        )
        return lambda: self._call_off(number)

    def close(self) -> None:
        """Cancel all calls."""
        self._closed = True
        for handle in self._handles.values():
            handle.cancel()
        self._handles.clear()

    def _call_off(self, number: int) -> None:
        handle = self._handles.pop(number, None)
        if handle is not None:
            handle.cancel()

    def _run(
        self,
        number: int | None,
        work: Callable[..., Any],
        arguments: tuple[Any, ...],
    ) -> None:
        if number is not None:
            self._handles.pop(number, None)
        if self._closed:
            return
        try:
            work(*arguments)
        except Exception:
            LOG.exception(
                "Timer failed: %s", getattr(work, "__qualname__", work)
            )
