"""The rows that the client of a request may use."""

import weakref
from collections.abc import Mapping
from typing import Any, Final, TypeVarTuple, cast

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.context import Owner, RequestContext
from tacker_cnf.db import models

Ts = TypeVarTuple("Ts")

#: keys of session.info: the context of the request that it serves, or None
CONTEXT: Final = "context"
#: execution option of a statement that needs the rows of all projects
ALL_PROJECTS: Final = "all_projects"
EVERYWHERE: Final = {ALL_PROJECTS: True}
#: parameter of the limits: the project of the client
_CLIENT: Final = sa.bindparam("client_project_id", type_=models.ProjectId)

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
    if execution.is_executemany:
        raise TypeError("a statement of a request has one set of parameters")
    if execution.is_update or execution.is_delete:
        # rows in the session: the limits cannot be evaluated outside of SQL
        execution.update_execution_options(
            **{
                "synchronize_session": "fetch",
                **execution.local_execution_options,
            }
        )
    execution.statement, execution.parameters = _limited(
        execution.statement,
        cast("Mapping[str, Any] | None", execution.parameters),
        context,
    )


def rows(
    session: orm.Session,
    statement: sa.Select[*Ts],
    parameters: Mapping[str, Any] | None = None,
) -> sa.CursorResult[*Ts]:
    """Select columns of the rows that the client may use.

    What a session prepares for objects takes a sixth of the time of a short
    statement. The names of a row are those of the columns in the database:
    label one whose attribute has another name.
    """
    context = session.info.get(CONTEXT)
    if context is not None and not context.all_projects:
        statement, parameters = _limited(statement, parameters, context)
    session.flush()
    return session.connection().execute(statement, parameters)


def _limited(
    statement: Any,
    parameters: Mapping[str, Any] | None,
    context: RequestContext,
) -> tuple[Any, Mapping[str, Any]]:
    limited = _LIMITED.get(statement)
    if limited is None:
        limited = _LIMITED[statement] = statement.options(_CRITERIA)
    client = {_CLIENT.key: context.owner.project_id}
    return limited, {**(parameters or {}), **client}


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


_CRITERIA: Final = orm.with_loader_criteria(
    models.Owned,
    lambda table: visible_to(table, _CLIENT),
    include_aliases=True,
    track_closure_variables=False,
)
#: statement -> the same limited to a client: a statement that is built once,
#: as most of those for GET are, is limited once, too
_LIMITED: Final = weakref.WeakKeyDictionary[Any, Any]()


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


def count_changed(
    session: orm.Session,
    statement: sa.UpdateBase,
    parameters: Mapping[str, Any] | None = None,
) -> int:
    """Update or delete rows, only those that the client may use; return their
    number. Rows that were read before keep their values.
    """
    result = session.execute(
        statement,
        parameters,
        execution_options={"synchronize_session": False},
    )
    return int(cast("sa.CursorResult[Any]", result).rowcount)
