"""Retries of requests to a VIM that does not answer."""

import itertools
from collections.abc import Callable
from typing import Final, Self, TypeVar

from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers import interruptible
from tacker_cnf.runtime.cancellation import CancelToken, Deadline

LOG = log.getLogger(__name__)

T = TypeVar("T")

#: delays between attempts while a VIM does not answer; the last is repeated
RETRY_DELAYS_S: Final = (0.05, 0.2, 0.5, 1.0, 2.0)


class Unreachable(errors.VimUnreachable):
    """The VIM does not answer now; a retry after some seconds may succeed."""


class RetryPolicy:
    """Repeats requests to a VIM that does not answer, such as an API server
    that restarts. All requests must be safe to repeat.

    Retries go on for longer if the VIM has answered this task before.

    :param contact_timeout: seconds of retries until the first answer
    :param outage_timeout: seconds of retries after a VIM has answered once
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

    @classmethod
    def of_conf(
        cls,
        conf: cfg.ConfigOpts.GroupAttr,
        deadline: Deadline,
        cancel_token: CancelToken | None = None,
    ) -> Self:
        """Build the policy that the options of a driver configure.

        :param conf: has contact_timeout and outage_timeout, in seconds
        """
        return cls(
            deadline,
            cancel_token,
            contact_timeout=conf.contact_timeout,
            outage_timeout=conf.outage_timeout,
        )

    def call(self, request: Callable[[], T]) -> T:
        """Send a request, and retry until the VIM answers or rejects it.

        :raises VimUnreachable: the VIM did not answer in time
        :raises VimRejected: the VIM rejected the request
        :raises VnfmError: the task was cancelled forcefully
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
                LOG.info("VIM unreachable, retrying: error=%s", error)
                self.cancel_token.wait(min(delay, outage_deadline.remaining))
        raise AssertionError("unreachable")

    def _attempt(self, request: Callable[[], T]) -> T:
        try:
            with interruptible.cancel_scope(self.cancel_token):
                answer = request()
        except errors.VimRejected:  # so the VIM is reachable
            self._current_timeout = self._outage_timeout
            raise
        self._current_timeout = self._outage_timeout
        return answer

    def _outage_deadline(self) -> Deadline:
        return self.deadline.limited(self._current_timeout)
