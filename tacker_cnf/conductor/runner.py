"""Runs the steps of an operation: a start, a retry or a rollback."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.conductor import steps
from tacker_cnf.conductor.steps import Run, Step
from tacker_cnf.lcm.instantiated_info import InfraResult
from tacker_cnf.lcm.states import Event
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.sol.problem import ProblemDetails

LOG = log.getLogger(__name__)

#: log of a modification that changes the VNF instance only
NO_SCRIPT_MESSAGE: Final = (
    "The VNF package that the VNF instance had names no management script for "
    "a modification: nothing was changed on the VIM.\n"
)
#: records the end of a step: the event, the step that is next or has failed,
#: the error, and what the driver found; returns whether the operation
#: continues; raises ScriptFailed if the VNF cannot provide the VIMs that the
#: output of its script names
Record = Callable[
    [Run, Event, str | None, ProblemDetails | None, InfraResult | None], bool
]


def run_steps(run: Run, plan: Sequence[Step], record: Record) -> None:
    """Run the steps, and record the end of each; errors are recorded.

    :raises LeaseLost: another conductor may have claimed the operation
    """
    if not plan:  # a modification without management scripts
        if steps.skips_vim_update(run):
            run.save_log(NO_SCRIPT_MESSAGE)
        record(run, Event.DONE, None, None, None)
        return
    next_steps = [step.name for step in plan[1:]] + [None]
    for step, next_step in zip(plan, next_steps, strict=True):
        try:
            run.enter_step(step.name)
            run.cancel_token.check()
            run = step.do(run)
        except errors.LeaseLost:
            raise
        except Exception as error:  # noqa: BLE001
            _fail(run, step, error, record)
            return
        if not _end(run, step, next_step, record):
            return
        run = msgspec.structs.replace(run, vims={})  # these are recorded


def _fail(run: Run, step: Step, error: Exception, record: Record) -> None:
    """Record that a step failed."""
    _log(run, step, error)
    problem = errors.problem_details(error)
    vim_reachable = not isinstance(error, errors.VimUnreachable)
    can_observe = vim_reachable and step is not steps.GRANT
    found = _observe_after_failure(run) if can_observe else None
    record(run, Event.FAIL, step.name, problem, found)


def _end(run: Run, step: Step, next_step: str | None, record: Record) -> bool:
    """Record that a step completed, or failed if the VNF cannot provide the
    VIMs of its script output; return whether the operation continues.
    """
    try:
        return record(
            run, _event(step, next_step), next_step, None, run.result
        )
    except errors.ScriptFailed as error:
        without_vims = msgspec.structs.replace(run, vims={})
        if not steps.tolerates_failure(run, error):
            _fail(without_vims, step, error, record)
            return False
    return record(
        without_vims, _event(step, next_step), next_step, None, run.result
    )


def record_abandoned(
    run: Run, step: str | None, problem: ProblemDetails, record: Record
) -> None:
    """Record that a step of a lost conductor failed.

    :raises LeaseLost: another conductor may have claimed the operation
    """
    record(run, Event.FAIL, step, problem, _observe_after_failure(run))


def _event(step: Step, next_step: str | None) -> Event:
    """Return the event of a completed step."""
    if step is steps.GRANT:
        return Event.GRANTED
    return Event.STEPPED if next_step else Event.DONE


def _log(run: Run, step: Step, error: Exception) -> None:
    expected = isinstance(error, errors.VnfmError)
    LOG.warning(
        "Step failed: operation=%s step=%s error=%s",
        run.op_occ.id,
        step.name,
        error if expected else type(error).__name__,
        exc_info=None if expected else error,
    )


def _observe_after_failure(run: Run) -> InfraResult | None:
    """Read what a failed step left on the VIM; None: that failed."""
    # a cancelled operation may still read
    observing_run = msgspec.structs.replace(
        run,
        cancel_token=CancelToken(
            run.cancel_token.lease, run.cancel_token.clock
        ),
    )
    try:
        return run.driver.observe(steps.infra_task(observing_run))
    except Exception as error:  # noqa: BLE001
        LOG.warning(
            "VIM not read after failure: operation=%s error=%r",
            run.op_occ.id,
            error,
        )
        return None
