"""Writes down how one operation goes: every end of a step, and notes."""

import datetime
from typing import Any

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.conductor import steps
from tacker_cnf.conductor.claims import Hold
from tacker_cnf.conductor.steps import Run
from tacker_cnf.db import instances, op_occs
from tacker_cnf.db.op_occs import Result, Work
from tacker_cnf.db.session import (
    DATABASE_DOWN,
    Store,
    first_line,
    transaction,
)
from tacker_cnf.lcm import changes, states
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.lcm.states import Event
from tacker_cnf.sol.problem import ProblemDetails

LOG = log.getLogger(__name__)


class Journal:
    """The record of one claimed operation."""

    def __init__(self, store: Store, work: Work, hold: Hold) -> None:
        self._store = store
        self._work = work
        self._hold = hold
        self._recorded = work.recorded
        #: what stands in the log before what its script writes; None: not
        #: looked yet
        self._log: str | None = None

    def keep(
        self,
        run: Run,
        event: Event,
        step: str | None,
        problem: ProblemDetails | None,
        found: InfraResult | None,
    ) -> bool:
        """Keep the end of a step; tell whether the operation goes on.

        :raises ScriptFailed: the VNF cannot provide what its script says, and
            nothing was kept
        :raises LostClaim: the operation is another conductor's by now
        """
        try:
            result = _result(run, event, step, problem, found)
            if event == Event.FAIL:
                stood_at = self._hold.stood_at
                result = msgspec.structs.replace(result, progress=stood_at)
        except Exception as error:  # what cannot be told has not ended well
            LOG.exception("The end of %s is not clear", self._work.op_occ.id)
            self.fail(errors.problem_of(error))
            return False
        return self._hold.persist(lambda: self.record(event, result))

    def fail(self, problem: ProblemDetails) -> None:
        """Keep that the operation cannot even begin, or go on.

        :raises LostClaim: the operation is another conductor's by now
        """
        result = Result(step=self._work.step, error=problem)
        self._hold.persist(lambda: self.record(Event.FAIL, result))

    @transaction
    def record(self, event: Event, result: Result) -> bool:
        """Keep one event in one transaction."""
        now = datetime.datetime.now(datetime.UTC)
        number = self._recorded + 1
        with self._store.writer() as session:
            state = op_occs.record(
                session, self._work, number, event, result, now
            )
            self._hold.recorded()
        self._recorded = number
        LOG.info("%s is %s", self._work.op_occ.id, state)
        return state in states.ACTIVE

    def note(self, notes: tuple[str, ...]) -> None:
        """Keep what a driver is about to do.

        :raises LostClaim: the operation is another conductor's by now
        """
        self._hold.persist(lambda: self._note(notes))

    @transaction
    def _note(self, notes: tuple[str, ...]) -> None:
        with self._store.writer() as session:
            op_occs.note(session, self._work, notes)

    def recall(self) -> dict[str, Any] | None:
        """Give what the scripts of the VNF instance remember.

        :raises LostClaim: the operation is another conductor's by now
        """
        return self._hold.persist(self._recall)

    @transaction
    def _recall(self) -> dict[str, Any] | None:
        with self._store.reader() as session:
            return instances.memory(session, self._work.op_occ.vnf_instance_id)

    def remember(self, memory: dict[str, Any] | None) -> None:
        """Keep what a script remembers, at once and however it ended.

        :raises LostClaim: the operation is another conductor's by now
        """
        self._hold.persist(lambda: self._remember(memory))

    @transaction
    def _remember(self, memory: dict[str, Any] | None) -> None:
        with self._store.writer() as session:
            op_occs.remember(session, self._work, memory)

    def show_log(self, text: str) -> None:
        """Show what a script has written so far, if that is possible now.

        :raises LostClaim: the operation is another conductor's by now
        """
        try:
            self._write_log(text)
        except DATABASE_DOWN as error:
            LOG.debug("Output of a script waits: %s", first_line(error))

    def keep_log(self, text: str) -> None:
        """Keep what a script wrote, in the place of what was shown of it.

        :raises LostClaim: the operation is another conductor's by now
        """
        self._hold.persist(lambda: self._write_log(text))
        self._log = None

    @transaction
    def _write_log(self, text: str) -> None:
        with self._store.writer() as session:
            if self._log is None:
                self._log = op_occs.log_of(session, self._work)
            op_occs.write_log(session, self._work, self._log + text)


def _result(
    run: Run,
    event: Event,
    step: str | None,
    problem: ProblemDetails | None,
    found: InfraResult | None,
) -> Result:
    """Gather what the end of a step leaves."""
    before = run.instance.instantiated_vnf_info
    after = steps.reached(run) if event == Event.DONE else None
    return Result(
        step=step,
        error=problem,
        grant_request=run.grant_request,
        grant=run.grant,
        resource_changes=changes.between(before, found) if found else None,
        changed_info=steps.changed_info(run, after),
        changed_ext_connectivity=steps.changed_connectivity(run, after),
        modifications_triggered_by_vnf_pkg_change=(
            steps.package_changes(run, after)
        ),
        script_changes=run.said,
        vims=run.vims,
        instance=after,
    )
