"""Events as messages of a stream (WHATWG HTML, Server-sent events)."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple

import msgspec

from tacker_cnf import errors
from tacker_cnf.context import Owner, RequestContext
from tacker_cnf.db.events import StoredEvent, StoredProgress
from tacker_cnf.lcm.announcement import Announcement
from tacker_cnf.notification.payload import Recipient, build_notification
from tacker_cnf.services.event_position import EventPosition
from tacker_cnf.sol import base
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.event import EventsMissed, OperationProgress
from tacker_cnf.sol.package_subscription import PackageNotificationType
from tacker_cnf.sol.subscription import (
    LcmOpOccNotificationVerbosityType,
    NotificationType,
)

PROGRESS: Final = OperationProgress.__name__
#: the types of events
TYPES: Final = (*NotificationType, *PackageNotificationType, PROGRESS)

_SUBSCRIPTION: Final = "stream"
#: the URIs are relative to the address of the API
_RECIPIENT: Final = Recipient(
    subscription_id=_SUBSCRIPTION,
    verbosity=LcmOpOccNotificationVerbosityType.FULL,
    api_base="",
)


class EventFilter(NamedTuple):
    """What a client wants to read; an empty set matches all."""

    types: AbstractSet[str] = frozenset()
    vnf_instance_ids: AbstractSet[str] = frozenset()
    vnf_lcm_op_occ_ids: AbstractSet[str] = frozenset()


class Message(NamedTuple):
    """A message, and what decides which clients get it."""

    type: str
    text: bytes
    owner: Owner
    #: of an event
    number: int | None = None
    vnf_instance_id: str | None = None
    vnf_lcm_op_occ_id: str | None = None
    #: of a VNF package: other projects that may use it
    is_public: bool = False
    shared_with: tuple[str, ...] = ()

    def matches(self, wanted: EventFilter) -> bool:
        """Return whether a client wants the message."""
        return (
            _matches(wanted.types, self.type)
            and _matches(wanted.vnf_instance_ids, self.vnf_instance_id)
            and _matches(wanted.vnf_lcm_op_occ_ids, self.vnf_lcm_op_occ_id)
        )

    def is_visible_to(self, client: RequestContext) -> bool:
        """Return whether a client may read the message."""
        own = client.owner.project_id
        projects = {self.owner.project_id, *self.shared_with}
        if not (client.all_projects or self.is_public or own in projects):
            return False
        if client.authorize is not None:
            try:
                client.authorize(self.owner)
            except errors.Forbidden:
                return False
        return True


def _matches(wanted: AbstractSet[str], actual: str | None) -> bool:
    return not wanted or actual in wanted


def of_events(
    found: Iterable[StoredEvent], position: EventPosition
) -> Iterator[Message]:
    """Return the messages of events that were read, and advance the position.
    A client that has read a message continues after its position.
    """
    for event in found:
        position.add(event)
        if event.announcement is not None:
            yield _of_event(event, event.announcement, position.number)


def _of_event(
    event: StoredEvent, announcement: Announcement, position: int
) -> Message:
    notification = build_notification(announcement, _RECIPIENT)
    values = msgspec.to_builtins(notification)
    del values["subscriptionId"], values["_links"]["subscription"]
    kind = str(notification.notification_type)
    package, op_occ = announcement.package, announcement.op_occ
    return Message(
        type=kind,
        text=_encode(kind, values, position),
        owner=Owner(event.project_id, op_occ.user_id if op_occ else None),
        number=event.number,
        vnf_instance_id=None if package else announcement.subject.id,
        vnf_lcm_op_occ_id=op_occ.id if op_occ else None,
        is_public=package is not None and package.is_public,
        shared_with=package.shared_with if package else (),
    )


def of_progress(stored: StoredProgress) -> Message:
    """Return the message of the progress of an operation."""
    progress = stored.progress
    return Message(
        type=PROGRESS,
        text=_encode(PROGRESS, progress),
        owner=stored.owner,
        vnf_instance_id=progress.vnf_instance_id,
        vnf_lcm_op_occ_id=progress.vnf_lcm_op_occ_id,
    )


def of_missed(last_event_id: int, position: int) -> bytes:
    """Return the text of a message: the client has to read the resources
    again, as not all events after its last one are sent.

    :param position: the number after which it continues
    """
    missed = EventsMissed(last_event_id=str(last_event_id))
    return _encode(EventsMissed.__name__, missed, position)


def _encode(
    kind: str, data: SolType | dict[str, Any], position: int | None = None
) -> bytes:
    number = "" if position is None else f"id: {position}\n"
    head = f"{number}event: {kind}\ndata: ".encode()
    return head + base.encode(data) + b"\n\n"
