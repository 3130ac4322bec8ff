"""How long a task bears a VIM that does not answer."""

import itertools
from collections.abc import Callable
from typing import Final, TypeVar

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers import interruptible
from tacker_cnf.runtime.cancellation import CancelToken, Deadline

LOG = log.getLogger(__name__)

T = TypeVar("T")

#: seconds between tries while a VIM is away; the last again and again
RETRY_DELAYS_S: Final = (0.05, 0.2, 0.5, 1.0, 2.0)


class Unreachable(errors.VimUnreachable):
    """The VIM does not answer now; it may in some seconds."""


class RetryPolicy:
    """Asks a VIM again while it is away, as an API server is that starts
    anew. All that we ask may be asked twice.

    A VIM that has answered this task before is borne for longer than one
    that may never have been there.

    :param contact_timeout: seconds that the first answer may be waited for
    :param outage_timeout: seconds that any later answer may be waited for
    """

    def __init__(
        self,
        deadline: Deadline,
        cancel_token: CancelToken | None = None,
        *,
        contact_timeout: float = 1.0,
        outage_timeout: float = 1.0,
    ) -> None:
        self.deadline = deadline
        self.cancel_token = cancel_token or CancelToken()
        self._current_timeout = contact_timeout
        self._outage_timeout = outage_timeout

    def call(self, request: Callable[[], T]) -> T:
        """Ask until there is an answer, be it a refusal.

        :raises VimUnreachable: the VIM was away for too long
        :raises VnfmError: the task was called off at once
        """
        outage_deadline = self._outage_deadline()
        for delay in itertools.chain(
            RETRY_DELAYS_S, itertools.repeat(RETRY_DELAYS_S[-1])
        ):
            self.cancel_token.raise_if_cancelled()
            try:
                return self._attempt(request)
            except Unreachable as error:
                if outage_deadline.passed:
                    raise
                LOG.info("%s It is asked again.", error)
                self.cancel_token.wait(min(delay, outage_deadline.remaining))
        raise AssertionError("unreachable")

    def _attempt(self, request: Callable[[], T]) -> T:
        try:
            with interruptible.cancel_scope(self.cancel_token):
                answer = request()
        except errors.VimRejected:  # it is there, then
            self._current_timeout = self._outage_timeout
            raise
        self._current_timeout = self._outage_timeout
        return answer

    def _outage_deadline(self) -> Deadline:
        return Deadline.within(
            min(self._current_timeout, self.deadline.remaining)
        )
