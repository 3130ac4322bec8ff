"""The requests of an API process that wait for a VIM, a subscriber or the
NFVO.
"""

import contextlib
import threading
from collections.abc import Iterator
from typing import Final

from oslo_config import cfg

from tacker_cnf import errors

#: seconds after which a rejected request is sent again
RETRY_AFTER_S: Final = 10


class PeerSlots:
    """Limits these requests, so that the others find a thread.

    :param conf: the configuration; [api] has the limits
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        number = min(conf.api.max_peer_requests, conf.api.threads // 2)
        self._slots = threading.BoundedSemaphore(max(number, 1))

    @contextlib.contextmanager
    def take(self) -> Iterator[None]:
        """Wait for peers only within this block.

        :raises Unavailable: too many requests wait for peers
        """
        if not self._slots.acquire(blocking=False):
            raise errors.Unavailable(
                "Too many requests wait for VIMs, subscribers or the NFVO "
                "([api] max_peer_requests): registrations, dry runs, new "
                "subscriptions and packages of the NFVO. Send the request "
                "again later."
            ).with_headers([("Retry-After", str(RETRY_AFTER_S))])
        try:
            yield
        finally:
            self._slots.release()
