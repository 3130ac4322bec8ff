"""Quotas of projects: what each of them may have.

A transaction that creates something locks the quotas of the project, then
counts, then creates: no other one counts meanwhile, so that no two take the
last place (doc/source/contributor/decisions/quotas.rst).
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import postgresql

from tacker_cnf import errors
from tacker_cnf.db import models, scope
from tacker_cnf.db.session import QUOTAS
from tacker_cnf.lcm import states

Row = models.Quota

UNLIMITED: Final = -1
#: seconds after which a client should try to start an operation again
RETRY_AFTER_S: Final = 10


class Resource(enum.StrEnum):
    """What a quota limits: an option of [quotas], and a column."""

    VNF_INSTANCES = "vnf_instances"
    VNF_PACKAGES = "vnf_packages"
    PACKAGE_BYTES = "package_bytes"
    VIMS = "vims"
    SUBSCRIPTIONS = "subscriptions"
    OPERATIONS = "operations"


#: resource -> the most that a project may have of it
Limits = Mapping[str, int]

#: resource -> its name in messages, and what makes room
_MESSAGES: Final = {
    Resource.VNF_INSTANCES: ("VNF instances", "delete some"),
    Resource.VNF_PACKAGES: ("VNF packages", "delete some"),
    Resource.PACKAGE_BYTES: (
        "bytes of VNF packages, uploaded and unpacked",
        "delete VNF packages",
    ),
    Resource.VIMS: ("registered VIMs", "delete some"),
    Resource.SUBSCRIPTIONS: ("subscriptions", "delete some"),
    Resource.OPERATIONS: (
        "lifecycle operations at once",
        "wait until one has ended",
    ),
}


_PROJECT: Final[Any] = sa.bindparam("project_id")


def _of_project(value: Any, table: Any, *where: Any) -> sa.Select[Any]:
    return sa.select(value).where(table.project_id == _PROJECT, *where)


_Package = models.VnfPackage
_OpOcc = models.VnfLcmOpOcc
_COUNT: Final = sa.func.count()
#: resource -> how much of it a project has
_IN_USE: Final[Mapping[Resource, sa.Select[Any]]] = {
    Resource.VNF_INSTANCES: _of_project(_COUNT, models.VnfInstance),
    Resource.VNF_PACKAGES: _of_project(_COUNT, _Package),
    Resource.PACKAGE_BYTES: _of_project(
        sa.func.sum(_Package.content_bytes), _Package
    ),
    Resource.VIMS: _of_project(_COUNT, models.Vim),
    Resource.SUBSCRIPTIONS: _of_project(_COUNT, models.LccnSubscription),
    Resource.OPERATIONS: _of_project(
        _COUNT, _OpOcc, _OpOcc.operation_state.in_(states.ACTIVE)
    ),
}
_READ: Final = sa.select(
    *(getattr(Row, resource.value) for resource in Resource)
).where(Row.project_id == _PROJECT)
_LOCK: Final = _READ.with_for_update()


@dataclasses.dataclass(frozen=True)
class ProjectQuotas:
    """The quotas of one project."""

    project_id: str
    limits: Limits


def lock(session: orm.Session, project_id: str) -> ProjectQuotas:
    """Lock and return the quotas of a project, until the transaction ends.

    It has to precede the first other read of the transaction, except reads
    that lock rows, or MariaDB counts what was there before the lock.
    """
    own = _read(session, project_id, lock=True)
    if own is None:
        session.connection().execute(
            _insert_absent(session).values(project_id=project_id)
        )
        own = _read(session, project_id, lock=True)
    return _effective(session, project_id, own)


def _insert_absent(session: orm.Session) -> Any:
    """Return an INSERT that does nothing if another transaction was first.

    Without a savepoint: MariaDB drops those of a transaction with a deadlock,
    which is then retried.
    """
    if session.get_bind().dialect.name == "postgresql":
        return postgresql.insert(Row).on_conflict_do_nothing()
    return (
        sa.insert(Row)
        .prefix_with("IGNORE", dialect="mysql")
        .prefix_with("IGNORE", dialect="mariadb")
        .prefix_with("OR IGNORE", dialect="sqlite")
    )


def _read(
    session: orm.Session, project_id: str, *, lock: bool
) -> Limits | None:
    """Return the quotas that were set for a project; None: it has no row."""
    row = scope.rows(
        session, _LOCK if lock else _READ, {"project_id": project_id}
    ).one_or_none()
    if row is None:
        return None
    return {
        resource: limit
        for resource, limit in zip(Resource, row, strict=True)
        if limit is not None
    }


def _effective(
    session: orm.Session, project_id: str, own: Limits | None
) -> ProjectQuotas:
    return ProjectQuotas(project_id, {**session.info[QUOTAS], **(own or {})})


def get(session: orm.Session, project_id: str) -> ProjectQuotas:
    """Return the quotas of a project."""
    own = _read(session, project_id, lock=False)
    return _effective(session, project_id, own)


def get_own(session: orm.Session, project_id: str) -> Limits:
    """Return the quotas that were set for a project."""
    return _read(session, project_id, lock=False) or {}


def in_use(session: orm.Session, project_id: str, resource: Resource) -> int:
    """Return how much of a resource a project has."""
    found = session.scalar(
        _IN_USE[resource],
        {"project_id": project_id},
        execution_options=scope.EVERYWHERE,
    )
    return int(found or 0)


def check(
    session: orm.Session,
    quotas: ProjectQuotas,
    resource: Resource,
    amount: int = 1,
    *,
    is_counted: bool = False,
) -> None:
    """Check that a project may have so much more of a resource.

    :param quotas: of the project, locked
    :param is_counted: whether the transaction has created it already
    :raises QuotaExceeded: it may not
    :raises TooManyOperations: the same, for operations at once
    """
    limit = quotas.limits.get(resource, UNLIMITED)
    if limit == UNLIMITED:
        return
    used = in_use(session, quotas.project_id, resource)
    if is_counted:
        used -= amount
    if used + amount > limit:
        raise _exceeded(quotas.project_id, resource, limit, used, amount)


def reserve(
    session: orm.Session, project_id: str, resource: Resource, amount: int = 1
) -> None:
    """Lock the quotas of a project, as lock() does, and check one.

    :raises QuotaExceeded: the project may not have so much more
    """
    check(session, lock(session, project_id), resource, amount)


def check_remaining(
    session: orm.Session, project_id: str, resource: Resource, amount: int = 1
) -> None:
    """Check a quota before work that reserve() follows.

    :raises QuotaExceeded: the project may not have so much more
    """
    check(session, get(session, project_id), resource, amount)


def remaining(
    session: orm.Session, project_id: str, resource: Resource
) -> int | None:
    """Return how much more of a resource a project may have; None: there is
    no limit.
    """
    limit = get(session, project_id).limits.get(resource, UNLIMITED)
    if limit == UNLIMITED:
        return None
    return max(0, limit - in_use(session, project_id, resource))


def set_limit(
    session: orm.Session,
    project_id: str,
    resource: Resource,
    limit: int | None,
) -> None:
    """Set a quota of a project; None: that of the configuration."""
    lock(session, project_id)
    session.execute(
        sa.update(Row)
        .where(Row.project_id == project_id)
        .values({resource.value: limit})
    )


def _exceeded(
    project_id: str, resource: Resource, limit: int, used: int, amount: int
) -> errors.VnfmError:
    name, remedy = _MESSAGES[resource]
    more = f" and needs {amount} more" if amount > 1 else ""
    remedy = f"{remedy}, or ask" if limit else "ask"
    error = (
        errors.TooManyOperations
        if resource is Resource.OPERATIONS
        else errors.QuotaExceeded
    )(
        f"Quota exceeded: project {project_id} has {used} {name}{more}; it "
        f"may have {limit}. {remedy[0].upper()}{remedy[1:]} an administrator "
        f"for a larger quota {resource}."
    )
    if resource is Resource.OPERATIONS:
        return error.with_headers([("Retry-After", str(RETRY_AFTER_S))])
    return error
