"""The rows that the client of a request may use."""

import functools
from typing import Any, Final, cast

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.context import Owner, RequestContext
from tacker_cnf.db import models

#: keys of session.info: the context of the request that it serves, or None
CONTEXT: Final = "context"
#: execution option of a statement that needs the rows of all projects
ALL_PROJECTS: Final = "all_projects"
EVERYWHERE: Final = {ALL_PROJECTS: True}
#: projects whose limits are cached
CACHED_PROJECTS: Final = 1024

#: table of rows that can be shared -> the project of a share, and the row
#: that is shared
SHARES: Final[dict[type[models.Shareable], tuple[Any, Any]]] = {
    models.VnfPackage: (
        models.VnfPackageShare.project_id,
        models.VnfPackageShare.vnf_package_id,
    ),
    models.Vim: (models.VimShare.project_id, models.VimShare.vim_id),
}


def limit_to_client(
    execution: orm.ORMExecuteState, context: RequestContext
) -> None:
    """Limit a statement of a request to the rows that its client may use.

    The sessions of services call this for each statement. A client without
    the rows of all projects uses those of its own project, and those that
    are shared with it.
    """
    if context.all_projects or execution.execution_options.get(ALL_PROJECTS):
        return
    if execution.is_insert:
        return
    statement: Any = execution.statement
    execution.statement = statement.options(*_criteria(context.project_id))


@functools.lru_cache(CACHED_PROJECTS)
def _criteria(project_id: str | None) -> list[Any]:
    """Return the limits of each table to one project.

    Cached, since building them takes as long as a short query.
    """
    owner = project_id or ""
    return [
        orm.with_loader_criteria(
            models.Owned,
            lambda table: visible_to(table, owner),
            include_aliases=True,
        )
    ]


def visible_to(table: Any, project_id: Any) -> sa.ColumnElement[bool]:
    """Return the condition for rows that a client of a project can see."""
    if issubclass(table, models.Shareable):
        return usable_by(table, project_id)
    found: sa.ColumnElement[bool] = table.project_id == project_id
    return found


def usable_by(table: Any, project_id: Any) -> sa.ColumnElement[bool]:
    """Return the condition for rows that a project may read and use: its own
    rows, and those that are shared with it.
    """
    shared_with, shared = SHARES[table]
    return sa.or_(
        table.project_id == project_id,
        table.is_public.is_(True),
        table.id.in_(sa.select(shared).where(shared_with == project_id)),
    )


def authorize(session: orm.Session, owner: Owner) -> None:
    """Check the policy of the request that a session serves for a row.

    :raises Forbidden: the policy does not allow it
    """
    context = session.info.get(CONTEXT)
    if context is not None and context.authorize is not None:
        context.authorize(owner)


def owner_of(row: Any) -> Owner:
    """Return the owner of a row."""
    return Owner(row.project_id, row.user_id)


def count_changed(session: orm.Session, statement: sa.UpdateBase) -> int:
    """Update or delete rows, only those that the client may use; return their
    number. Rows that were read before keep their values.
    """
    result = session.execute(
        statement, execution_options={"synchronize_session": False}
    )
    return int(cast("sa.CursorResult[Any]", result).rowcount)
