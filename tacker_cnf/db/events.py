"""Events and the progress of operations, as streams of events read them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple, cast

import msgspec
import sqlalchemy as sa
from oslo_log import log
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.context import Owner
from tacker_cnf.db import models, scope
from tacker_cnf.db.session import epoch
from tacker_cnf.db.types import SecretJson
from tacker_cnf.lcm import states
from tacker_cnf.lcm.announcement import Announcement
from tacker_cnf.sol.event import OperationProgress

LOG = log.getLogger(__name__)

Event = models.LifecycleEvent
Operation = models.VnfLcmOpOcc

_ANNOUNCEMENT: Final = SecretJson(Announcement)


class StoredEvent(NamedTuple):
    """An event, and the project of its VNF instance or VNF package."""

    number: int
    #: seconds since it was added
    age: float
    project_id: str
    #: None: it cannot be decoded: another release or another key wrote it
    announcement: Announcement | None


class StoredProgress(NamedTuple):
    """The progress of an operation, and the owner of the operation."""

    owner: Owner
    progress: OperationProgress


def newest(session: orm.Session) -> int:
    """Return the number of the newest event; 0: there is none."""
    return session.scalar(sa.select(sa.func.max(Event.id))) or 0


def has_missed(session: orm.Session, after: int, retention: float) -> bool:
    """Return whether events after one may have been deleted.

    :param after: the number of an event; 0: all events
    :param retention: seconds for which an event is kept
    """
    oldest, newest_number = scope.rows(
        session, sa.select(sa.func.min(Event.id), sa.func.max(Event.id))
    ).one()
    if after in {0, newest_number}:
        return after == 0 and oldest is not None and oldest > 1
    # an event with a delivery is kept for longer than those after it
    kept = session.scalar(
        sa.select(Event.id).where(
            Event.id == after, Event.added_at >= epoch() - retention
        )
    )
    return kept is None


def list_new(
    session: orm.Session,
    after: int,
    seen: Collection[int] = (),
    *,
    limit: int,
    project_id: str | None = None,
) -> Sequence[StoredEvent]:
    """List the events after a number, except those seen, oldest first.

    :param project_id: only events of this project and of all VNF packages;
        None: of all projects
    """
    query = sa.select(
        Event.id,
        epoch() - sa.func.coalesce(Event.added_at, 0.0),
        Event.project_id,
        sa.type_coerce(Event.announcement, sa.Text),
    ).where(Event.id > after)
    if seen:
        query = query.where(Event.id.not_in(seen))
    if project_id is not None:
        query = query.where(
            sa.or_(
                Event.project_id == project_id, Event.is_of_package.is_(True)
            )
        )
    rows = scope.rows(session, query.order_by(Event.id).limit(limit))
    dialect = session.get_bind().dialect
    return [
        StoredEvent(number, age, owner, _decode(number, text, dialect))
        for number, age, owner, text in rows
    ]


def _decode(
    number: int, text: str, dialect: sa.Dialect
) -> Announcement | None:
    try:
        return cast(
            "Announcement",
            _ANNOUNCEMENT.process_result_value(text, dialect),
        )
    except (errors.VnfmError, msgspec.MsgspecError) as error:
        LOG.warning("Event not decoded: event=%d error=%s", number, error)
        return None


def list_versions(session: orm.Session) -> Mapping[str, int]:
    """Return the versions of the progress of the active operations, by their
    ids.
    """
    rows = scope.rows(
        session,
        sa.select(Operation.id, Operation.progress_version).where(
            Operation.operation_state.in_(states.ACTIVE)
        ),
    )
    return dict(rows.tuples().all())


def list_progress(
    session: orm.Session, op_occ_ids: Collection[str]
) -> Sequence[StoredProgress]:
    """Return the progress of operations; one may have been deleted."""
    rows = scope.rows(
        session,
        sa.select(
            Operation.project_id,
            Operation.user_id,
            Operation.vnf_instance_id,
            Operation.id,
            Operation.operation,
            Operation.operation_state,
            Operation.timeline,
        ).where(Operation.id.in_(op_occ_ids)),
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
