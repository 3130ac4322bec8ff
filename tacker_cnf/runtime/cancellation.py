"""When work has to end: its deadline, its lease, and whether it was called
off.
"""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.runtime.lease import Lease

LOG = log.getLogger(__name__)

#: seconds between two checks whether a lease was renewed
RENEWAL_POLL_S: Final = 0.05


@dataclasses.dataclass(frozen=True)
class Deadline:
    """The instant by which something has to have happened."""

    at: float

    @classmethod
    def within(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)

    @property
    def remaining(self) -> float:
        """Seconds that are left; never below zero."""
        return max(self.at - time.monotonic(), 0.0)

    @property
    def passed(self) -> bool:
        return self.remaining == 0.0


class CancelToken:
    """Tells work that it was called off; whoever works asks.

    Called off gracefully, work begins no further change, and what is under
    way goes on to its end. Called off at once, it waits for nothing more.

    :param lease: outside of which nothing may be changed; without it that of
        the process, if it is a child process that has one
    """

    def __init__(self, lease: Lease | None = None) -> None:
        self.lease = lease or Lease.inherited()
        self._lock = threading.Lock()
        self._reason: errors.VnfmError | None = None
        self._forceful = False
        self._callbacks: list[Callable[[], None]] = []
        #: of those who do nothing while they wait
        self._idle_events: list[threading.Event] = []

    def cancel(self, reason: errors.VnfmError, *, forceful: bool) -> None:
        """Call the work off, from any thread.

        What was called off gracefully may be called off at once later, and
        the more urgent reason counts.
        """
        with self._lock:
            if self._forceful or (self._reason and not forceful):
                return
            self._reason = reason
            self._forceful = forceful
            idle_events = tuple(self._idle_events)
            callbacks = tuple(self._callbacks) if forceful else ()
        for one in idle_events:
            one.set()
        for callback in callbacks:
            _run_callback(callback)

    @property
    def reason(self) -> errors.VnfmError | None:
        """Why the work was called off; None: it was not."""
        return self._reason

    def check(self) -> None:
        """Ask before each change whether it may still be made.

        :raises VnfmError: the work was called off, whichever way, or its
            lease has ended
        """
        if self._reason:
            raise self._reason
        self.check_lease()

    def check_lease(self) -> None:
        """Check right before a changing request is sent, and before each
        retry, that the lease allows it; wait if it is about to end.

        :raises LostClaim: the lease has ended
        :raises VnfmError: the work was called off at once meanwhile
        """
        while self.lease and not self.lease.allows_request:
            if not self.lease.remaining:
                raise errors.LostClaim
            self.wait(RENEWAL_POLL_S)

    def raise_if_cancelled(self) -> None:
        """Ask while waiting whether it is still worth it.

        :raises VnfmError: the work was called off at once
        """
        if self._forceful and self._reason:
            raise self._reason

    @contextlib.contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Iterator[None]:
        """Within this block, `wake` is called from another thread when the
        work is called off at once; it may be called when the block has
        just been left.

        :raises VnfmError: it is called off at once already, or was meanwhile
        """
        with self._lock:
            self._callbacks.append(callback)
        try:
            self.raise_if_cancelled()
            yield
            self.raise_if_cancelled()
        except Exception:  # what broke because it was woken, for one
            self.raise_if_cancelled()
            raise
        finally:
            with self._lock:
                self._callbacks.remove(callback)

    def wait(self, seconds: float) -> None:
        """Sleep, unless the work is called off at once meanwhile.

        :raises VnfmError: it was
        """
        interrupted = threading.Event()
        with self.on_cancel(interrupted.set):
            interrupted.wait(seconds)

    def wait_idle(self, seconds: float) -> None:
        """Sleep while no change is under way, unless the work is called off
        meanwhile, whichever way.

        :raises VnfmError: it was, or is already
        """
        interrupted = threading.Event()
        with self._lock:
            self._idle_events.append(interrupted)
        try:
            self.check()
            interrupted.wait(seconds)
            self.check()
        finally:
            with self._lock:
                self._idle_events.remove(interrupted)


def _run_callback(callback: Callable[[], None]) -> None:
    """Wake one; if that fails, the others are to be woken all the same."""
    try:
        callback()
    except Exception:
        LOG.exception("Somebody who waits was not woken")
