"""The outbox: each change adds an event in its own transaction.

Events are matched with subscriptions later (`deliveries`), so that the cost
of a change does not depend on the number of subscriptions.
"""

import datetime
import uuid
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import models, shown_names
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
        of_instance = subject_of(session, op_occ.vnf_instance_id)
    except errors.NotFound:
        return
    names = shown_names.of_package(session, of_instance.package_id)
    _add(
        session,
        NotificationType.OP_OCC,
        of_instance.subject,
        of_instance.project_id,
        now,
        announcement.redact_op_occ(op_occ, names),
    )


def announce_creation(
    session: orm.Session, instance: VnfInstance, now: datetime.datetime
) -> None:
    """Add an event: an instance was created."""
    subject = announcement.subject(instance)
    project_id = instance.project_id
    _add(session, NotificationType.CREATION, subject, project_id, now)


def announce_deletion(
    session: orm.Session, subject: Subject, project_id: str
) -> None:
    """Add an event: an instance was deleted.

    :param project_id: the project of the instance
    """
    now = datetime.datetime.now(datetime.UTC)
    _add(session, NotificationType.DELETION, subject, project_id, now)


class SubjectOfProject(NamedTuple):
    """The subject of an event, and what its notifications depend on."""

    subject: Subject
    project_id: str
    #: the package of the VNFD of the instance
    package_id: str


def subject_of(session: orm.Session, instance_id: str) -> SubjectOfProject:
    """Return the attributes of an instance that subscriptions filter by.

    :raises NotFound: the instance has just been deleted
    """
    instance, names = models.VnfInstance, Subject.__struct_fields__
    row = session.execute(
        sa.select(
            instance.project_id,
            instance.vnf_package_id,
            *(getattr(instance, name) for name in names),
        ).where(instance.id == instance_id)
    ).one_or_none()
    if row is None:
        raise errors.NotFound(f"There is no VNF instance {instance_id}.")
    project_id, package_id, *values = row
    subject = Subject(**dict(zip(names, values, strict=True)))
    return SubjectOfProject(subject, project_id, package_id)


def _add(
    session: orm.Session,
    kind: NotificationType,
    subject: Subject,
    project_id: str,
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
    session.add(
        Row(announcement=happened, project_id=project_id, fanned_out=False)
    )
    session.info[ANNOUNCED] = True
