"""Concurrent calls, for work whose order does not matter."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from oslo_log import log

from tacker_cnf.context import bind_request

LOG = log.getLogger(__name__)

T = TypeVar("T")


def call_each(
    function: Callable[[T], object], items: Sequence[T], limit: int
) -> None:
    """Call a function with each item, for the request of this thread. After
    an error, begin no further call, and wait for those that have begun.

    :param limit: the maximum number of calls at the same time
    :raises Exception: the first error; others are logged
    """
    if len(items) < 2:
        for item in items:
            function(item)
        return
    raised = _call_all(bind_request(function), items, limit)
    for error in raised[1:]:
        if error is not raised[0]:  # as that of a cancelled operation
            LOG.warning("Further concurrent call failed: error=%s", error)
    if raised:
        raise raised[0]


def _call_all(
    function: Callable[[T], object], items: Sequence[T], limit: int
) -> Sequence[BaseException]:
    """Call a function with each item until an error; return the errors."""
    has_failed = threading.Event()
    raised: list[BaseException] = []

    def call(item: T) -> None:
        if has_failed.is_set():
            return
        try:
            function(item)
        except BaseException as error:  # noqa: BLE001
            has_failed.set()
            raised.append(error)

    threads = min(limit, len(items))
    with ThreadPoolExecutor(threads, "concurrent-call") as pool:
        try:
            for item in items:
                pool.submit(call, item)
        except BaseException:  # no thread can be started
            has_failed.set()
            raise
    return raised
