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
from tacker_cnf.lease import Lease

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


class Halt:
    """Tells work that it was called off; whoever works asks.

    Called off gracefully, work begins no further change, and what is under
    way goes on to its end. Called off at once, it waits for nothing more.

    :param lease: outside of which nothing may be changed; without it that of
        the process, if it is a child process that has one
    """

    def __init__(self, lease: Lease | None = None) -> None:
        self.lease = lease or Lease.inherited()
        self._lock = threading.Lock()
        self._why: errors.VnfmError | None = None
        self._at_once = False
        self._wakers: list[Callable[[], None]] = []
        #: of those who do nothing while they wait
        self._resting: list[threading.Event] = []

    def call_off(self, why: errors.VnfmError, *, at_once: bool) -> None:
        """Call the work off, from any thread.

        What was called off gracefully may be called off at once later, and
        the more urgent reason counts.
        """
        with self._lock:
            if self._at_once or (self._why and not at_once):
                return
            self._why = why
            self._at_once = at_once
            resting = tuple(self._resting)
            wakers = tuple(self._wakers) if at_once else ()
        for one in resting:
            one.set()
        for wake in wakers:
            _wake(wake)

    @property
    def called_off(self) -> errors.VnfmError | None:
        """Why the work was called off; None: it was not."""
        return self._why

    def check(self) -> None:
        """Ask before each change whether it may still be made.

        :raises VnfmError: the work was called off, whichever way, or its
            lease has ended
        """
        if self._why:
            raise self._why
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

    def check_wait(self) -> None:
        """Ask while waiting whether it is still worth it.

        :raises VnfmError: the work was called off at once
        """
        if self._at_once and self._why:
            raise self._why

    @contextlib.contextmanager
    def wakes(self, wake: Callable[[], None]) -> Iterator[None]:
        """Within this block, `wake` is called from another thread when the
        work is called off at once; it may be called when the block has
        just been left.

        :raises VnfmError: it is called off at once already, or was meanwhile
        """
        with self._lock:
            self._wakers.append(wake)
        try:
            self.check_wait()
            yield
            self.check_wait()
        except Exception:  # what broke because it was woken, for one
            self.check_wait()
            raise
        finally:
            with self._lock:
                self._wakers.remove(wake)

    def wait(self, seconds: float) -> None:
        """Sleep, unless the work is called off at once meanwhile.

        :raises VnfmError: it was
        """
        woken = threading.Event()
        with self.wakes(woken.set):
            woken.wait(seconds)

    def rest(self, seconds: float) -> None:
        """Sleep while no change is under way, unless the work is called off
        meanwhile, whichever way.

        :raises VnfmError: it was, or is already
        """
        woken = threading.Event()
        with self._lock:
            self._resting.append(woken)
        try:
            self.check()
            woken.wait(seconds)
            self.check()
        finally:
            with self._lock:
                self._resting.remove(woken)


def _wake(wake: Callable[[], None]) -> None:
    """Wake one; if that fails, the others are to be woken all the same."""
    try:
        wake()
    except Exception:
        LOG.exception("Somebody who waits was not woken")
