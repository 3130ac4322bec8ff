"""Checks of VIMs when they are registered, limited in time."""

import contextlib
from collections.abc import Iterator
from typing import Final

from tacker_cnf import errors
from tacker_cnf.runtime.cancellation import (
    CancelToken,
    Deadline,
    cancelled_after,
)
from tacker_cnf.runtime.retry_policy import RetryOptions, RetryPolicy

#: seconds after which a failed request of a check is not repeated
RETRIES_S: Final = 1.0


@contextlib.contextmanager
def limited(timeout: float, options: RetryOptions) -> Iterator[RetryPolicy]:
    """Return the retry policy of a check, whose requests end in time.

    :param timeout: seconds, [vims] check_timeout
    :param options: those of the driver for its retries
    :raises VimUnreachable: the check lasts too long
    """
    late = errors.VimUnreachable(
        f"The VIM did not answer completely within {timeout:g} s ([vims] "
        "check_timeout)."
    )
    with cancelled_after(timeout, late, CancelToken()) as token:
        yield RetryPolicy.of_options(
            options, Deadline.within(RETRIES_S), token
        )
