"""Later work on the cluster's loop, all of it ended when the cluster is."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

LOG = logging.getLogger(__name__)


class Timers:
    """Calls functions soon or later, until it is closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handles: set[asyncio.Handle] = set()
        self._closed = False

    def soon(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Call when the present work is done."""
        if not self._closed:
            self._loop.call_soon(self._run, None, work, arguments)

    def later(
        self, seconds: float, work: Callable[..., Any], *arguments: Any
    ) -> Callable[[], None]:
        """Call after some seconds; answers how to call it off."""
        if self._closed:
            return lambda: None
        box: list[asyncio.Handle] = []
        handle = self._loop.call_later(
            seconds, self._run, box, work, arguments
        )
        box.append(handle)
        self._handles.add(handle)
        return lambda: self._call_off(handle)

    def close(self) -> None:
        """Call nothing any more."""
        self._closed = True
        for handle in self._handles:
            handle.cancel()
        self._handles.clear()

    def _call_off(self, handle: asyncio.Handle) -> None:
        handle.cancel()
        self._handles.discard(handle)

    def _run(
        self,
        box: list[asyncio.Handle] | None,
        work: Callable[..., Any],
        arguments: tuple[Any, ...],
    ) -> None:
        for handle in box or ():
            self._handles.discard(handle)
        if self._closed:
            return
        try:
            work(*arguments)
        except Exception:
            LOG.exception("%s failed", getattr(work, "__qualname__", work))
