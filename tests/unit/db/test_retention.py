"""Deletion of operations that ended long ago."""

import datetime

import sqlalchemy as sa

from tacker_cnf.db import instances, op_occs, plans, retention
from tacker_cnf.db.op_occs import Row
from tacker_cnf.sol.vnf_lcm_op_occ import (
    LcmOperationStateType as S,
)
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tests.factories import NOW, a_stored_instance, an_op_occ
from tests.unit.db.test_op_occs import OpOccTest
from tests.unit.lcm.test_plan_outcome import a_plan

DAY = datetime.timedelta(days=1)


class TestPurge(OpOccTest):
    def add_ended(
        self, name: str, op: Op, day: int, instance: str = "an-instance"
    ) -> None:
        """Add an operation that ended some days after the first one."""
        op_occ = an_op_occ(
            op,
            id=name,
            vnf_instance_id=instance,
            operation_state=S.COMPLETED,
        )
        with self.store.writer() as session:
            op_occs.add(
                session, op_occ, a_stored_instance(), {}, NOW + day * DAY, 1
            )
            plans.save(session, name, a_plan())

    def purged(self, day: int) -> set[str]:
        """Delete what ended before a day; return what was deleted."""
        before = self.ids()
        with self.store.writer() as session:
            count = retention.purge(session, NOW + day * DAY)
        deleted = before - self.ids()
        self.assertEqual(len(deleted), count)
        with self.store.reader() as session:
            for name in deleted:
                self.assertIsNone(plans.get(session, name))
        return deleted

    def ids(self) -> set[str]:
        with self.store.reader() as session:
            return set(session.scalars(sa.select(Row.id)))

    def test_operations_of_a_deleted_instance(self) -> None:
        self.add_ended("first", Op.INSTANTIATE, 0, "deleted")
        self.add_ended("second", Op.TERMINATE, 2, "deleted")
        self.assertEqual({"first"}, self.purged(1))
        self.assertEqual({"second"}, self.purged(3))

    def test_what_an_instance_is_found_by_remains(self) -> None:
        self.add_ended("up", Op.INSTANTIATE, 0)
        self.add_ended("out", Op.SCALE, 1)
        self.add_ended("in", Op.SCALE, 2)
        self.assertEqual({"out"}, self.purged(30))
        with self.store.writer() as session:
            session.execute(sa.delete(instances.Row))
        self.assertEqual({"up", "in"}, self.purged(30))
        # the operation of the set-up has not ended
        self.assertEqual({"an-op-occ"}, self.ids())
