"""A question to the NFVO, and the patience to wait for its answer."""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Final, TypeVar

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.halting import Deadline, Halt
from tacker_cnf.nfvo.peer import Answer
from tacker_cnf.outgoing.pauses import retry_after

LOG = log.getLogger(__name__)
T = TypeVar("T")

#: the NFVO has too much to do, and says when to come back
BUSY: Final = frozenset({429, 503})
#: shortest and longest wait between two requests, whatever the NFVO says
MIN_WAIT: Final = 0.05
MAX_WAIT: Final = 60.0
#: seconds between two looks whether the work was called off gracefully: while
#: the NFVO is waited for nothing has begun that would have to end
LOOK: Final = 0.25


class Question:
    """What the NFVO is asked until it has answered, or time is up."""

    def __init__(self, patience: float, halt: Halt, interval: float) -> None:
        self._patience = patience
        self._deadline = Deadline.within(patience)
        self._halt = halt
        self._interval = interval
        #: why the last try came to nothing
        self._lost = ""

    def ask(self, call: Callable[[], Answer]) -> Answer:
        """Make a request until it is answered.

        :raises PeerFailed: it was not in time, or not in HTTP
        """
        while True:
            self._halt.check()
            left = self._deadline.remaining
            try:
                answer = unless_called_off(call, self._halt, left)
            except TimeoutError:
                # what it said before tells more than that time is up now
                self._lost = self._lost or " It is silent."
                raise self._too_late() from None
            except errors.PeerUnreachable as error:
                LOG.warning("%s The NFVO will be asked again.", error)
                self._lost = f" The last try: {error}"
                self.pause(None)
                continue
            self._lost = ""
            if answer.status not in BUSY:
                return answer
            self._lost = f" It answered {answer.status}: {answer.told}"
            self.pause(answer)

    def pause(self, answer: Answer | None) -> None:
        """Wait as long as the NFVO wants us to, or as is usual.

        :raises PeerUnreachable: no time is left
        :raises VnfmError: the work was called off
        """
        told = answer.headers.get("Retry-After", "") if answer else ""
        pause = retry_after(told)
        wait = self._interval if pause is None else pause
        wait = min(max(wait, MIN_WAIT), MAX_WAIT)
        _sleep(self._halt, min(wait, self._deadline.remaining))
        if self._deadline.passed:
            raise self._too_late()

    def _too_late(self) -> errors.PeerUnreachable:
        return errors.PeerUnreachable(
            f"The NFVO has not decided within {self._patience:g} seconds."
            f"{self._lost}"
        )


def unless_called_off(act: Callable[[], T], halt: Halt, seconds: float) -> T:
    """Wait for what cannot be interrupted, in a thread of its own.

    That thread is left to itself when nobody waits for it any more.

    :raises TimeoutError: it took longer
    :raises VnfmError: the work was called off
    """
    future: Future[T] = Future()
    threading.Thread(target=_settle, args=(future, act), daemon=True).start()

    def let_be() -> None:
        future.cancel()

    until = Deadline.within(seconds)
    with halt.wakes(let_be):
        while True:
            halt.check()
            try:
                return future.result(min(until.remaining, LOOK))
            except TimeoutError:
                if until.passed:
                    raise


def _sleep(halt: Halt, seconds: float) -> None:
    """Sleep, unless the work is called off.

    :raises VnfmError: it was
    """
    until = Deadline.within(seconds)
    while not until.passed:
        halt.check()
        halt.wait(min(until.remaining, LOOK))


def _settle(future: "Future[T]", act: Callable[[], T]) -> None:
    with contextlib.suppress(InvalidStateError):  # nobody waits any more
        try:
            result = act()
        except Exception as error:  # noqa: BLE001
            future.set_exception(error)
        else:
            future.set_result(result)
