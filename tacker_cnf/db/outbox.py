"""The outbox: each change adds an event in its own transaction.

Events are matched with subscriptions later (`deliveries`), so that the cost
of a change does not depend on the number of subscriptions.
"""

import datetime
import uuid
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import models, packages, sharing, shown_names
from tacker_cnf.db.session import ANNOUNCED, epoch
from tacker_cnf.lcm import announcement
from tacker_cnf.lcm.announcement import Announcement, PackageEvent, Subject
from tacker_cnf.sol.package_notification import PackageChangeType
from tacker_cnf.sol.subscription import NotificationType
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc

Row = models.LifecycleEvent
_ADD: Final = sa.insert(Row).values(added_at=epoch())


def announce(
    session: orm.Session,
    op_occ: VnfLcmOpOcc,
    instance: VnfInstance,
    package_id: str,
    now: datetime.datetime,
) -> None:
    """Add an event: an operation has entered its state.

    :param package_id: the package of the VNFD of the instance
    """
    names = shown_names.of_package(session, package_id)
    _add(
        session,
        instance.project_id,
        _announcement(
            announcement.subject(instance),
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


def announce_deletion(session: orm.Session, instance: VnfInstance) -> None:
    """Add an event: an instance was deleted."""
    now = datetime.datetime.now(datetime.UTC)
    subject = announcement.subject(instance)
    deleted = _announcement(subject, now, type=NotificationType.DELETION)
    _add(session, instance.project_id, deleted)


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


def _announcement(
    subject: Subject, now: datetime.datetime, **content: Any
) -> Announcement:
    return Announcement(
        id=str(uuid.uuid4()), time_stamp=now, subject=subject, **content
    )


def _add(
    session: orm.Session, project_id: str, happened: Announcement
) -> None:
    session.connection().execute(
        _ADD,
        {
            "announcement": happened,
            "project_id": project_id,
            "fanned_out": False,
            "is_of_package": happened.package is not None,
        },
    )
    session.info[ANNOUNCED] = True
