"""The outbox: each change adds an event in its own transaction.

Events are matched with subscriptions later (`deliveries`), so that the cost
of a change does not depend on the number of subscriptions.
"""

import datetime
import uuid
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import models, packages, sharing, shown_names
from tacker_cnf.db.session import ANNOUNCED
from tacker_cnf.lcm import announcement
from tacker_cnf.lcm.announcement import Announcement, PackageEvent, Subject
from tacker_cnf.sol.package_notification import PackageChangeType
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
        of_instance.project_id,
        _announcement(
            of_instance.subject,
            now,
            type=NotificationType.OP_OCC,
            op_occ=announcement.redact_op_occ(op_occ, names),
        ),
    )


def announce_creation(
    session: orm.Session, instance: VnfInstance, now: datetime.datetime
) -> None:
    """Add an event: an instance was created."""
    subject = announcement.subject(instance)
    created = _announcement(subject, now, type=NotificationType.CREATION)
    _add(session, instance.project_id, created)


def announce_deletion(
    session: orm.Session, subject: Subject, project_id: str
) -> None:
    """Add an event: an instance was deleted.

    :param project_id: the project of the instance
    """
    now = datetime.datetime.now(datetime.UTC)
    deleted = _announcement(subject, now, type=NotificationType.DELETION)
    _add(session, project_id, deleted)


def announce_package(
    session: orm.Session,
    package_id: str,
    change: PackageChangeType | None = None,
) -> None:
    """Add an event: an onboarded package has changed; a deleted one while it
    is still there.

    :param change: None: it was onboarded
    """
    values = packages.get_attributes(session, package_id)
    event = PackageEvent(
        change=change,
        operational_state=values["operational_state"],
        usage_state=values["usage_state"],
        is_public=values["is_public"],
        shared_with=tuple(
            sharing.list_projects(
                session, session.get_one(models.VnfPackage, package_id)
            )
        ),
    )
    names = set(Subject.__struct_fields__).intersection(values)
    subject = Subject(**{name: values[name] for name in names})
    now = datetime.datetime.now(datetime.UTC)
    changed = _announcement(subject, now, package=event)
    _add(session, values["project_id"], changed)


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


def _announcement(
    subject: Subject, now: datetime.datetime, **content: Any
) -> Announcement:
    return Announcement(
        id=str(uuid.uuid4()), time_stamp=now, subject=subject, **content
    )


def _add(
    session: orm.Session, project_id: str, happened: Announcement
) -> None:
    session.add(
        Row(announcement=happened, project_id=project_id, fanned_out=False)
    )
    session.info[ANNOUNCED] = True
