"""The rows that the client of a request may use."""

import sqlalchemy as sa

from tacker_cnf.context import RequestContext


def limit_to_client(
    statement: sa.Executable,
    context: RequestContext,  # noqa: ARG001
) -> sa.Executable:
    """Limit a statement of a request to the rows that its client may use.

    The sessions of services call this for each statement. Rows have no
    project yet, so the statement is returned unchanged.
    """
    return statement
