"""A list of operations for an operator, over all projects."""

import dataclasses
import datetime
from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import models, scope
from tacker_cnf.db.session import epoch
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_lcm_op_occ import (
    LcmOperationStateType,
    LcmOperationType,
)

Row = models.VnfLcmOpOcc


@dataclasses.dataclass(frozen=True)
class ListedOperation:
    """What an operator sees of an operation."""

    id: str
    project_id: str
    vnf_instance_id: str
    operation: LcmOperationType
    operation_state: LcmOperationStateType
    state_entered_time: datetime.datetime
    progress: str | None
    error: ProblemDetails | None
    #: the conductor that runs it; None: it waits for one, or has ended
    owner: str | None


def find(
    session: orm.Session,
    states: Collection[LcmOperationStateType],
    project_id: str | None,
    limit: int,
) -> Sequence[ListedOperation]:
    """List the operations in some states, the latest first.

    :param project_id: of this project only; None: of all
    """
    is_owned = sa.and_(Row.owner.is_not(None), Row.lease_until > epoch())
    query = (
        sa.select(
            Row.id,
            Row.project_id,
            Row.vnf_instance_id,
            Row.operation,
            Row.operation_state,
            Row.state_entered_time,
            Row.progress,
            Row.error,
            sa.case((is_owned, Row.owner)),
        )
        .where(Row.operation_state.in_(states))
        .order_by(Row.start_time.desc(), Row.id)
        .limit(limit)
    )
    if project_id is not None:
        query = query.where(Row.project_id == project_id)
    return [ListedOperation(*row) for row in scope.rows(session, query)]
