"""How many requests of an API process may do the same slow thing at once.

The others are rejected at once, and so find a thread.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Final

from oslo_config import cfg

from tacker_cnf import errors

#: seconds after which a rejected request is sent again
RETRY_AFTER_S: Final = 10


class Slots:
    """Limits requests that do the same thing.

    :param number: of requests that do it at once
    :param message: of the error of further ones
    """

    def __init__(self, number: int, message: str) -> None:
        self._free = threading.BoundedSemaphore(number)
        self._message = message

    @contextlib.contextmanager
    def take(self) -> Iterator[None]:
        """Do it only within this block.

        :raises Unavailable: too many requests do it
        """
        if not self._free.acquire(blocking=False):
            raise errors.Unavailable(self._message).with_headers(
                [("Retry-After", str(RETRY_AFTER_S))]
            )
        try:
            yield
        finally:
            self._free.release()


def for_peers(conf: cfg.ConfigOpts) -> Slots:
    """Limit the requests that wait for a VIM, a subscriber or the NFVO.

    :param conf: the configuration; [api] has the limits
    """
    number = min(conf.api.max_peer_requests, conf.api.threads // 2)
    return Slots(
        max(number, 1),
        "Too many requests wait for VIMs, subscribers or the NFVO "
        "([api] max_peer_requests): registrations, dry runs, new "
        "subscriptions and packages of the NFVO. Send the request again "
        "later.",
    )
