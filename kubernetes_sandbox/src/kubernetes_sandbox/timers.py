"""Timers on the event loop of the cluster."""

import asyncio
import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubernetes_sandbox import clock

LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class _Timer:
    """A call that is due at a time of the event loop, in seconds."""

    due: float
    work: Callable[..., Any]
    arguments: tuple[Any, ...]
    #: None while the timers are held
    handle: asyncio.TimerHandle | None = None


class Timers:
    """Calls functions later, until it is closed.

    While the timers are held, no time passes: a timer is run by
    ``run_next`` alone, and the time is then that at which it was due.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timers: dict[int, _Timer] = {}
        self._numbers = itertools.count()
        self._calls_soon = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._held_at: float | None = None
        self._closed = False

    def soon(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Call in the next iteration of the event loop."""
        if not self._closed:
            self._calls_soon += 1
            self._idle.clear()
            self._loop.call_soon(self._run_soon, work, arguments)

    def later(
        self, seconds: float, work: Callable[..., Any], *arguments: Any
    ) -> Callable[[], None]:
        """Call after some seconds; return a function that cancels it."""
        if self._closed:
            return lambda: None
        number = next(self._numbers)
        if self._held_at is None:
            due = self._loop.time() + seconds
            handle = self._loop.call_at(due, self._run, number)
            self._timers[number] = _Timer(due, work, arguments, handle)
        else:
            due = self._held_at + seconds
            self._timers[number] = _Timer(due, work, arguments)
        return lambda: self._call_off(number)

    def hold(self) -> None:
        """Stop the time of the cluster until its end."""
        clock.hold()
        self._held_at = self._loop.time()
        for timer in self._timers.values():
            if timer.handle is not None:
                timer.handle.cancel()
                timer.handle = None

    def run_next(self) -> bool:
        """Run the held timer that is due first; return whether one was."""
        assert self._held_at is not None
        if not self._timers:
            return False
        number = min(self._timers, key=lambda one: self._timers[one].due)
        seconds = max(0.0, self._timers[number].due - self._held_at)
        self._held_at += seconds
        clock.advance(seconds)
        self._run(number)
        return True

    async def wait_idle(self) -> None:
        """Wait until every call of ``soon`` and what it led to has ended."""
        await self._idle.wait()

    def close(self) -> None:
        """Cancel all calls."""
        self._closed = True
        for number in list(self._timers):
            self._call_off(number)

    def _call_off(self, number: int) -> None:
        timer = self._timers.pop(number, None)
        if timer is not None and timer.handle is not None:
            timer.handle.cancel()

    def _run(self, number: int) -> None:
        timer = self._timers.pop(number)
        self._call(timer.work, timer.arguments)

    def _run_soon(
        self, work: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        if not self._closed:
            self._call(work, arguments)
        self._calls_soon -= 1
        if not self._calls_soon:
            self._idle.set()

    @staticmethod
    def _call(work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        try:
            work(*arguments)
        except Exception:
            LOG.exception(
                "Timer failed: %s", getattr(work, "__qualname__", work)
            )
