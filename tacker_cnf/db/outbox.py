"""The outbox: each change adds an event in its own transaction.

Events are matched with subscriptions later (`deliveries`), so that the cost
of a change does not depend on the number of subscriptions.
"""

import datetime
import uuid

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import models
from tacker_cnf.db.session import ANNOUNCED
from tacker_cnf.lcm import announcement
from tacker_cnf.lcm.announcement import Announcement, Subject
from tacker_cnf.sol.subscription import NotificationType
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc

Row = models.LifecycleEvent


def announce(
    session: orm.Session, op_occ: VnfLcmOpOcc, now: datetime.datetime
) -> None:
    """Add an event: an operation has entered its state; none if its instance
    was deleted.
    """
    try:
        subject = subject_of(session, op_occ.vnf_instance_id)
    except errors.NotFound:
        return
    _add(
        session,
        NotificationType.OP_OCC,
        subject,
        now,
        announcement.redact_op_occ(op_occ),
    )


def announce_creation(
    session: orm.Session, instance: VnfInstance, now: datetime.datetime
) -> None:
    """Add an event: an instance was created."""
    subject = announcement.subject(instance)
    _add(session, NotificationType.CREATION, subject, now)


def announce_deletion(session: orm.Session, subject: Subject) -> None:
    """Add an event: an instance was deleted."""
    now = datetime.datetime.now(datetime.UTC)
    _add(session, NotificationType.DELETION, subject, now)


def subject_of(session: orm.Session, instance_id: str) -> Subject:
    """Return the attributes of an instance that subscriptions filter by.

    :raises NotFound: the instance has just been deleted
    """
    columns = [
        getattr(models.VnfInstance, n) for n in Subject.__struct_fields__
    ]
    row = session.execute(
        sa.select(*columns).where(models.VnfInstance.id == instance_id)
    ).one_or_none()
    if row is None:
        raise errors.NotFound(f"There is no VNF instance {instance_id}.")
    return Subject(**row._mapping)  # noqa: SLF001


def _add(
    session: orm.Session,
    kind: NotificationType,
    subject: Subject,
    now: datetime.datetime,
    op_occ: VnfLcmOpOcc | None = None,
) -> None:
    happened = Announcement(
        id=str(uuid.uuid4()),
        type=kind,
        time_stamp=now,
        subject=subject,
        op_occ=op_occ,
    )
    session.add(Row(announcement=happened, fanned_out=False))
    session.info[ANNOUNCED] = True
