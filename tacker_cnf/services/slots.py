"""How many requests of an API process may do the same slow thing at once.

The others are rejected at once, and so find a thread.
"""

import contextlib
from collections.abc import Iterator
from typing import Final

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.runtime import fair_places
from tacker_cnf.runtime.fair_places import FairPlaces

#: seconds after which a rejected request is sent again
RETRY_AFTER_S: Final = 10


class Slots:
    """Limits requests that do the same thing, and those of one project.

    :param number: of requests that do it at once
    :param percent: of this number, the most that one project may have
    :param things: what they do, with the option that limits it
    """

    def __init__(self, number: int, percent: int, things: str) -> None:
        share = fair_places.share(number, percent)
        self._places = FairPlaces(number, [share])
        self._message = (
            f"Too many requests {things}: at most {number} do so at once, and "
            f"{share} of one project ([api] project_share). Send the request "
            "again later."
        )

    @contextlib.contextmanager
    def take(self, project_id: str) -> Iterator[None]:
        """Do it only within this block, for a project.

        :raises Unavailable: too many requests do it
        """
        place = self._places.take((project_id,))
        if place is None:
            raise errors.Unavailable(self._message).with_headers(
                [("Retry-After", str(RETRY_AFTER_S))]
            )
        try:
            yield
        finally:
            self._places.release(place)


def for_peers(conf: cfg.ConfigOpts) -> Slots:
    """Limit the requests that wait for a VIM, a subscriber or the NFVO."""
    number = min(conf.api.max_peer_requests, conf.api.threads // 2)
    return Slots(
        max(number, 1),
        conf.api.project_share,
        "wait for VIMs, subscribers or the NFVO ([api] max_peer_requests; "
        "registrations, dry runs, new subscriptions and packages of the NFVO)",
    )


def for_logins(conf: cfg.ConfigOpts) -> Slots:
    """Limit the requests that log in at Keystone: they have no project yet,
    and any client can send them.
    """
    number = max(min(conf.api.max_peer_requests, conf.api.threads) // 4, 1)
    return Slots(number, 100, "log in ([api] max_peer_requests)")


def for_uploads(conf: cfg.ConfigOpts) -> Slots:
    """Limit the requests that send the content of a VNF package."""
    return Slots(
        conf.api.max_uploads,
        conf.api.project_share,
        "send the content of VNF packages ([api] max_uploads)",
    )


def for_waits(conf: cfg.ConfigOpts) -> Slots:
    """Limit the requests that wait for the state of an operation; they keep
    their connections.
    """
    number = min(conf.api.max_waits, conf.api.max_connections // 2)
    return Slots(
        max(number, 1),
        conf.api.project_share,
        "wait for the state of an operation ([api] max_waits, at most half of "
        "max_connections)",
    )


def for_event_streams(conf: cfg.ConfigOpts) -> Slots:
    """Limit the requests that read the stream of events; they keep their
    connections.
    """
    number = min(conf.api.max_event_streams, conf.api.max_connections // 4)
    return Slots(
        max(number, 1),
        conf.api.project_share,
        "read the stream of events ([api] max_event_streams, at most a quarter "
        "of max_connections)",
    )


def for_scripts(conf: cfg.ConfigOpts) -> Slots:
    """Limit the dry runs that run code of VNF packages."""
    return Slots(
        conf.scripts.max_dry_runs,
        conf.api.project_share,
        "are dry runs that run code of VNF packages ([scripts] max_dry_runs)",
    )
