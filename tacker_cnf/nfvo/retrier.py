"""Requests to the NFVO that are retried until the timeout."""

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from typing import Final, TypeVar

from oslo_log import log

from tacker_cnf import context, errors
from tacker_cnf.http_client.retry_after import retry_after
from tacker_cnf.nfvo.client import NfvoResponse
from tacker_cnf.runtime.cancellation import CancelToken, Deadline

LOG = log.getLogger(__name__)
T = TypeVar("T")

#: the NFVO is overloaded; Retry-After says when to retry
RETRIED_STATUSES: Final = frozenset({429, 503})
#: shortest and longest wait between two requests, whatever Retry-After says
MIN_WAIT_S: Final = 0.05
MAX_WAIT_S: Final = 60.0


class Retrier:
    """Retries requests until the NFVO responds or the timeout is over."""

    def __init__(
        self, timeout: float, cancel_token: CancelToken, interval: float
    ) -> None:
        self._timeout = timeout
        self._deadline = Deadline.within(timeout, cancel_token.clock)
        self._cancel_token = cancel_token
        self._interval = interval
        #: why the last attempt failed; part of the error at the timeout
        self._last_failure = ""

    def run(self, call: Callable[[], NfvoResponse]) -> NfvoResponse:
        """Send a request until the NFVO responds.

        :raises PeerFailed: the response is not HTTP, or did not arrive in
            time
        """
        while True:
            self._cancel_token.check()
            left = self._deadline.remaining
            try:
                response = run_cancellable(call, self._cancel_token, left)
            except TimeoutError:
                # an earlier failure explains more than this timeout
                self._last_failure = self._last_failure or " No response."
                raise self._timeout_error() from None
            except errors.PeerUnreachable as error:
                LOG.warning("NFVO unreachable, retrying: error=%s", error)
                self._last_failure = f" Last attempt: {error}"
                self.pause(None)
                continue
            self._last_failure = ""
            if response.status not in RETRIED_STATUSES:
                return response
            self._last_failure = (
                f" Last response {response.status}: {response.error_detail}"
            )
            self.pause(response)

    def pause(self, response: NfvoResponse | None) -> None:
        """Wait for Retry-After, or the poll interval without that header.

        :raises PeerUnreachable: the timeout is over
        :raises VnfmError: the operation was cancelled
        """
        header = response.headers.get("Retry-After", "") if response else ""
        pause = retry_after(header)
        wait = self._interval if pause is None else pause
        wait = min(max(wait, MIN_WAIT_S), MAX_WAIT_S)
        self._cancel_token.wait_idle(min(wait, self._deadline.remaining))
        if self._deadline.passed:
            raise self._timeout_error()

    def _timeout_error(self) -> errors.PeerUnreachable:
        return errors.PeerUnreachable(
            f"The NFVO did not decide within {self._timeout:g} seconds."
            f"{self._last_failure}"
        )


def run_cancellable(
    act: Callable[[], T], cancel_token: CancelToken, seconds: float
) -> T:
    """Run a call in a thread of its own. A graceful cancel is immediate: no
    step has started yet.

    After it, or after a timeout, the thread runs on until its exchange ends,
    and its result is dropped.

    :raises TimeoutError: the call took longer than ``seconds``
    :raises VnfmError: the operation was cancelled
    """
    future: Future[T] = Future()
    threading.Thread(
        target=_complete_future,
        args=(future, act, cancel_token, context.current_request_id()),
        daemon=True,
    ).start()
    with cancel_token.on_cancel(future.cancel, gracefully=True):
        return future.result(seconds)


def _complete_future(
    future: "Future[T]",
    act: Callable[[], T],
    cancel_token: CancelToken,
    request_id: str | None,
) -> None:
    context.enter_request(request_id)
    with (
        contextlib.suppress(InvalidStateError),  # cancelled: no waiter
        cancel_token.scope(),
    ):
        try:
            result = act()
        except Exception as error:  # noqa: BLE001
            future.set_exception(error)
        else:
            future.set_result(result)
