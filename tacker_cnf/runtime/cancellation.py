"""Limits of work: deadline, lease and cancellation."""

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator
from typing import Final

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.runtime.lease import Lease

LOG = log.getLogger(__name__)

_local = threading.local()

#: interval at which a lease that is about to end is read again
RENEWAL_POLL_S: Final = 0.05


@dataclasses.dataclass(frozen=True)
class Deadline:
    """A point in time (``Clock.monotonic``) by which work has to end."""

    at: float
    clock: Clock = SYSTEM_CLOCK

    @classmethod
    def within(cls, seconds: float, clock: Clock = SYSTEM_CLOCK) -> "Deadline":
        return cls(clock.monotonic() + seconds, clock)

    def limited(self, seconds: float) -> "Deadline":
        """Return the earlier one of this deadline and so many seconds from
        now.
        """
        return Deadline(
            min(self.at, self.clock.monotonic() + seconds), self.clock
        )

    @property
    def remaining(self) -> float:
        """Seconds that are left; never below zero."""
        return max(self.at - self.clock.monotonic(), 0.0)

    @property
    def passed(self) -> bool:
        return self.remaining == 0.0


class CancelToken:
    """Cancellation of one piece of work; checked by the threads that do it.

    A graceful cancellation stops work before its next change; the change in
    progress is completed. A forceful one also interrupts waiting.

    :param lease: changes are allowed only while it is valid; default: the
        lease inherited from the parent process, if any
    :param clock: the clock by which the work waits
    """

    def __init__(
        self, lease: Lease | None = None, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.lease = lease or Lease.inherited()
        self.clock = clock
        self._lock = threading.Lock()
        self._reason: errors.VnfmError | None = None
        self._forceful = False
        #: each with whether a graceful cancellation calls it, too
        self._callbacks: list[tuple[Callable[[], object], bool]] = []

    @classmethod
    def current(cls) -> "CancelToken | None":
        """Return the token of the work that this thread does."""
        return getattr(_local, "cancel_token", None)

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Apply this token to the requests of this thread: a forceful
        cancellation ends their waiting, and changes are sent only while the
        lease allows it.
        """
        previous = self.current()
        _local.cancel_token = self
        try:
            yield
        finally:
            _local.cancel_token = previous

    def cancel(self, reason: errors.VnfmError, *, forceful: bool) -> None:
        """Cancel the work; may be called from any thread.

        A forceful cancellation replaces an earlier graceful one, and its
        reason.
        """
        with self._lock:
            if self._forceful or (self._reason and not forceful):
                return
            self._reason = reason
            self._forceful = forceful
            callbacks = tuple(self._callbacks)
        for callback, gracefully in callbacks:
            if forceful or gracefully:
                _run_callback(callback)

    @property
    def reason(self) -> errors.VnfmError | None:
        """The error that cancelled the work; None: it is not cancelled."""
        return self._reason

    def check(self) -> None:
        """Check before each change that it may be made.

        :raises VnfmError: the work was cancelled, gracefully or forcefully
        :raises LeaseLost: the lease has ended
        """
        if self._reason:
            raise self._reason
        self.check_lease()

    def check_lease(self) -> None:
        """Check that the lease allows a changing request; wait for its
        renewal if it is about to end. Called right before the request is
        sent, and before each retry.

        :raises LeaseLost: the lease has ended
        :raises VnfmError: the work was cancelled forcefully while waiting
        """
        while self.lease and not self.lease.allows_request:
            if not self.lease.remaining:
                raise errors.LeaseLost
            self.wait(RENEWAL_POLL_S)

    def raise_if_cancelled(self) -> None:
        """Check while waiting that the work was not cancelled forcefully.

        :raises VnfmError: the work was cancelled forcefully
        """
        if self._forceful and self._reason:
            raise self._reason

    @contextlib.contextmanager
    def on_cancel(
        self, callback: Callable[[], object], *, gracefully: bool = False
    ) -> Iterator[None]:
        """Call ``callback`` from another thread when the work is cancelled
        forcefully within this block; the call may come just after the block
        has ended.

        :param gracefully: call it on a graceful cancellation, too
        :raises VnfmError: the work was cancelled in such a way, before or
            within the block
        :raises LeaseLost: `gracefully`, and the lease has ended
        """
        check = self.check if gracefully else self.raise_if_cancelled
        entry = callback, gracefully
        with self._lock:
            self._callbacks.append(entry)
        try:
            check()
            yield
            check()
        except Exception:  # may be caused by the callback
            check()
            raise
        finally:
            with self._lock:
                self._callbacks.remove(entry)

    def wait(self, seconds: float) -> None:
        """Sleep until the time is over or the work is cancelled forcefully.

        :raises VnfmError: the work was cancelled forcefully
        """
        interrupted = threading.Event()
        with self.on_cancel(interrupted.set):
            self.clock.wait(interrupted, seconds)

    def wait_idle(self, seconds: float) -> None:
        """Sleep while no change is in progress, until the time is over or
        the work is cancelled in either way.

        :raises VnfmError: the work was cancelled
        :raises LeaseLost: the lease has ended
        """
        interrupted = threading.Event()
        with self.on_cancel(interrupted.set, gracefully=True):
            self.clock.wait(interrupted, seconds)


@contextlib.contextmanager
def cancelled_after(
    seconds: float, reason: errors.VnfmError, cancel_token: CancelToken
) -> Iterator[CancelToken]:
    """Cancel a token forcefully if this block takes longer than some
    seconds.
    """
    timer = threading.Timer(
        seconds, cancel_token.cancel, (reason,), {"forceful": True}
    )
    timer.daemon = True
    timer.start()
    try:
        yield cancel_token
    finally:
        timer.cancel()


def _run_callback(callback: Callable[[], object]) -> None:
    """Run a callback; an error is logged, so that all others run too."""
    try:
        callback()
    except Exception:
        LOG.exception("Cancellation callback failed")
