"""Deletion of operations that ended long ago, with their parameters."""

import datetime
from typing import Final

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import models
from tacker_cnf.lcm import states
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType

OpOcc = models.VnfLcmOpOcc
Instance = models.VnfInstance

#: operations that are deleted in one transaction
BATCH_SIZE: Final = 500


def purge(session: orm.Session, before: datetime.datetime) -> int:
    """Delete some operations that ended before a time; return their number.

    Of an instance that exists, those remain by which its objects on the VIM
    are found: its instantiations, and its last operation.
    """
    later = orm.aliased(OpOcc)
    is_found_by = sa.or_(
        OpOcc.operation == LcmOperationType.INSTANTIATE,
        ~sa.exists().where(
            later.vnf_instance_id == OpOcc.vnf_instance_id,
            later.start_time > OpOcc.start_time,
        ),
    )
    exists = sa.exists().where(Instance.id == OpOcc.vnf_instance_id)
    ids = session.scalars(
        sa.select(OpOcc.id)
        .where(
            OpOcc.operation_state.in_(states.FINAL),
            OpOcc.state_entered_time < before,
            ~sa.and_(exists, is_found_by),
        )
        .limit(BATCH_SIZE)
    ).all()
    session.execute(sa.delete(OpOcc).where(OpOcc.id.in_(ids)))
    return len(ids)
