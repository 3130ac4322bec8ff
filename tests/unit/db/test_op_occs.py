"""State, claims and decisions of operation occurrences."""

import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.api.vnf_lcm_op_occs import EXCLUDED_BY_DEFAULT
from tacker_cnf.conductor.claims import Claims
from tacker_cnf.conductor.operation_progress import Snapshot
from tacker_cnf.conductor.operation_recorder import OperationRecorder
from tacker_cnf.context import Owner, RequestContext
from tacker_cnf.db import (
    conductors,
    instances,
    leftovers,
    op_occs,
    outbox,
    packages,
    vims,
)
from tacker_cnf.db.op_occs import ClaimedOperation, Result, Row
from tacker_cnf.db.session import RowsLocked, epoch
from tacker_cnf.drivers.progress import MAX_LINE_CHARS
from tacker_cnf.lcm.operations.registry import TASKS
from tacker_cnf.lcm.script_output import InstanceChanges, ProvidedVim
from tacker_cnf.lcm.states import ACTIVE, FINAL, TRANSITIONS, Event
from tacker_cnf.list_query import ListQuery
from tacker_cnf.preconditions import Preconditions
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import (
    VnfInfoModifications,
)
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.timeline import StepOutcome, TimelineStep
from tacker_cnf.sol.vnf_lcm_op_occ import (
    CancelModeType,
    ModificationsTriggeredByVnfPkgChange,
    ResourceChanges,
)
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tests.factories import (
    NOW,
    a_grant_request,
    a_running_instance,
    a_stored_instance,
    an_instance,
    an_op_occ,
)
from tests.unit.db.base import StoreTest
from tests.unit.db.test_types import a_package
from tests.unit.lcm.test_granted import a_grant

DEFAULT_LIST = ListQuery(
    attributes=op_occs.COLUMNS.keys() - EXCLUDED_BY_DEFAULT
)
GRACEFUL, FORCEFUL = CancelModeType.GRACEFUL, CancelModeType.FORCEFUL
PROBLEM = ProblemDetails(status=422, detail="it broke")
#: seconds: longer than a test, and expired
VALID_LEASE_S, EXPIRED_LEASE_S = 1000.0, -1000.0


class OpOccTest(StoreTest):
    """One instance, reserved by one operation."""

    def setUp(self) -> None:
        super().setUp()
        with self.store.writer() as session:
            packages.add(session, a_package(vnfd_id="a-vnfd"))
            session.flush()
            instances.add(session, an_instance(), "a-package", NOW)
        self.add()

    def add(self, lease_s: float = VALID_LEASE_S, **overrides: Any) -> None:
        op_occ = an_op_occ(**overrides)
        vims = {"vim1": VimConnectionInfo(vim_type="fake")}
        with self.store.writer() as session:
            instances.reserve(session, "an-instance", op_occ.id, 0)
            op_occs.add(
                session, op_occ, a_stored_instance(), vims, NOW, lease_s
            )

    def set(self, **values: Any) -> None:
        """Set columns of the operation."""
        with self.store.writer() as session:
            session.execute(sa.update(Row).values(**values))

    def row(self, *columns: str) -> Any:
        chosen = [getattr(Row, name) for name in columns]
        with self.store.reader() as session:
            return tuple(session.execute(sa.select(*chosen)).one())

    def announced(self) -> list[S]:
        """Return the states that events announced."""
        row = outbox.Row
        with self.store.reader() as session:
            found = session.scalars(sa.select(row).order_by(row.id)).all()
            op_occs_ = [event.announcement.op_occ for event in found]
            return [o.operation_state for o in op_occs_ if o]

    def reserving_operation(self) -> str | None:
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
            return [found.id for found in op_occs.list_unclaimed(session)]

    def assert_lease_valid(self) -> None:
        with self.store.reader() as session:
            until, now = session.execute(
                sa.select(Row.lease_until, epoch())
            ).one()
        left = until - now
        self.assertTrue(VALID_LEASE_S / 2 < left <= VALID_LEASE_S, left)


class TestAdd(OpOccTest):
    def test_times_are_stored_with_microseconds(self) -> None:
        with self.store.writer() as session:
            instances.release(session, instances.load(session, "an-instance"))
            session.execute(sa.delete(Row))
            now = NOW.replace(microsecond=5)
            op_occs.add(
                session,
                an_op_occ(),
                a_stored_instance(),
                {},
                now,
                VALID_LEASE_S,
            )
        self.assertEqual(
            (now, now), self.row("start_time", "state_entered_time")
        )

    def test_a_new_operation_is_announced(self) -> None:
        self.assertEqual([S.STARTING], self.announced())

    def test_a_new_operation_has_a_wake_up_timeout(self) -> None:
        self.assert_lease_valid()


class TestClaim(OpOccTest):
    def test_only_active_unclaimed_operations_are_claimed(self) -> None:
        # owner, lease_until; whether it can be claimed
        owners = [
            (None, 0.0, True),
            # its wake-up message may be on its way
            (None, 9e9, True),
            ("other", 9e9, False),
            ("other", 0.0, True),
            # a conductor does not claim its own operation again
            ("me", 9e9, False),
        ]
        for state, (owner, until, free) in itertools.product(S, owners):
            self.set(operation_state=state, owner=owner, lease_until=until)
            work = self.claim()
            wanted = free and state in ACTIVE
            self.assertEqual(wanted, work is not None, f"{state} {owner}")

    def test_operation_not_found(self) -> None:
        with self.store.writer() as session:
            self.assertIsNone(
                op_occs.claim(session, "none", "me", VALID_LEASE_S)
            )

    def test_a_claim_returns_the_operation(self) -> None:
        work = self.claimed()
        self.assertEqual(an_op_occ(), work.op_occ)
        self.assertEqual({"vim1"}, set(work.vim_connections))
        self.assertIsNone(work.checkpoint)
        self.assertIsNone(work.step)
        self.assertIsNone(work.lost_owner)
        self.assertEqual(1, work.fence)
        self.assertEqual(("me", 1), self.row("owner", "fence"))

    def test_a_claim_returns_the_results_recorded_before(self) -> None:
        recorded = {
            "grant_request": a_grant_request(),
            "grant": a_grant(),
            "script_changes": InstanceChanges(metadata={"a": 1}),
            "step": "INFRA",
            "recorded": 3,
            "operation_params": {"a": 1},
        }
        self.set(owner="first", lease_until=0.0, **recorded)
        claimed = self.claimed("second")
        self.assertEqual(
            an_op_occ(grant_id=None, operation_params={"a": 1}),
            claimed.op_occ,
        )
        for name in recorded.keys() - {"operation_params"}:
            self.assertEqual(recorded[name], getattr(claimed, name), name)
        # a retry
        self.set(owner=None)
        self.assertIsNone(self.claimed("third").script_changes)

    def test_a_claim_has_a_lease_of_the_given_length(self) -> None:
        self.claimed()
        self.assert_lease_valid()

    def test_a_locked_row_is_not_claimed(self) -> None:
        self.lock_rows()
        error = self.assertRaises(RowsLocked, self.claim)
        self.assertEqual("an-op-occ", str(error))
        self.assertEqual((None, 0), self.row("owner", "fence"))
        self.claimed("other")
        self.lock_rows()
        self.assertIsNone(self.claim())

    def test_a_claim_changes_no_other_operation(self) -> None:
        with self.store.writer() as session:
            op_occs.add(
                session,
                an_op_occ(id="b"),
                a_stored_instance(),
                {},
                NOW,
                VALID_LEASE_S,
            )
        self.claimed("me")
        with self.store.reader() as session:
            found = sa.select(Row.id, Row.owner).order_by(Row.id)
            self.assertEqual(
                [("an-op-occ", "me"), ("b", None)],
                session.execute(found).tuples().all(),
            )

    def test_each_claim_has_a_higher_fence(self) -> None:
        tokens = [self.claimed(lease=EXPIRED_LEASE_S).fence for _ in range(3)]
        self.assertEqual([1, 2, 3], tokens)

    def test_a_claim_returns_the_lost_conductor(self) -> None:
        self.claimed("first", EXPIRED_LEASE_S)
        self.assertEqual("first", self.claimed("second").lost_owner)

    def test_a_second_claim_is_rejected(self) -> None:
        self.claimed("first")
        self.assertIsNone(self.claim("second"))


class TestRecord(OpOccTest):
    def test_each_event_changes_the_state_and_the_reservation(self) -> None:
        for (state, event), after in TRANSITIONS.items():
            if state not in ACTIVE:
                continue
            self.set(operation_state=state, owner=None, lease_until=0.0)
            with self.store.writer() as session:
                session.execute(
                    sa.update(instances.Row).values(busy_with="an-op-occ")
                )
            self.assertEqual(after, self.record(self.claimed(), event))
            owner, current = self.row("owner", "operation_state")
            self.assertEqual(after, current)
            self.assertEqual("me" if after in ACTIVE else None, owner)
            expected = None if after in FINAL else "an-op-occ"
            self.assertEqual(
                expected, self.reserving_operation(), f"{state} {event}"
            )

    def test_an_event_not_allowed_in_a_state_changes_nothing(self) -> None:
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

    def test_a_step_and_its_error_are_recorded(self) -> None:
        self.record(self.claimed(), Event.GRANTED, step="INFRA")
        self.assertEqual(("INFRA", None), self.row("step", "error"))
        self.set(owner=None)
        self.record(self.claimed(), Event.FAIL, step="INFRA", error=PROBLEM)
        self.assertEqual(("INFRA", PROBLEM), self.row("step", "error"))

    def test_all_results_of_a_step_are_recorded(self) -> None:
        changed_info = VnfInfoModifications(vnf_instance_name="a name")
        triggered = ModificationsTriggeredByVnfPkgChange(vnfd_id="next")
        results: dict[str, Any] = {
            "grant_request": a_grant_request(),
            "grant": a_grant(),
            "resource_changes": ResourceChanges(),
            "changed_ext_connectivity": (),
            "changed_info": changed_info,
            "modifications_triggered_by_vnf_pkg_change": triggered,
            "script_changes": InstanceChanges(metadata={"a": 1}),
        }
        claimed = self.claimed()
        with self.store.writer() as session:
            result = Result(step="INFRA", progress="1 of 2", **results)
            later = NOW.replace(minute=5)
            op_occs.record(session, claimed, 1, Event.GRANTED, result, later)
        for name, value in results.items():
            self.assertEqual((value,), self.row(name), name)
        self.assertEqual(
            ("INFRA", "1 of 2", "g", 1, later),
            self.row(
                "step",
                "progress",
                "grant_id",
                "recorded",
                "state_entered_time",
            ),
        )
        # a later step keeps what it does not set
        self.record(claimed, Event.STEPPED, step="END")
        self.assertEqual(
            ("END", "END", changed_info, "g", later),
            self.row(
                "step",
                "progress",
                "changed_info",
                "grant_id",
                "state_entered_time",
            ),
        )

    def test_each_change_of_the_state_is_announced(self) -> None:
        claimed = self.claimed()
        self.record(claimed, Event.GRANTED)
        self.record(claimed, Event.STEPPED)
        self.record(claimed, Event.DONE)
        self.assertEqual(
            [S.STARTING, S.PROCESSING, S.COMPLETED], self.announced()
        )

    def finish(self, event: Event, **result: Any) -> Any:
        """End the operation; return the instance and its leftovers."""
        self.set(operation_state=S.PROCESSING, owner=None, error=None)
        with self.store.writer() as session:
            session.execute(
                sa.update(instances.Row).values(
                    busy_with="an-op-occ",
                    vnf_instance_name="before",
                    leftovers=(),
                )
            )
        self.record(self.claimed(), event, **result)
        with self.store.reader() as session:
            instance = instances.get(session, "an-instance")
            return instance.vnf_instance_name, leftovers.get(
                session, "an-instance"
            )

    def test_the_policy_is_checked_for_the_operation_alone(self) -> None:
        work = self.claimed()
        self.record(work, Event.GRANTED)
        self.record(work, Event.FAIL, error=PROBLEM)
        self.set(user_id="bob")
        client = RequestContext(project_id="a-project", user_id="bob")

        def authorize(owner: Owner) -> None:
            if owner.user_id != "bob":
                raise errors.Forbidden("The instance is that of another.")

        client.authorize = authorize
        with self.store.writer(client) as session:
            op_occs.decide(
                session, "an-op-occ", Event.GIVE_UP, NOW, VALID_LEASE_S
            )
        self.assertIsNone(self.reserving_operation())

    def test_an_instance_of_another_operation_stays_reserved(self) -> None:
        with self.store.writer() as session:
            session.execute(
                sa.update(instances.Row).values(busy_with="another")
            )
        self.record(self.claimed(), Event.FAIL, error=PROBLEM)
        self.assertEqual("another", self.reserving_operation())

    def test_the_instance_changes_when_the_operation_completes(self) -> None:
        after = an_instance(vnf_instance_name="after")
        for event, op, result, expected in (
            (Event.DONE, Op.INSTANTIATE, after, ("after", None)),
            (Event.DONE, Op.MODIFY_INFO, after, ("after", ())),
            (Event.DONE, Op.INSTANTIATE, None, ("before", ())),
            (Event.STEPPED, Op.INSTANTIATE, after, ("before", ())),
            (Event.FAIL, Op.INSTANTIATE, after, ("before", ())),
        ):
            self.set(operation=op)
            found = self.finish(event, instance=result, error=None)
            self.assertEqual(expected, found, f"{event} {op}")

    def provided_vims(self) -> set[str]:
        with self.store.reader() as session:
            found = vims.list_provided(session, "an-instance")
            return {vim.name for vim in found}

    def test_provided_vims(self) -> None:
        vim = ProvidedVim(
            type="kubernetes", auth_url="https://a", auth_cred={}
        )
        self.finish(Event.FAIL, vims={"a": vim}, error=PROBLEM)
        self.assertEqual(set(), self.provided_vims())
        self.finish(Event.STEPPED, vims={"a": vim, "b": vim})
        self.assertEqual({"a", "b"}, self.provided_vims())
        self.finish(Event.STEPPED, vims={"a": None})
        self.assertEqual({"b"}, self.provided_vims())
        self.finish(Event.DONE, instance=a_running_instance(), vims={"c": vim})
        self.assertEqual({"b", "c"}, self.provided_vims())
        self.finish(Event.DONE, instance=an_instance())
        self.assertEqual(set(), self.provided_vims())

    def test_script_data_is_kept_by_errors_that_have_none(self) -> None:
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

    def test_a_previous_owner_changes_nothing(self) -> None:
        for state, event in TRANSITIONS:
            if state not in ACTIVE:
                continue
            self.set(operation_state=state, owner=None, lease_until=0.0)
            stale = self.claimed("first", EXPIRED_LEASE_S)
            self.claimed("second")
            self.assertRaises(errors.LeaseLost, self.record, stale, event)
            self.assertEqual(
                (state, "second"), self.row("operation_state", "owner")
            )
            self.assertEqual("an-op-occ", self.reserving_operation())

    def test_a_recorded_event_is_not_recorded_again(self) -> None:
        work = self.claimed()
        self.record(work, Event.GRANTED, step="PREAMBLE")
        with self.store.writer() as session:
            again = Result(step="INFRA")
            state = op_occs.record(session, work, 1, Event.GRANTED, again, NOW)
        self.assertEqual(S.PROCESSING, state)
        self.assertEqual(("PREAMBLE", 1), self.row("step", "recorded"))

    def test_a_decision_fences_the_previous_conductor(self) -> None:
        work = self.claimed()
        self.record(work, Event.GRANTED)
        self.record(work, Event.FAIL, error=PROBLEM)
        self.decide(Event.RETRY)
        self.assertRaises(
            errors.LeaseLost, self.record, work, Event.FAIL, error=PROBLEM
        )
        self.assertEqual((S.PROCESSING,), self.row("operation_state"))

    def test_the_memory_and_the_log_of_scripts_are_fenced(self) -> None:
        stale = self.claimed("first", EXPIRED_LEASE_S)
        claimed = self.claimed("second")
        longest = op_occs.MAX_SCRIPT_LOG_CHARS
        self.assertEqual(262_144, longest)
        with self.store.writer() as session:
            self.assertEqual("", op_occs.get_script_log(session, claimed))
            op_occs.save_script_memory(session, claimed, {"a": 1})
            tag = op_occs.etag(session, "an-op-occ")
            op_occs.write_script_log(session, claimed, "a" + "b" * longest)
            self.assertNotEqual(tag, op_occs.etag(session, "an-op-occ"))
            log = op_occs.get_script_log(session, claimed)
            self.assertEqual("b" * longest, log)
            for refused in (
                lambda: op_occs.save_script_memory(session, stale, {}),
                lambda: op_occs.write_script_log(session, stale, "x"),
                lambda: op_occs.get_script_log(session, stale),
            ):
                self.assertRaises(errors.LeaseLost, refused)
            self.assertEqual(log, op_occs.get_script_log(session, claimed))
            memory = session.scalar(sa.select(instances.Row.script_memory))
            self.assertEqual({"a": 1}, memory)

    def test_a_change_locks_the_row_first(self) -> None:
        claimed = self.claimed()
        result = Result(step=None)
        cases: list[tuple[S, Callable[[orm.Session], Any]]] = [
            (
                S.PROCESSING,
                lambda session: op_occs.record(
                    session, claimed, 1, Event.FAIL, result, NOW
                ),
            ),
            (
                S.FAILED_TEMP,
                lambda session: op_occs.decide(
                    session, "an-op-occ", Event.RETRY, NOW, 1
                ),
            ),
            (
                S.PROCESSING,
                lambda session: op_occs.cancel(session, "an-op-occ", GRACEFUL),
            ),
            (
                S.PROCESSING,
                lambda session: op_occs.get(session, "an-op-occ", lock=True),
            ),
        ]
        for state, change in cases:
            self.set(operation_state=state)
            with self.store.writer() as session:
                locks = self.record_locks()
                change(session)
            self.assertTrue(locks[0], str(state))
        with self.store.reader() as session:
            locks = self.record_locks()
            op_occs.get(session, "an-op-occ")
        self.assertEqual([False], locks)

    def test_an_event_of_a_deleted_operation_is_rejected(self) -> None:
        work = self.claimed()
        with self.store.writer() as session:
            session.execute(sa.delete(Row))
        self.assertRaises(errors.LeaseLost, self.record, work, Event.GRANTED)

    def test_checkpoints_are_kept_for_a_retry(self) -> None:
        work = self.claimed("first", EXPIRED_LEASE_S)
        with self.store.writer() as session:
            op_occs.save_checkpoint(session, work, {"type": "a"})
        self.assertEqual({"type": "a"}, self.claimed("second").checkpoint)

    def test_a_checkpoint_of_an_earlier_version_is_ignored(self) -> None:
        self.claimed("first", EXPIRED_LEASE_S)
        with self.store.writer() as session:
            session.execute(sa.update(Row).values(checkpoint=["uid"]))
        self.assertIsNone(self.claimed("second").checkpoint)

    def test_a_previous_owner_saves_no_checkpoint(self) -> None:
        stale = self.claimed("first", EXPIRED_LEASE_S)
        self.claimed("second")

        def save() -> None:
            with self.store.writer() as session:
                op_occs.save_checkpoint(session, stale, {"type": "a"})

        self.assertRaises(errors.LeaseLost, save)
        self.assertEqual(({},), self.row("checkpoint"))


class TestCancel(OpOccTest):
    def cancel(self, mode: CancelModeType = GRACEFUL) -> None:
        with self.store.writer() as session:
            op_occs.cancel(session, "an-op-occ", mode)

    def cancelled(self) -> Any:
        return self.row("is_cancel_pending", "cancel_mode")

    def test_a_cancel_is_stored_for_the_conductor(self) -> None:
        for state in ACTIVE:
            self.set(operation_state=state)
            self.cancel()
            self.assertEqual((True, GRACEFUL), self.cancelled())
            self.assertEqual((state,), self.row("operation_state"))

    def test_an_inactive_operation_is_not_cancelled(self) -> None:
        for state in set(S) - ACTIVE:
            self.set(operation_state=state)
            error = self.assertRaises(errors.WrongState, self.cancel)
            self.assertIn(f"the operation is {state}, not", str(error))
            self.assertEqual((False, None), self.cancelled())

    def test_a_cancel_can_only_become_more_urgent(self) -> None:
        self.cancel()
        self.cancel(FORCEFUL)
        self.cancel()
        self.assertEqual((True, FORCEFUL), self.cancelled())

    def test_a_completed_step_of_a_cancelled_operation_fails(self) -> None:
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

    def test_a_failed_step_of_a_cancelled_operation_keeps_its_error(
        self,
    ) -> None:
        self.set(operation_state=S.PROCESSING)
        work = self.claimed()
        self.cancel()
        self.record(work, Event.FAIL, error=PROBLEM)
        self.assertEqual(
            (PROBLEM, False), self.row("error", "is_cancel_pending")
        )

    def test_the_renewal_returns_the_cancel_mode(self) -> None:
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

    def test_operation_not_found(self) -> None:
        def cancel() -> None:
            with self.store.writer() as session:
                op_occs.cancel(session, "another", GRACEFUL)

        self.assertRaises(errors.NotFound, cancel)

    def test_the_cancel_mode_of_one_operation_is_read(self) -> None:
        with self.store.reader() as session:
            read = op_occs.get_cancel_mode
            self.assertIsNone(read(session, "an-op-occ"))
        self.cancel(FORCEFUL)
        with self.store.reader() as session:
            self.assertEqual(FORCEFUL, read(session, "an-op-occ"))
            self.assertIsNone(read(session, "another"))

    def test_a_renewal_skips_locked_rows(self) -> None:
        self.claimed("me", EXPIRED_LEASE_S)
        self.lock_rows()
        with self.store.writer() as session:
            renewed = op_occs.heartbeat(
                session, "me", ["an-op-occ", "another"], VALID_LEASE_S
            )
        self.assertEqual(
            op_occs.RenewedOperations({}, frozenset({"an-op-occ"})), renewed
        )
        self.assertEqual(["an-op-occ"], self.list_unclaimed())


def snapshot(line: str) -> Snapshot:
    """Return the progress of a step."""
    step = TimelineStep(step="INFRA", attempt=1, start_time=NOW, message=line)
    return Snapshot(1, line, (step,))


class TestProgress(OpOccTest):
    def test_the_progress_limit_is_the_length_of_the_column(self) -> None:
        length = op_occs.COLUMNS.get("progress", Row.progress).type
        self.assertEqual(MAX_LINE_CHARS, vars(length)["length"])

    def test_published_progress_is_returned(self) -> None:
        self.claimed("me")
        with self.store.writer() as session:
            a, b = snapshot("a"), snapshot("b")
            expectations: list[tuple[Snapshot | None, Any]] = [
                (a, {"an-op-occ": a}),
                (None, {}),
            ]
            for progress, expected in expectations:
                found = op_occs.publish_progress(
                    session,
                    "me",
                    ["an-op-occ", "b"],
                    {"an-op-occ": progress}.get,
                )
                self.assertEqual(expected, found)
            self.lock_rows()
            self.assertEqual(
                {},
                op_occs.publish_progress(
                    session, "me", ["an-op-occ"], lambda _: b
                ),
            )
            found = op_occs.publish_progress(session, "me", [], lambda _: b)
            self.assertEqual({}, found)
        self.assertEqual(("a", 1), self.row("progress", "progress_version"))
        self.assertEqual((a.timeline,), self.row("timeline"))

    def publish_progress(self, owner: str) -> None:
        with self.store.writer() as session:
            op_occs.publish_progress(
                session,
                owner,
                ["an-op-occ"],
                lambda _: snapshot("INFRA: 1 of 2"),
            )

    def test_only_the_owner_publishes_progress(self) -> None:
        self.claimed("me")
        self.publish_progress("other")
        self.assertEqual((None,), self.row("progress"))
        self.publish_progress("me")
        self.assertEqual(("INFRA: 1 of 2",), self.row("progress"))

    def test_the_next_step_replaces_the_progress(self) -> None:
        work = self.claimed("me")
        self.publish_progress("me")
        self.record(work, Event.GRANTED, step="PREAMBLE")
        self.assertEqual(("PREAMBLE",), self.row("progress"))

    def test_progress_of_a_previous_step_is_not_published(self) -> None:
        claims = Claims(self.store, VALID_LEASE_S)
        acquired = claims.acquire("an-op-occ")
        assert acquired is not None
        work, claim = acquired
        claim.progress.enter_step("GRANT")
        claims.publish()
        self.assertEqual(("GRANT",), self.row("progress"))
        claim.progress.report("asked")
        unused: Any = None
        OperationRecorder(self.store, work, claim, unused).record(
            Event.GRANTED,
            Result(
                step="PREAMBLE",
                timeline=claim.progress.ended(StepOutcome.COMPLETED),
            ),
        )
        claims.publish()
        self.assertEqual(("PREAMBLE",), self.row("progress"))
        ((step,),) = self.row("timeline")
        self.assertEqual("asked", step.message)
        self.assertEqual(StepOutcome.COMPLETED, step.outcome)

    def test_a_result_without_a_step_keeps_the_timeline(self) -> None:
        work = self.claimed("me")
        self.publish_progress("me")
        timeline = self.row("timeline")
        self.record(work, Event.FAIL, step=None)
        self.assertEqual(timeline, self.row("timeline"))


class TestDecide(OpOccTest):
    def test_each_decision_changes_the_state_and_the_reservation(self) -> None:
        # event, state after, whether the instance is still reserved
        cases = [
            (Event.RETRY, S.PROCESSING, True),
            (Event.ROLLBACK, S.ROLLING_BACK, True),
            (Event.GIVE_UP, S.FAILED, False),
        ]
        for event, after, reserved in cases:
            self.set(operation_state=S.FAILED_TEMP, owner=None)
            self.assertEqual(after, self.decide(event))
            self.assertEqual(
                "an-op-occ" if reserved else None, self.reserving_operation()
            )

    def test_a_decision_in_another_state_is_rejected(self) -> None:
        decisions = TASKS.keys() - {Event.CANCEL}
        for state, event in itertools.product(S, decisions):
            if state == S.FAILED_TEMP:
                continue
            self.set(operation_state=state)
            self.assertRaises(errors.WrongState, self.decide, event)
            self.assertEqual((state,), self.row("operation_state"))
            self.assertEqual("an-op-occ", self.reserving_operation())

    def test_heal_and_terminate_cannot_be_rolled_back(self) -> None:
        for op in (Op.HEAL, Op.TERMINATE):
            self.set(operation_state=S.FAILED_TEMP, operation=op)
            self.assertRaises(errors.WrongState, self.decide, Event.ROLLBACK)

    def test_a_decision_begins_a_new_attempt(self) -> None:
        self.set(
            operation_state=S.FAILED_TEMP,
            step="INFRA",
            progress="1 of 2",
            owner="me",
            lease_until=0.0,
            fence=4,
        )
        later = NOW.replace(minute=5)
        with self.store.writer() as session:
            decided = op_occs.decide(
                session, "an-op-occ", Event.ROLLBACK, later, VALID_LEASE_S
            )
            until, now = session.execute(
                sa.select(Row.lease_until, epoch())
            ).one()
        self.assertTrue(VALID_LEASE_S / 2 < until - now <= VALID_LEASE_S)
        self.assertEqual(S.ROLLING_BACK, decided.operation_state)
        self.assertEqual(
            (None, None, None, 5, later),
            self.row(
                "step", "progress", "owner", "fence", "state_entered_time"
            ),
        )
        self.assertEqual([S.STARTING, S.ROLLING_BACK], self.announced())

    def test_a_failed_instantiation_is_marked_for_cleanup(self) -> None:
        for op, event, expected in (
            (Op.INSTANTIATE, Event.RETRY, None),
            (Op.SCALE, Event.GIVE_UP, None),
            (Op.INSTANTIATE, Event.GIVE_UP, ()),
        ):
            self.set(operation_state=S.FAILED_TEMP, operation=op, owner=None)
            self.decide(event)
            with self.store.reader() as session:
                found = leftovers.get(session, "an-instance")
            self.assertEqual(expected, found, f"{op} {event}")

    def test_a_change_requires_a_matching_entity_tag(self) -> None:
        def decide(tag: str) -> None:
            with self.store.writer() as session:
                op_occs.decide(
                    session,
                    "an-op-occ",
                    Event.RETRY,
                    NOW,
                    VALID_LEASE_S,
                    Preconditions(frozenset({tag})),
                )

        def cancel(tag: str) -> None:
            with self.store.writer() as session:
                op_occs.cancel(
                    session,
                    "an-op-occ",
                    GRACEFUL,
                    Preconditions(frozenset({tag})),
                )

        for state, change, after in (
            (S.FAILED_TEMP, decide, (S.PROCESSING, None)),
            (S.PROCESSING, cancel, (S.PROCESSING, GRACEFUL)),
        ):
            self.set(operation_state=state, owner=None)
            with self.store.reader() as session:
                tag = op_occs.etag(session, "an-op-occ")
            self.assertRaises(errors.PreconditionFailed, change, "another")
            before = (state, None)
            columns = "operation_state", "cancel_mode"
            self.assertEqual(before, self.row(*columns))
            change(tag)
            self.assertEqual(after, self.row(*columns))

    def test_the_second_of_two_decisions_is_rejected(self) -> None:
        self.set(operation_state=S.FAILED_TEMP)
        self.decide(Event.RETRY)
        self.assertRaises(errors.WrongState, self.decide, Event.GIVE_UP)
        self.assertEqual((S.PROCESSING,), self.row("operation_state"))

    def test_operation_not_found(self) -> None:
        with self.store.writer() as session:
            session.execute(sa.delete(Row))
        self.assertRaises(errors.NotFound, self.decide, Event.RETRY)

    def test_a_retry_waits_for_its_wake_up(self) -> None:
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
    def heartbeat(self, owner: str, *op_occ_ids: str) -> None:
        with self.store.writer() as session:
            op_occs.heartbeat(session, owner, op_occ_ids, VALID_LEASE_S)

    def test_active_operations_without_a_valid_lease_are_listed(self) -> None:
        # owner, lease_until; whether the sweep lists it
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

    def test_the_sweep_waits_for_the_wake_up_timeout(self) -> None:
        self.assertEqual([], self.list_unclaimed())
        with self.store.writer() as session:
            instances.release(session, instances.load(session, "an-instance"))
        self.add(lease_s=EXPIRED_LEASE_S, id="another")
        self.assertEqual(["another"], self.list_unclaimed())

    def test_a_renewal_extends_the_lease(self) -> None:
        self.claimed("me", EXPIRED_LEASE_S)
        self.assertEqual(["an-op-occ"], self.list_unclaimed())
        self.heartbeat("me", "an-op-occ", "another")
        self.assertEqual([], self.list_unclaimed())
        self.assertIsNone(self.claim("other"))

    def test_only_named_operations_are_renewed(self) -> None:
        self.claimed("me", EXPIRED_LEASE_S)
        self.heartbeat("me", "another")
        self.heartbeat("me")
        self.assertEqual(["an-op-occ"], self.list_unclaimed())

    def test_a_previous_owner_does_not_renew_the_lease(self) -> None:
        self.claimed("first", EXPIRED_LEASE_S)
        self.claimed("second", EXPIRED_LEASE_S)
        self.heartbeat("first", "an-op-occ")
        self.assertEqual(["an-op-occ"], self.list_unclaimed())

    def test_an_operation_with_an_expired_lease_is_claimed_at_once(
        self,
    ) -> None:
        self.claimed("me")
        with self.store.writer() as session:
            op_occs.expire_leases(session, "another")
        self.assertEqual([], self.list_unclaimed())
        with self.store.writer() as session:
            op_occs.expire_leases(session, "me")
        self.assertEqual(["an-op-occ"], self.list_unclaimed())
        self.assertEqual("me", self.claimed("other").lost_owner)

    def test_the_oldest_unclaimed_operation_is_first(self) -> None:
        self.set(lease_until=0.0)
        with self.store.writer() as session:
            for name, minute in (("b", 20), ("c", 10)):
                op_occ = an_op_occ(id=name)
                now = NOW.replace(minute=minute)
                op_occs.add(
                    session,
                    op_occ,
                    a_stored_instance(),
                    {},
                    now,
                    EXPIRED_LEASE_S,
                )
        self.assertEqual(["an-op-occ", "c", "b"], self.list_unclaimed())

    def test_only_a_starting_operation_is_requeued(self) -> None:
        def requeue(owner: str, op_occ_id: str = "an-op-occ") -> bool:
            with self.store.writer() as session:
                return op_occs.requeue(session, owner, op_occ_id)

        claimed = self.claimed("me")
        self.assertFalse(requeue("other"))
        self.assertFalse(requeue("me", "another"))
        for state in set(S) - {S.STARTING}:
            self.set(operation_state=state)
            self.assertFalse(requeue("me"))
        self.assertEqual(("me", 1), self.row("owner", "fence"))
        self.set(operation_state=S.STARTING)
        self.assertTrue(requeue("me"))
        self.assertEqual((None, 2), self.row("owner", "fence"))
        self.assertEqual((0.0,), self.row("lease_until"))
        self.assertRaises(errors.LeaseLost, self.record, claimed, Event.FAIL)

    def test_leases_of_ended_operations_are_not_expired(self) -> None:
        self.set(operation_state=S.FAILED_TEMP, owner="me", lease_until=9.0)
        with self.store.writer() as session:
            op_occs.expire_leases(session, "me")
        self.assertEqual((9.0,), self.row("lease_until"))


class TestReading(OpOccTest):
    def test_the_entity_tag_differs_after_each_change(self) -> None:
        def tag() -> str:
            with self.store.reader() as session:
                return op_occs.etag(session, "an-op-occ")

        tags = [tag()]
        self.assertEqual(tags, [tag()])
        self.assertEqual(32, len(tags[0]))
        for changed in (
            {"operation_state": S.PROCESSING},
            {"state_entered_time": NOW.replace(minute=5)},
            {"step": "INFRA"},
            {"progress": "1 of 2"},
            {"cancel_mode": GRACEFUL},
            {"fence": 7},
            {"progress_version": 1},
        ):
            self.set(**changed)
            tags.append(tag())
        conductors.report(self.store, "me", VALID_LEASE_S)
        tags.append(tag())
        self.assertEqual(len(tags), len(set(tags)))
        self.set(lease_until=1.0)
        self.assertEqual(tags[-1], tag())
        self.set(operation_state=S.COMPLETED)
        ended = tag()
        conductors.unregister(self.store, "me")
        self.assertEqual(ended, tag())
        with self.store.reader() as session:
            error = self.assertRaises(
                errors.NotFound, op_occs.etag, session, "none"
            )
        self.assertIn("operation occurrence none.", str(error))

    def test_only_stored_operations_exist(self) -> None:
        with self.store.reader() as session:
            self.assertTrue(op_occs.exists(session, "an-op-occ"))
            self.assertFalse(op_occs.exists(session, "none"))

    def test_the_oldest_operation_is_first(self) -> None:
        with self.store.writer() as session:
            for name, minute in (("b", 20), ("c", 10), ("a", 10)):
                now = NOW.replace(minute=minute)
                op_occs.add(
                    session,
                    an_op_occ(id=name),
                    a_stored_instance(),
                    {},
                    now,
                    VALID_LEASE_S,
                )
        with self.store.reader() as session:
            found = list(op_occs.find(session, DEFAULT_LIST))
        expected = ["an-op-occ", "a", "c", "b"]
        self.assertEqual(expected, [op_occ.id for _, op_occ in found])
        self.assertEqual(expected, [position.id for position, _ in found])
        newest_first = msgspec.structs.replace(
            DEFAULT_LIST, newest_first=True, batch=2
        )
        with self.store.reader() as session:
            found = list(op_occs.find(session, newest_first))
        self.assertEqual(
            expected[::-1], [position.id for position, _ in found]
        )

    def test_a_list_omits_large_attributes(self) -> None:
        self.set(error=PROBLEM)
        with self.store.reader() as session:
            ((_, listed),) = op_occs.find(session, DEFAULT_LIST)
            whole = op_occs.get(session, "an-op-occ")
        self.assertIsNone(listed.error)
        self.assertIsNone(listed.operation_params)
        self.assertEqual(PROBLEM, whole.error)
        self.assertEqual({}, whole.operation_params)

    def test_operation_not_found(self) -> None:
        with self.store.reader() as session:
            error = self.assertRaises(
                errors.NotFound, op_occs.get, session, "none"
            )
        self.assertEqual(
            "There is no lifecycle operation occurrence none.", str(error)
        )


class TestOthers(OpOccTest):
    """An operation among others of the same conductor."""

    NAMES = ("a", "an-op-occ", "z")

    def setUp(self) -> None:
        super().setUp()
        with self.store.writer() as session:
            for name in ("a", "z"):
                op_occs.add(
                    session,
                    an_op_occ(id=name),
                    a_stored_instance(),
                    {},
                    NOW,
                    VALID_LEASE_S,
                )
        self.set(owner="me", fence=1, error=PROBLEM)
        self.claimed_op = self.read_claimed()

    def read_claimed(self) -> ClaimedOperation:
        self.set(owner=None, fence=0)
        claimed = self.claimed()
        self.set(owner="me", fence=1)
        return claimed

    def rows(self) -> dict[str, Any]:
        with self.store.reader() as session:
            found = session.execute(sa.select(Row.__table__)).mappings()
            return {row["id"]: dict(row) for row in found}

    def test_a_change_affects_only_its_operation(self) -> None:
        op, claimed = "an-op-occ", self.claimed_op
        cases: list[tuple[S, Callable[[orm.Session], Any]]] = [
            (
                S.STARTING,
                lambda s: op_occs.record(
                    s, claimed, 1, Event.GRANTED, Result(step="INFRA"), NOW
                ),
            ),
            (
                S.FAILED_TEMP,
                lambda s: op_occs.decide(s, op, Event.RETRY, NOW, 1),
            ),
            (S.STARTING, lambda s: op_occs.cancel(s, op, GRACEFUL)),
            (S.STARTING, lambda s: op_occs.requeue(s, "me", op)),
            (
                S.STARTING,
                lambda s: op_occs.heartbeat(s, "me", [op], 1.0),
            ),
            (
                S.STARTING,
                lambda s: op_occs.publish_progress(
                    s, "me", [op], lambda _: snapshot("x")
                ),
            ),
            (
                S.STARTING,
                lambda s: op_occs.save_checkpoint(s, claimed, {"x": 1}),
            ),
            (
                S.STARTING,
                lambda s: op_occs.write_script_log(s, claimed, "x"),
            ),
        ]
        for state, change in cases:
            self.set(
                operation_state=state,
                owner="me",
                fence=1,
                recorded=0,
                lease_until=5.0,
                is_cancel_pending=False,
                cancel_mode=None,
            )
            before = self.rows()
            with self.store.writer() as session:
                change(session)
            after = self.rows()
            changed = [n for n in self.NAMES if before[n] != after[n]]
            self.assertEqual([op], changed)

    def test_a_read_returns_only_its_operation(self) -> None:
        self.set(operation_state=S.PROCESSING)
        data = {"n": 1}
        left = ProblemDetails(
            status=422, detail="x", user_script_err_handling_data=data
        )
        with self.store.writer() as session:
            for name in ("a", "z"):
                session.execute(
                    sa.update(Row)
                    .where(Row.id == name)
                    .values(
                        error=left, cancel_mode=FORCEFUL, script_log="other"
                    )
                )
        with self.store.reader() as session:
            self.assertIsNone(op_occs.get_cancel_mode(session, "an-op-occ"))
            found = op_occs.get(session, "an-op-occ")
            self.assertEqual(PROBLEM, found.error)
            log = op_occs.get_script_log(session, self.claimed_op)
            self.assertEqual("", log)
        self.record(self.claimed_op, Event.FAIL, error=PROBLEM)
        with self.store.reader() as session:
            found = op_occs.get(session, "an-op-occ")
        self.assertEqual(PROBLEM, found.error)
