"""The outbox: each change writes down, in its own transaction, what happened.

Who wants to know it is found out later (`deliveries`), so that a change costs
the same whether nobody or everybody has subscribed.
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
    """Write down that an operation has entered its state; of an instance
    that is no more there is nothing to tell.
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
    """Write down that there is an instance."""
    subject = announcement.subject(instance)
    _add(session, NotificationType.CREATION, subject, now)


def announce_deletion(session: orm.Session, subject: Subject) -> None:
    """Write down that an instance is no more."""
    now = datetime.datetime.now(datetime.UTC)
    _add(session, NotificationType.DELETION, subject, now)


def subject_of(session: orm.Session, instance_id: str) -> Subject:
    """Read of an instance what subscriptions choose by.

    :raises NotFound: it has just been deleted
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
