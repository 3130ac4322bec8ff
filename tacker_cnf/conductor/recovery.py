"""What becomes of an operation whose conductor was lost."""

from tacker_cnf import errors
from tacker_cnf.conductor import steps
from tacker_cnf.db.op_occs import Work
from tacker_cnf.lcm import operations
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S


def verdict(work: Work, *, may_resume: bool) -> ProblemDetails | None:
    """Tell why an operation that was claimed cannot simply be carried out.

    It may have been cancelled before anybody, or anybody else, took it up.

    While it was STARTING nothing had been done, so it begins again. A step
    that changes the VIM converges, so it may be repeated if the operator
    allows that; what else a lost conductor was in the middle of, nobody
    knows.
    """
    if work.op_occ.is_cancel_pending:
        by = (
            f"Conductor {work.lost_owner} was lost. "
            if work.lost_owner
            else ""
        )
        return errors.problem_of(
            errors.Cancelled(
                f"{by}The operation was cancelled ({work.op_occ.cancel_mode})."
            )
        )
    if work.lost_owner is None or work.op_occ.operation_state == S.STARTING:
        return None
    if may_resume and work.step in {steps.INFRA.name, steps.RESTORE.name}:
        return None
    lost = errors.VnfmError(
        f"Conductor {work.lost_owner} was lost while it carried out "
        f"{_where(work.step)} of this operation. What may be done now: "
        f"{operations.choices(work.op_occ.operation)}."
    )
    return errors.problem_of(lost)


def _where(step: str | None) -> str:
    return f"step {step}" if step else "the first step"
