"""Checks of VIMs when they are registered, limited in time and number."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Final

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.runtime.cancellation import (
    CancelToken,
    Deadline,
    cancelled_after,
)
from tacker_cnf.runtime.retry_policy import RetryOptions, RetryPolicy

#: seconds after which a failed request of a check is not repeated
RETRIES_S: Final = 1.0


class VimChecks:
    """Limits the checks of one type of VIM in this process.

    :param conf: the configuration; [vims] has the limits
    :param options: those of the driver for its retries
    """

    def __init__(self, conf: cfg.ConfigOpts, options: RetryOptions) -> None:
        self._timeout: float = conf.vims.check_timeout
        self._options = options
        self._slots = threading.BoundedSemaphore(conf.vims.max_checks)

    @contextlib.contextmanager
    def begin(self) -> Iterator[RetryPolicy]:
        """Return the retry policy of a check, whose requests end in time.

        :raises Unavailable: too many checks are in progress
        :raises VimUnreachable: the check lasts too long
        """
        if not self._slots.acquire(blocking=False):
            raise errors.Unavailable(
                "Other VIMs are being checked ([vims] max_checks); send the "
                "request again later."
            ).with_headers([("Retry-After", str(int(self._timeout) + 1))])
        late = errors.VimUnreachable(
            f"The VIM did not answer completely within {self._timeout:g} s "
            "([vims] check_timeout)."
        )
        try:
            with cancelled_after(self._timeout, late, CancelToken()) as token:
                yield RetryPolicy.of_options(
                    self._options, Deadline.within(RETRIES_S), token
                )
        finally:
            self._slots.release()
