"""The plans of operations: what was planned, and at the end what was done."""

import bisect
import itertools
from typing import Final

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import mysql, postgresql, sqlite

from tacker_cnf.db import models
from tacker_cnf.lcm.vnf_plan import VnfPlan

Row = models.OperationPlan
#: the most bytes of a plan as JSON; database servers limit the size of a
#: statement
MAX_BYTES: Final = 4 * 1024 * 1024
TOO_LARGE: Final = (
    f"The plan is larger than {MAX_BYTES} bytes. Left out: the changes of the "
    "fields, and {} of {} resources."
)


def _replacing(insert: postgresql.Insert | sqlite.Insert) -> sa.Insert:
    return insert.on_conflict_do_update(
        index_elements=[Row.vnf_lcm_op_occ_id],
        set_={"plan": insert.excluded.plan},
    )


def _replacing_on_mysql(insert: mysql.Insert) -> sa.Insert:
    return insert.on_duplicate_key_update(plan=insert.inserted.plan)


#: dialect -> what inserts or replaces a plan
_SAVE: Final = {
    "postgresql": _replacing(postgresql.insert(Row)),
    "sqlite": _replacing(sqlite.insert(Row)),
    "mysql": _replacing_on_mysql(mysql.insert(Row)),
    "mariadb": _replacing_on_mysql(mysql.insert(Row)),
}


def save(session: orm.Session, op_occ_id: str, plan: VnfPlan) -> None:
    """Save the plan of an operation, in place of an earlier one; the caller
    has locked the operation.
    """
    connection = session.connection()
    connection.execute(
        _SAVE[connection.dialect.name],
        {"vnf_lcm_op_occ_id": op_occ_id, "plan": _limited(plan)},
    )


def get(session: orm.Session, op_occ_id: str) -> VnfPlan | None:
    """Return the plan of an operation; None: it has none."""
    return session.scalar(
        sa.select(Row.plan).where(Row.vnf_lcm_op_occ_id == op_occ_id)
    )


def _limited(plan: VnfPlan) -> VnfPlan:
    """Leave out of a plan that is too large the changes of fields, and then
    its last resources.
    """
    if len(msgspec.json.encode(plan)) <= MAX_BYTES:
        return plan
    actions = [
        msgspec.structs.replace(action, changes=()) for action in plan.actions
    ]
    sizes = (len(msgspec.json.encode(action)) + 1 for action in actions)
    # half is left for all else
    kept = bisect.bisect([*itertools.accumulate(sizes)], MAX_BYTES // 2)
    count = len(actions)
    left_out = TOO_LARGE.format(count - min(kept, count), count)
    return msgspec.structs.replace(
        plan,
        actions=tuple(actions[:kept]),
        warnings=(*plan.warnings, left_out),
    )
