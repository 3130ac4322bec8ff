"""Repetition of attempts that fail for now."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Final, Protocol, Self, TypeVar

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.runtime.cancellation import CancelToken, Deadline

LOG = log.getLogger(__name__)

T = TypeVar("T")

#: seconds between attempts; the last is repeated
RETRY_DELAYS_S: Final = (0.05, 0.2, 0.5, 1.0, 2.0)
#: seconds of retries in a task without a deadline
SHORT_OUTAGE_S: Final = 1.0


class RetryOptions(Protocol):
    """The options of a driver for its retries, in seconds."""

    @property
    def contact_timeout(self) -> float: ...
    @property
    def outage_timeout(self) -> float: ...


class RetryPolicy:
    """Repeats attempts that fail, such as requests to an API server that
    restarts. All of them must be safe to repeat.

    Retries go on for longer if an attempt has succeeded before, or the VIM
    has rejected it.

    :param cancel_token: a forceful cancellation ends the retries
    :param contact_timeout: seconds of retries until the first answer
    :param outage_timeout: seconds of retries after an answer
    :param delays: seconds between attempts; the last is repeated
    """

    def __init__(
        self,
        deadline: Deadline,
        cancel_token: CancelToken | None = None,
        *,
        contact_timeout: float = math.inf,
        outage_timeout: float = math.inf,
        delays: Sequence[float] = RETRY_DELAYS_S,
    ) -> None:
        self.deadline = deadline
        self.cancel_token = cancel_token or CancelToken(clock=deadline.clock)
        self._current_timeout = contact_timeout
        self._outage_timeout = outage_timeout
        self._delays = delays

    @classmethod
    def of_options(
        cls,
        options: RetryOptions,
        deadline: Deadline,
        cancel_token: CancelToken | None = None,
    ) -> Self:
        """Build the policy that the options of a driver configure."""
        return cls(
            deadline,
            cancel_token,
            contact_timeout=options.contact_timeout,
            outage_timeout=options.outage_timeout,
        )

    @classmethod
    def without_deadline(cls, cancel_token: CancelToken) -> Self:
        """Build the policy of a task that may last forever."""
        return cls(
            Deadline(math.inf, cancel_token.clock),
            cancel_token,
            contact_timeout=SHORT_OUTAGE_S,
            outage_timeout=SHORT_OUTAGE_S,
        )

    def call(
        self,
        attempt: Callable[[], T],
        retried: type[Exception] = errors.VimUnavailable,
    ) -> T:
        """Repeat an attempt until it succeeds, or raises any other error.

        :param retried: the error after which it is repeated
        :raises Exception: that of the last attempt before the timeout
        :raises VnfmError: the task was cancelled forcefully
        """
        outage_deadline = self.deadline.limited(self._current_timeout)
        last_delay = itertools.repeat(self._delays[-1])
        level = log.INFO
        is_outage = issubclass(retried, errors.VimUnreachable)
        event = "VIM unreachable" if is_outage else "Not ready"
        for delay in itertools.chain(self._delays, last_delay):
            self.cancel_token.raise_if_cancelled()
            try:
                with self.cancel_token.scope():
                    result = attempt()
                self._current_timeout = self._outage_timeout
                return result
            except errors.VimRejected:  # so the VIM is reachable
                self._current_timeout = self._outage_timeout
                raise
            except retried as error:
                if outage_deadline.passed:
                    raise
                LOG.log(level, "%s, retrying: error=%s", event, error)
                level = log.DEBUG
                self.cancel_token.wait(min(delay, outage_deadline.remaining))
        raise AssertionError("unreachable")
