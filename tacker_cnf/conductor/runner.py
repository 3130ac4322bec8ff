"""The one loop, for start, retry and rollback."""

from collections.abc import Callable, Sequence

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.conductor import steps
from tacker_cnf.conductor.steps import Run, Step
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.lcm.states import Event
from tacker_cnf.sol.problem import ProblemDetails

LOG = log.getLogger(__name__)

#: keeps the end of a step: what happened, which step comes next or failed,
#: the error, and what the driver found
Record = Callable[
    [Run, Event, str | None, ProblemDetails | None, InfraResult | None], None
]


def carry_out(run: Run, plan: Sequence[Step], record: Record) -> None:
    """Run the steps that remain; every end is recorded, none is raised.

    :raises LostClaim: the operation is another conductor's by now
    """
    following = [step.name for step in plan[1:]] + [None]
    for step, then in zip(plan, following, strict=True):
        try:
            run = step.do(run)
        except errors.LostClaim:
            raise
        except Exception as error:  # noqa: BLE001
            _log(run, step, error)
            problem = errors.problem_of(error)
            found = _left_behind(run, step, error)
            record(run, Event.FAIL, step.name, problem, found)
            return
        record(run, _event(step, then), then, None, run.result)


def _event(step: Step, then: str | None) -> Event:
    """Tell what the good end of a step means."""
    if step is steps.GRANT:
        return Event.GRANTED
    return Event.STEPPED if then else Event.DONE


def _log(run: Run, step: Step, error: Exception) -> None:
    expected = isinstance(error, errors.VnfmError)
    LOG.warning(
        "%s of operation %s failed: %s",
        step.name,
        run.op_occ.id,
        error if expected else type(error).__name__,
        exc_info=None if expected else error,
    )


def _left_behind(run: Run, step: Step, error: Exception) -> InfraResult | None:
    """Look what a failed step left on the VIM, if the VIM can tell."""
    if step is steps.GRANT or isinstance(error, errors.VimUnreachable):
        return None
    try:
        return run.driver.observe(steps.infra_task(run))
    except Exception as unseen:  # noqa: BLE001
        LOG.warning("What %s left is not known: %r", run.op_occ.id, unseen)
        return None
