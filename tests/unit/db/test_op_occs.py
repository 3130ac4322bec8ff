"""Who works on an operation, who has lost it, and how it ends."""

import itertools
from typing import Any

import sqlalchemy as sa

from tacker_cnf import errors
from tacker_cnf.conductor.claims import Claims
from tacker_cnf.conductor.operation_recorder import OperationRecorder
from tacker_cnf.db import instances, op_occs, packages
from tacker_cnf.db.listing import ListQuery
from tacker_cnf.db.op_occs import ClaimedOperation, Result, Row
from tacker_cnf.lcm.operations import TASKS
from tacker_cnf.lcm.states import ACTIVE, FINAL, TRANSITIONS, Event
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_instance import InstantiationState
from tacker_cnf.sol.vnf_lcm_op_occ import CancelModeType
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tests.factories import NOW, an_instance, an_op_occ
from tests.unit.db.base import StoreTest
from tests.unit.db.test_types import a_package

BRIEF = ListQuery(
    attributes=op_occs.COLUMNS.keys() - op_occs.EXCLUDED_BY_DEFAULT
)
OUT = InstantiationState.NOT_INSTANTIATED
GRACEFUL, FORCEFUL = CancelModeType.GRACEFUL, CancelModeType.FORCEFUL
PROBLEM = ProblemDetails(status=422, detail="it broke")
#: seconds: never within a test, and long ago
VALID_LEASE_S, EXPIRED_LEASE_S = 1000.0, -1000.0


class OpOccTest(StoreTest):
    """One instance, held by one operation."""

    def setUp(self) -> None:
        super().setUp()
        with self.store.writer() as session:
            packages.add(session, a_package(vnfd_id="a-vnfd"))
            session.flush()
            instances.add(session, an_instance(), NOW)
        self.add()

    def add(self, lease_s: float = VALID_LEASE_S, **overrides: Any) -> None:
        op_occ = an_op_occ(**overrides)
        vims = {"vim1": VimConnectionInfo(vim_type="fake")}
        with self.store.writer() as session:
            instances.reserve(session, "an-instance", op_occ.id, 0)
            op_occs.add(session, op_occ, vims, NOW, lease_s)

    def set(self, **values: Any) -> None:
        """Bring the operation to some point of its life."""
        with self.store.writer() as session:
            session.execute(sa.update(Row).values(**values))

    def row(self, *columns: str) -> Any:
        chosen = [getattr(Row, name) for name in columns]
        with self.store.reader() as session:
            return tuple(session.execute(sa.select(*chosen)).one())

    def holder(self) -> str | None:
        with self.store.reader() as session:
            row = session.execute(sa.select(instances.Row.busy_with)).one()
            return row[0]

    def claim(
        self, owner: str = "me", lease: float = VALID_LEASE_S
    ) -> ClaimedOperation | None:
        with self.store.writer() as session:
            return op_occs.claim(session, "an-op-occ", owner, lease)

    def claimed(
        self, owner: str = "me", lease: float = VALID_LEASE_S
    ) -> ClaimedOperation:
        work = self.claim(owner, lease)
        assert work is not None
        return work

    def record(self, work: ClaimedOperation, event: Event, **result: Any) -> S:
        with self.store.writer() as session:
            recorded = session.scalar(sa.select(Row.recorded)) or 0
            return op_occs.record(
                session,
                work,
                recorded + 1,
                event,
                Result(**{"step": None} | result),
                NOW,
            )

    def decide(self, event: Event) -> S:
        with self.store.writer() as session:
            return op_occs.decide(
                session, "an-op-occ", event, NOW, VALID_LEASE_S
            ).operation_state

    def list_unclaimed(self) -> list[str]:
        with self.store.reader() as session:
            return list(op_occs.list_unclaimed(session))


class TestClaim(OpOccTest):
    def test_only_what_is_active_and_nobodys(self) -> None:
        # owner, lease_until; whether another one gets it
        owners = [
            (None, 0.0, True),
            # its wake-up message may be on its way
            (None, 9e9, True),
            ("other", 9e9, False),
            ("other", 0.0, True),
            # not even its own twice, while it works on it
            ("me", 9e9, False),
        ]
        for state, (owner, until, free) in itertools.product(S, owners):
            self.set(operation_state=state, owner=owner, lease_until=until)
            work = self.claim()
            wanted = free and state in ACTIVE
            self.assertEqual(wanted, work is not None, f"{state} {owner}")

    def test_an_operation_that_is_not_there(self) -> None:
        with self.store.writer() as session:
            self.assertIsNone(
                op_occs.claim(session, "none", "me", VALID_LEASE_S)
            )

    def test_what_the_owner_gets(self) -> None:
        work = self.claimed()
        self.assertEqual(an_op_occ(), work.op_occ)
        self.assertEqual({"vim1"}, set(work.vim_connections))
        self.assertEqual((), work.notes)
        self.assertIsNone(work.step)
        self.assertIsNone(work.lost_owner)
        self.assertEqual(1, work.fence)
        self.assertEqual(("me", 1), self.row("owner", "fence"))

    def test_each_claim_has_a_higher_token(self) -> None:
        tokens = [self.claimed(lease=EXPIRED_LEASE_S).fence for _ in range(3)]
        self.assertEqual([1, 2, 3], tokens)

    def test_the_lost_conductor_is_named(self) -> None:
        self.claimed("first", EXPIRED_LEASE_S)
        self.assertEqual("first", self.claimed("second").lost_owner)

    def test_a_claim_that_comes_second_gets_nothing(self) -> None:
        self.claimed("first")
        self.assertIsNone(self.claim("second"))


class TestRecord(OpOccTest):
    def test_every_event_of_a_running_operation(self) -> None:
        for (state, event), after in TRANSITIONS.items():
            if state not in ACTIVE:
                continue
            self.set(operation_state=state, owner=None, lease_until=0.0)
            with self.store.writer() as session:
                session.execute(
                    sa.update(instances.Row).values(busy_with="an-op-occ")
                )
            self.assertEqual(after, self.record(self.claimed(), event))
            owner, now_is = self.row("owner", "operation_state")
            self.assertEqual(after, now_is)
            self.assertEqual("me" if after in ACTIVE else None, owner)
            held = None if after in FINAL else "an-op-occ"
            self.assertEqual(held, self.holder(), f"{state} {event}")

    def test_an_event_that_cannot_be_changes_nothing(self) -> None:
        work = self.claimed()
        for event in Event:
            if (S.STARTING, event) not in TRANSITIONS:
                self.assertRaises(
                    errors.WrongState, self.record, work, event, error=PROBLEM
                )
        self.assertEqual(
            (S.STARTING, "me", None),
            self.row("operation_state", "owner", "error"),
        )

    def test_what_a_step_left_behind(self) -> None:
        self.record(self.claimed(), Event.GRANTED, step="INFRA")
        self.assertEqual(("INFRA", None), self.row("step", "error"))
        self.set(owner=None)
        self.record(self.claimed(), Event.FAIL, step="INFRA", error=PROBLEM)
        self.assertEqual(("INFRA", PROBLEM), self.row("step", "error"))

    def test_what_a_script_left_outlives_an_error_without_it(self) -> None:
        left, other = (
            ProblemDetails(
                status=422, detail="x", user_script_err_handling_data={"n": n}
            )
            for n in (1, 2)
        )
        for error, kept in ((left, 1), (PROBLEM, 1), (other, 2)):
            self.set(operation_state=S.PROCESSING, owner=None, lease_until=0.0)
            self.record(self.claimed(), Event.FAIL, error=error)
            (found,) = self.row("error")
            self.assertEqual(error.detail, found.detail)
            self.assertEqual({"n": kept}, found.user_script_err_handling_data)

    def test_a_superseded_owner_changes_nothing(self) -> None:
        for state, event in TRANSITIONS:
            if state not in ACTIVE:
                continue
            self.set(operation_state=state, owner=None, lease_until=0.0)
            stale = self.claimed("first", EXPIRED_LEASE_S)
            self.claimed("second")
            self.assertRaises(errors.LostClaim, self.record, stale, event)
            self.assertEqual(
                (state, "second"), self.row("operation_state", "owner")
            )
            self.assertEqual("an-op-occ", self.holder())

    def test_what_was_recorded_before_is_not_recorded_again(self) -> None:
        work = self.claimed()
        self.record(work, Event.GRANTED, step="PREAMBLE")
        with self.store.writer() as session:
            again = Result(step="INFRA")
            state = op_occs.record(session, work, 1, Event.GRANTED, again, NOW)
        self.assertEqual(S.PROCESSING, state)
        self.assertEqual(("PREAMBLE", 1), self.row("step", "recorded"))

    def test_after_a_decision_the_former_conductor_is_not_heard(self) -> None:
        work = self.claimed()
        self.record(work, Event.GRANTED)
        self.record(work, Event.FAIL, error=PROBLEM)
        self.decide(Event.RETRY)
        self.assertRaises(
            errors.LostClaim, self.record, work, Event.FAIL, error=PROBLEM
        )
        self.assertEqual((S.PROCESSING,), self.row("operation_state"))

    def test_an_operation_that_is_no_more(self) -> None:
        work = self.claimed()
        with self.store.writer() as session:
            session.execute(sa.delete(Row))
        self.assertRaises(errors.LostClaim, self.record, work, Event.GRANTED)

    def test_notes_are_kept_for_the_next_try(self) -> None:
        work = self.claimed("first", EXPIRED_LEASE_S)
        with self.store.writer() as session:
            op_occs.save_checkpoint(session, work, ("a", "b"))
        self.assertEqual(("a", "b"), self.claimed("second").notes)

    def test_a_superseded_owner_records_nothing(self) -> None:
        stale = self.claimed("first", EXPIRED_LEASE_S)
        self.claimed("second")

        def note() -> None:
            with self.store.writer() as session:
                op_occs.save_checkpoint(session, stale, ("a",))

        self.assertRaises(errors.LostClaim, note)
        self.assertEqual(((),), self.row("notes"))


class TestCancel(OpOccTest):
    def cancel(self, mode: CancelModeType = GRACEFUL) -> None:
        with self.store.writer() as session:
            op_occs.cancel(session, "an-op-occ", mode)

    def cancelled(self) -> Any:
        return self.row("is_cancel_pending", "cancel_mode")

    def test_it_is_kept_for_the_conductor_of_the_operation(self) -> None:
        for state in ACTIVE:
            self.set(operation_state=state)
            self.cancel()
            self.assertEqual((True, GRACEFUL), self.cancelled())
            self.assertEqual((state,), self.row("operation_state"))

    def test_an_absent_owner_is_not_recorded(self) -> None:
        for state in set(S) - ACTIVE:
            self.set(operation_state=state)
            error = self.assertRaises(errors.WrongState, self.cancel)
            self.assertIn(f"the operation is {state}, not", str(error))
            self.assertEqual((False, None), self.cancelled())

    def test_it_can_become_more_urgent_and_not_less(self) -> None:
        self.cancel()
        self.cancel(FORCEFUL)
        self.cancel()
        self.assertEqual((True, FORCEFUL), self.cancelled())

    def test_a_step_that_ended_well_then_counts_as_failed(self) -> None:
        # state, what happened, state after
        cases = [
            (S.STARTING, Event.GRANTED, S.ROLLED_BACK),
            (S.PROCESSING, Event.STEPPED, S.FAILED_TEMP),
            (S.PROCESSING, Event.DONE, S.FAILED_TEMP),
            (S.ROLLING_BACK, Event.DONE, S.FAILED_TEMP),
        ]
        stored = an_instance(vnf_instance_name="changed")
        for before, event, after in cases:
            self.set(operation_state=before, owner=None)
            work = self.claimed()
            self.cancel()
            state = self.record(work, event, instance=stored)
            self.assertEqual(after, state)
            (error,) = self.row("error")
            self.assertEqual(
                "The operation was cancelled (GRACEFUL) when one of its steps "
                "had just completed.",
                error.detail,
            )
            self.assertEqual((False, None), self.cancelled())
        with self.store.reader() as session:
            instance = instances.get(session, "an-instance")
        self.assertIsNone(instance.vnf_instance_name)

    def test_what_failed_by_itself_says_so(self) -> None:
        self.set(operation_state=S.PROCESSING)
        work = self.claimed()
        self.cancel()
        self.record(work, Event.FAIL, error=PROBLEM)
        self.assertEqual(
            (PROBLEM, False), self.row("error", "is_cancel_pending")
        )

    def test_the_heartbeat_hears_it(self) -> None:
        self.claimed()
        self.assertEqual({"an-op-occ": None}, self.renew_lease())
        self.cancel(FORCEFUL)
        self.assertEqual({"an-op-occ": FORCEFUL}, self.renew_lease())
        self.set(owner="other")
        self.assertEqual({}, self.renew_lease())

    def renew_lease(self) -> Any:
        with self.store.writer() as session:
            found = op_occs.heartbeat(
                session, "me", ["an-op-occ"], VALID_LEASE_S
            )
            return found.cancel_modes

    def test_an_operation_that_is_not_there(self) -> None:
        def cancel() -> None:
            with self.store.writer() as session:
                op_occs.cancel(session, "another", GRACEFUL)

        self.assertRaises(errors.NotFound, cancel)


class TestProgress(OpOccTest):
    def publish_progress(self, owner: str) -> None:
        with self.store.writer() as session:
            op_occs.publish_progress(
                session, owner, ["an-op-occ"], lambda _: "INFRA: 1 of 2"
            )

    def test_only_the_owner_reports_it(self) -> None:
        self.claimed("me")
        self.publish_progress("other")
        self.assertEqual((None,), self.row("progress"))
        self.publish_progress("me")
        self.assertEqual(("INFRA: 1 of 2",), self.row("progress"))

    def test_the_next_step_starts_again(self) -> None:
        work = self.claimed("me")
        self.publish_progress("me")
        self.record(work, Event.GRANTED, step="PREAMBLE")
        self.assertEqual(("PREAMBLE",), self.row("progress"))

    def test_the_step_before_is_not_published_afterwards(self) -> None:
        claims = Claims(self.store, VALID_LEASE_S)
        taken = claims.acquire("an-op-occ")
        assert taken is not None
        work, claim = taken
        claim.enter_step("GRANT")
        claims.publish()
        self.assertEqual(("GRANT",), self.row("progress"))
        claim.report_progress("asked")
        OperationRecorder(self.store, work, claim).record(
            Event.GRANTED, Result(step="PREAMBLE")
        )
        claims.publish()
        self.assertEqual(("PREAMBLE",), self.row("progress"))


class TestDecide(OpOccTest):
    def test_a_failed_operation_goes_on_or_ends(self) -> None:
        # event, state after, whether the instance is still held
        cases = [
            (Event.RETRY, S.PROCESSING, True),
            (Event.ROLLBACK, S.ROLLING_BACK, True),
            (Event.GIVE_UP, S.FAILED, False),
        ]
        for event, after, held in cases:
            self.set(operation_state=S.FAILED_TEMP, owner=None)
            self.assertEqual(after, self.decide(event))
            self.assertEqual("an-op-occ" if held else None, self.holder())

    def test_other_states_refuse(self) -> None:
        decisions = TASKS.keys() - {Event.CANCEL}
        for state, event in itertools.product(S, decisions):
            if state == S.FAILED_TEMP:
                continue
            self.set(operation_state=state)
            self.assertRaises(errors.WrongState, self.decide, event)
            self.assertEqual((state,), self.row("operation_state"))
            self.assertEqual("an-op-occ", self.holder())

    def test_what_cannot_be_undone_is_not_rolled_back(self) -> None:
        for op in (Op.HEAL, Op.TERMINATE):
            self.set(operation_state=S.FAILED_TEMP, operation=op)
            self.assertRaises(errors.WrongState, self.decide, Event.ROLLBACK)

    def test_of_two_decisions_the_first_counts(self) -> None:
        self.set(operation_state=S.FAILED_TEMP)
        self.decide(Event.RETRY)
        self.assertRaises(errors.WrongState, self.decide, Event.GIVE_UP)
        self.assertEqual((S.PROCESSING,), self.row("operation_state"))

    def test_an_operation_that_is_not_there(self) -> None:
        with self.store.writer() as session:
            session.execute(sa.delete(Row))
        self.assertRaises(errors.NotFound, self.decide, Event.RETRY)

    def test_a_retry_waits_for_its_wake_up_call(self) -> None:
        self.set(operation_state=S.FAILED_TEMP, lease_until=0.0)
        self.decide(Event.RETRY)
        self.assertEqual([], self.list_unclaimed())
        self.assertIsNone(self.claimed().lost_owner)

    def test_the_error_is_shown_until_the_operation_completes(
        self,
    ) -> None:
        cases = [
            (Event.RETRY, Event.FAIL, PROBLEM),
            (Event.RETRY, Event.DONE, None),
            # why it was rolled back
            (Event.ROLLBACK, Event.DONE, PROBLEM),
        ]
        for decision, end, has_error in cases:
            self.set(
                operation_state=S.FAILED_TEMP,
                error=PROBLEM,
                owner=None,
                lease_until=0.0,
            )
            self.decide(decision)
            self.assertEqual((PROBLEM,), self.row("error"))
            again = PROBLEM if end == Event.FAIL else None
            self.record(self.claimed(), end, error=again)
            self.assertEqual(
                (has_error,), self.row("error"), f"{decision} {end}"
            )


class TestLease(OpOccTest):
    def heartbeat(self, owner: str, *held: str) -> None:
        with self.store.writer() as session:
            op_occs.heartbeat(session, owner, held, VALID_LEASE_S)

    def test_waiting_operations_without_a_live_owner(self) -> None:
        # owner, lease_until; whether the sweep looks for it
        owners = [
            (None, 9e9, False),
            (None, 0.0, True),
            ("other", 9e9, False),
            ("other", 0.0, True),
        ]
        for state, (owner, until, lost) in itertools.product(S, owners):
            self.set(operation_state=state, owner=owner, lease_until=until)
            wanted = ["an-op-occ"] if lost and state in ACTIVE else []
            self.assertEqual(wanted, self.list_unclaimed(), f"{state} {owner}")

    def test_patience_is_how_long_a_wake_up_call_may_take(self) -> None:
        self.assertEqual([], self.list_unclaimed())
        with self.store.writer() as session:
            instances.release(session, "an-op-occ")
        self.add(lease_s=EXPIRED_LEASE_S, id="another")
        self.assertEqual(["another"], self.list_unclaimed())

    def test_a_sign_of_life_keeps_it(self) -> None:
        self.claimed("me", EXPIRED_LEASE_S)
        self.assertEqual(["an-op-occ"], self.list_unclaimed())
        self.heartbeat("me", "an-op-occ", "another")
        self.assertEqual([], self.list_unclaimed())
        self.assertIsNone(self.claim("other"))

    def test_only_of_what_is_really_worked_on(self) -> None:
        self.claimed("me", EXPIRED_LEASE_S)
        self.heartbeat("me", "another")
        self.heartbeat("me")
        self.assertEqual(["an-op-occ"], self.list_unclaimed())

    def test_a_superseded_owner_does_not_restore_it(self) -> None:
        self.claimed("first", EXPIRED_LEASE_S)
        self.claimed("second", EXPIRED_LEASE_S)
        self.heartbeat("first", "an-op-occ")
        self.assertEqual(["an-op-occ"], self.list_unclaimed())

    def test_expired_leases_can_be_claimed_at_once(self) -> None:
        self.claimed("me")
        with self.store.writer() as session:
            op_occs.expire_leases(session, "another")
        self.assertEqual([], self.list_unclaimed())
        with self.store.writer() as session:
            op_occs.expire_leases(session, "me")
        self.assertEqual(["an-op-occ"], self.list_unclaimed())
        self.assertEqual("me", self.claimed("other").lost_owner)


class TestReading(OpOccTest):
    def test_a_list_leaves_out_what_is_heavy(self) -> None:
        self.set(error=PROBLEM)
        with self.store.reader() as session:
            ((_, listed),) = op_occs.find(session, BRIEF)
            whole = op_occs.get(session, "an-op-occ")
        self.assertIsNone(listed.error)
        self.assertIsNone(listed.operation_params)
        self.assertEqual(PROBLEM, whole.error)
        self.assertEqual({}, whole.operation_params)

    def test_an_operation_that_is_not_there(self) -> None:
        with self.store.reader() as session:
            error = self.assertRaises(
                errors.NotFound, op_occs.get, session, "none"
            )
        self.assertEqual(
            "There is no lifecycle operation occurrence none.", str(error)
        )
