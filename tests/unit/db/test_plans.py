"""The plans of operations in the database."""

import msgspec
import sqlalchemy as sa

from tacker_cnf import errors
from tacker_cnf.db import op_occs, plans
from tacker_cnf.lcm import plan_outcome
from tacker_cnf.lcm.states import Event
from tacker_cnf.lcm.vnf_plan import ActionType, FieldChange, VnfPlan
from tests.unit.db.test_op_occs import EXPIRED_LEASE_S, OpOccTest
from tests.unit.lcm.test_plan_outcome import a_plan, an_action

PLAN = a_plan(
    an_action(
        ActionType.PATCH,
        "Deployment web",
        changes=(FieldChange(path="spec.x", before=1, after="a-value"),),
    )
)


class PlansTest(OpOccTest):
    def setUp(self) -> None:
        super().setUp()
        self.work = self.claimed(lease=EXPIRED_LEASE_S)

    def save(self, plan: VnfPlan) -> None:
        with self.store.writer() as session:
            op_occs.save_plan(session, self.work, plan)

    def saved(self) -> VnfPlan | None:
        with self.store.reader() as session:
            return plans.get(session, "an-op-occ")

    def test_the_plan_of_the_next_attempt_replaces_it(self) -> None:
        self.assertIsNone(self.saved())
        self.save(PLAN)
        self.assertEqual(PLAN, self.saved())
        self.save(a_plan(is_rollback=True))
        self.assertEqual(a_plan(is_rollback=True), self.saved())

    def test_the_outcomes_are_recorded_with_the_end_of_the_step(self) -> None:
        self.record(self.work, Event.GRANTED, step="INFRA")
        self.save(PLAN)
        end = plan_outcome.completed(PLAN)
        self.record(self.work, Event.STEPPED, step="POSTAMBLE", plan=end)
        self.assertEqual(end, self.saved())
        self.record(self.work, Event.FAIL, step="POSTAMBLE")
        self.assertEqual(end, self.saved())

    def test_a_lost_conductor_cannot_save(self) -> None:
        self.claimed("another")
        self.assertRaises(errors.LeaseLost, self.save, PLAN)
        self.assertIsNone(self.saved())

    def test_values_are_encrypted(self) -> None:
        self.save(PLAN)
        with self.store.engine.connect() as connection:
            (text,) = connection.scalars(
                sa.text("SELECT plan FROM operation_plans")
            )
        self.assertNotIn("a-value", text)

    def test_a_plan_that_is_too_large_has_no_changes_of_fields(self) -> None:
        change = FieldChange(path="data.x", after="x" * (plans.MAX_BYTES // 2))
        action = an_action(
            ActionType.PATCH, "ConfigMap big", changes=(change,)
        )
        self.save(a_plan(action))
        self.assertEqual(a_plan(action), self.saved())
        self.save(a_plan(action, action, warnings=("a-warning",)))
        plain = an_action(ActionType.PATCH, "ConfigMap big")
        self.assertEqual(
            a_plan(
                plain,
                plain,
                warnings=("a-warning", plans.TOO_LARGE.format(0, 2)),
            ),
            self.saved(),
        )

    def test_a_plan_with_too_many_resources(self) -> None:
        name = "x" * 250
        action = an_action(ActionType.PATCH, f"ConfigMap {name}")
        count = plans.MAX_BYTES // 250
        self.save(a_plan(*[action] * count))
        saved = self.saved()
        assert saved is not None
        self.assertLess(len(msgspec.json.encode(saved)), plans.MAX_BYTES)
        left_out = count - len(saved.actions)
        self.assertGreater(left_out, 0)
        (warning,) = saved.warnings
        self.assertIn(f"{left_out} of {count} resources", warning)

    def test_it_is_deleted_with_its_operation(self) -> None:
        self.save(PLAN)
        with self.store.writer() as session:
            session.execute(sa.delete(op_occs.Row))
        self.assertIsNone(self.saved())
