"""Repeat what fails while the server restarts or has too many clients."""

import logging
import time
from collections.abc import Callable
from typing import Final, TypeVar

from tacker_cnf.cli import failures

LOG = logging.getLogger(__name__)

FIRST_DELAY_S: Final = 1.0
MAX_DELAY_S: Final = 15.0
#: attempts in a row that fail before a command gives up, after four minutes
MAX_FAILURES: Final = 20
#: seconds between two lines about a row of failures
REPORT_INTERVAL_S: Final = 60.0
_TEMPORARY: Final = frozenset({429, 502, 503, 504})
T = TypeVar("T")


class Backoff:
    """Pauses between attempts, each longer than the one before."""

    def __init__(self) -> None:
        self._failures = 0
        self._reported = 0.0

    def reset(self) -> None:
        """Begin again, as an attempt has succeeded."""
        self._failures = 0

    def pause(self) -> None:
        """Wait before the next attempt."""
        time.sleep(min(FIRST_DELAY_S * 2**self._failures, MAX_DELAY_S))

    def tolerate(self, error: failures.CommandFailed) -> None:
        """Count a failure; log the first one of a row, and one a minute.

        :raises CommandFailed: it lasts, or there were too many
        """
        if not is_temporary(error) or self._failures == MAX_FAILURES:
            raise error
        now = time.monotonic()
        if not self._failures or now - self._reported >= REPORT_INTERVAL_S:
            LOG.warning("%s Trying again ...", error)
            self._reported = now
        self._failures += 1


def is_temporary(error: failures.CommandFailed) -> bool:
    """Return whether a failure can pass without a change of the request."""
    if isinstance(error, failures.RequestRejected):
        return error.status in _TEMPORARY
    return isinstance(error, failures.ConnectionLost)


def retry(call: Callable[[], T]) -> T:
    """Return the result of a call, which is repeated while it fails.

    :raises CommandFailed: the failure lasts
    """
    backoff = Backoff()
    while True:
        try:
            return call()
        except failures.CommandFailed as error:
            backoff.tolerate(error)
        backoff.pause()
