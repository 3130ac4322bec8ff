"""A question to the NFVO, and the patience to wait for its answer."""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Final, TypeVar

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.http_client.retry_after import retry_after
from tacker_cnf.nfvo.client import NfvoResponse
from tacker_cnf.runtime.cancellation import CancelToken, Deadline

LOG = log.getLogger(__name__)
T = TypeVar("T")

#: the NFVO has too much to do, and says when to come back
RETRIED_STATUSES: Final = frozenset({429, 503})
#: shortest and longest wait between two requests, whatever the NFVO says
MIN_WAIT_S: Final = 0.05
MAX_WAIT_S: Final = 60.0
#: seconds between two looks whether the work was called off gracefully: while
#: the NFVO is waited for nothing has begun that would have to end
CANCEL_CHECK_INTERVAL_S: Final = 0.25


class Retrier:
    """What the NFVO is asked until it has answered, or time is up."""

    def __init__(
        self, timeout: float, cancel_token: CancelToken, interval: float
    ) -> None:
        self._timeout = timeout
        self._deadline = Deadline.within(timeout)
        self._cancel_token = cancel_token
        self._interval = interval
        #: why the last try came to nothing
        self._last_failure = ""

    def run(self, call: Callable[[], NfvoResponse]) -> NfvoResponse:
        """Make a request until it is answered.

        :raises PeerFailed: it was not in time, or not in HTTP
        """
        while True:
            self._cancel_token.check()
            left = self._deadline.remaining
            try:
                response = run_cancellable(call, self._cancel_token, left)
            except TimeoutError:
                # what it said before tells more than that time is up now
                self._last_failure = self._last_failure or " It is silent."
                raise self._timeout_error() from None
            except errors.PeerUnreachable as error:
                LOG.warning("%s The NFVO will be asked again.", error)
                self._last_failure = f" The last try: {error}"
                self.pause(None)
                continue
            self._last_failure = ""
            if response.status not in RETRIED_STATUSES:
                return response
            self._last_failure = (
                f" It answered {response.status}: {response.error_detail}"
            )
            self.pause(response)

    def pause(self, response: NfvoResponse | None) -> None:
        """Wait as long as the NFVO wants us to, or as is usual.

        :raises PeerUnreachable: no time is left
        :raises VnfmError: the work was called off
        """
        header = response.headers.get("Retry-After", "") if response else ""
        pause = retry_after(header)
        wait = self._interval if pause is None else pause
        wait = min(max(wait, MIN_WAIT_S), MAX_WAIT_S)
        _sleep(self._cancel_token, min(wait, self._deadline.remaining))
        if self._deadline.passed:
            raise self._timeout_error()

    def _timeout_error(self) -> errors.PeerUnreachable:
        return errors.PeerUnreachable(
            f"The NFVO has not decided within {self._timeout:g} seconds."
            f"{self._last_failure}"
        )


def run_cancellable(
    act: Callable[[], T], cancel_token: CancelToken, seconds: float
) -> T:
    """Wait for what cannot be interrupted, in a thread of its own.

    That thread is left to itself when nobody waits for it any more.

    :raises TimeoutError: it took longer
    :raises VnfmError: the work was called off
    """
    future: Future[T] = Future()
    threading.Thread(
        target=_complete_future, args=(future, act), daemon=True
    ).start()

    def abandon() -> None:
        future.cancel()

    until = Deadline.within(seconds)
    with cancel_token.on_cancel(abandon):
        while True:
            cancel_token.check()
            try:
                return future.result(
                    min(until.remaining, CANCEL_CHECK_INTERVAL_S)
                )
            except TimeoutError:
                if until.passed:
                    raise


def _sleep(cancel_token: CancelToken, seconds: float) -> None:
    """Sleep, unless the work is called off.

    :raises VnfmError: it was
    """
    until = Deadline.within(seconds)
    while not until.passed:
        cancel_token.check()
        cancel_token.wait(min(until.remaining, CANCEL_CHECK_INTERVAL_S))


def _complete_future(future: "Future[T]", act: Callable[[], T]) -> None:
    with contextlib.suppress(InvalidStateError):  # nobody waits any more
        try:
            result = act()
        except Exception as error:  # noqa: BLE001
            future.set_exception(error)
        else:
            future.set_result(result)
