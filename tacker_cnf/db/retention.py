"""Deletion of operations that ended long ago, with their parameters."""

import datetime
from typing import Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import models
from tacker_cnf.lcm import states
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType

OpOcc = models.VnfLcmOpOcc
Instance = models.VnfInstance

#: operations that are deleted in one transaction
BATCH_SIZE: Final = 500


class Retained(NamedTuple):
    """The number of operations that a purge deletes, and of those that it
    keeps.
    """

    deleted: int
    #: ended, and needed to find the objects of their instances
    needed: int
    #: running, waiting or FAILED_TEMP since then
    unfinished: int


def count(session: orm.Session, before: datetime.datetime) -> Retained:
    """Count what a purge deletes and keeps."""
    query = sa.select(sa.func.count()).select_from(OpOcc)
    is_old = OpOcc.state_entered_time < before
    is_final = OpOcc.operation_state.in_(states.FINAL)
    deleted, needed, unfinished = (
        session.scalars(query.where(is_old, *criteria)).one()
        for criteria in (
            (is_final, ~_is_needed()),
            (is_final, _is_needed()),
            (~is_final,),
        )
    )
    return Retained(deleted, needed, unfinished)


def purge(session: orm.Session, before: datetime.datetime) -> int:
    """Delete some operations that ended before a time; return their number.

    Of an instance that exists, those remain by which its objects on the VIM
    are found: its instantiations, and its last operation.
    """
    ids = session.scalars(
        sa.select(OpOcc.id)
        .where(
            OpOcc.operation_state.in_(states.FINAL),
            OpOcc.state_entered_time < before,
            ~_is_needed(),
        )
        .limit(BATCH_SIZE)
    ).all()
    session.execute(sa.delete(OpOcc).where(OpOcc.id.in_(ids)))
    return len(ids)


def _is_needed() -> sa.ColumnElement[bool]:
    """Return whether the objects of an instance are found by an operation."""
    later = orm.aliased(OpOcc)
    is_found_by = sa.or_(
        OpOcc.operation == LcmOperationType.INSTANTIATE,
        ~sa.exists().where(
            later.vnf_instance_id == OpOcc.vnf_instance_id,
            later.start_time > OpOcc.start_time,
        ),
    )
    exists = sa.exists().where(Instance.id == OpOcc.vnf_instance_id)
    return sa.and_(exists, is_found_by)
