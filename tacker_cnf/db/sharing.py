"""Packages and VIMs that other projects may read and use."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import models, scope

Instance = models.VnfInstance


def list_projects(session: orm.Session, row: models.Shareable) -> list[str]:
    """List the projects with which a package or a VIM is shared."""
    shared_with, shared = scope.SHARES[type(row)]
    found = session.scalars(
        sa.select(shared_with).where(shared == _id(row)).order_by(shared_with)
    )
    return list(found)


def share(
    session: orm.Session,
    row: models.Shareable,
    *,
    is_public: bool | None,
    projects: Collection[str] | None,
) -> None:
    """Share a package or a VIM with all or with some projects.

    :param is_public: whether all projects may use it; None: as before
    :param projects: those that may use it; None: as before
    :raises Conflict: a project has a package of the same VNFD, or a VNF
        instance of a project that may not use it any more uses it
    """
    if is_public is not None:
        row.is_public = is_public
    if projects is not None:
        _replace(session, row, projects)
    session.flush()
    if isinstance(row, models.VnfPackage):
        _check_vnfd(session, row)
    if not row.is_public:
        _check_unused(session, row)


def _id(row: Any) -> str:
    return str(row.id)


def _replace(
    session: orm.Session, row: models.Shareable, projects: Collection[str]
) -> None:
    shared_with, shared = scope.SHARES[type(row)]
    session.execute(sa.delete(shared.class_).where(shared == _id(row)))
    session.add_all(
        shared.class_(**{shared.key: _id(row), shared_with.key: project})
        for project in sorted(set(projects) - {row.project_id})
    )


def _check_vnfd(session: orm.Session, row: models.VnfPackage) -> None:
    """Check that no project may use two packages of a VNFD."""
    other = orm.aliased(models.VnfPackage)
    has_vnfd = sa.and_(other.vnfd_id == row.vnfd_id, other.id != row.id)
    projects = list_projects(session, row)
    share_of = models.VnfPackageShare
    shared = sa.select(share_of.vnf_package_id).where(
        share_of.project_id.in_(projects)
    )
    meets = sa.or_(
        sa.true() if row.is_public else sa.false(),
        other.project_id.in_(projects),
        other.id.in_(shared),
    )
    found = session.scalar(
        sa.select(sa.exists().where(has_vnfd, meets)),
        execution_options=scope.EVERYWHERE,
    )
    if found:
        raise errors.Conflict(
            "A project with which the VNF package would be shared may use "
            f"another one of VNFD {row.vnfd_id}."
        )


def _check_unused(session: orm.Session, row: models.Shareable) -> None:
    """Check that no VNF instance of another project uses it."""
    allowed = [row.project_id, *list_projects(session, row)]
    if isinstance(row, models.VnfPackage):
        use = models.VnfdUse
        changing = sa.select(use.vnf_instance_id).where(
            use.vnf_package_id == row.id
        )
        uses = sa.or_(
            Instance.vnf_package_id == row.id, Instance.id.in_(changing)
        )
    else:
        used = models.VimUse
        uses = Instance.id.in_(
            sa.select(used.vnf_instance_id).where(used.vim_id == _id(row))
        )
    found = session.scalar(
        sa.select(
            sa.exists().where(uses, Instance.project_id.not_in(allowed))
        ),
        execution_options=scope.EVERYWHERE,
    )
    if found:
        raise errors.Conflict(
            "A VNF instance of a project that could not use it any more uses "
            "it; share it with this project until the instance is deleted."
        )
