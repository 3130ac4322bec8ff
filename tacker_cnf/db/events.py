"""Events and the progress of operations, as streams of events read them."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.context import Owner
from tacker_cnf.db import models
from tacker_cnf.db.session import epoch
from tacker_cnf.lcm import states
from tacker_cnf.lcm.announcement import Announcement
from tacker_cnf.sol.event import OperationProgress

Event = models.LifecycleEvent
Operation = models.VnfLcmOpOcc


class StoredEvent(NamedTuple):
    """An event, and the project of its VNF instance or VNF package."""

    number: int
    #: seconds since it was added
    age: float
    project_id: str
    announcement: Announcement


class StoredProgress(NamedTuple):
    """The progress of an operation, and the owner of the operation."""

    owner: Owner
    progress: OperationProgress


def newest(session: orm.Session) -> int:
    """Return the number of the newest event; 0: there is none."""
    return session.scalar(sa.select(sa.func.max(Event.id))) or 0


def has_missed(session: orm.Session, after: int) -> bool:
    """Return whether events after a number may have been deleted."""
    oldest = session.scalar(sa.select(sa.func.min(Event.id)))
    return oldest is not None and oldest > after + 1


def list_new(
    session: orm.Session, after: int, seen: Collection[int], limit: int
) -> Sequence[StoredEvent]:
    """List the events after a number, except those seen, oldest first."""
    query = sa.select(
        Event.id,
        epoch() - sa.func.coalesce(Event.added_at, 0.0),
        Event.project_id,
        Event.announcement,
    ).where(Event.id > after)
    if seen:
        query = query.where(Event.id.not_in(seen))
    rows = session.execute(query.order_by(Event.id).limit(limit))
    return [StoredEvent(*row) for row in rows]


def list_versions(session: orm.Session) -> Mapping[str, int]:
    """Return the versions of the timelines of the active operations, by their
    ids.
    """
    rows = session.execute(
        sa.select(Operation.id, Operation.timeline_version).where(
            Operation.operation_state.in_(states.ACTIVE)
        )
    )
    return dict(rows.tuples().all())


def list_progress(
    session: orm.Session, op_occ_ids: Collection[str]
) -> Sequence[StoredProgress]:
    """Return the progress of operations; one may have been deleted."""
    rows = session.execute(
        sa.select(
            Operation.project_id,
            Operation.user_id,
            Operation.vnf_instance_id,
            Operation.id,
            Operation.operation,
            Operation.operation_state,
            Operation.timeline,
        ).where(Operation.id.in_(op_occ_ids))
    )
    return [
        StoredProgress(
            Owner(row.project_id, row.user_id),
            OperationProgress(
                vnf_instance_id=row.vnf_instance_id,
                vnf_lcm_op_occ_id=row.id,
                operation=row.operation,
                operation_state=row.operation_state,
                timeline=row.timeline or (),
            ),
        )
        for row in rows
    ]
