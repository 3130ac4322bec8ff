"""What becomes of an operation whose conductor was lost."""

from tacker_cnf import errors
from tacker_cnf.conductor import steps
from tacker_cnf.db.op_occs import ClaimedOperation
from tacker_cnf.lcm import operations
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S


def takeover_problem(
    claimed_op: ClaimedOperation, *, may_resume: bool
) -> ProblemDetails | None:
    """Tell why an operation that was claimed cannot simply be carried out.

    It may have been cancelled before anybody, or anybody else, took it up.

    While it was STARTING nothing had been done, so it begins again. A step
    that changes the VIM converges, so it may be repeated if the operator
    allows that; what else a lost conductor was in the middle of, nobody
    knows.
    """
    if claimed_op.op_occ.is_cancel_pending:
        prefix = (
            f"Conductor {claimed_op.lost_owner} was lost. "
            if claimed_op.lost_owner
            else ""
        )
        return errors.problem_details(
            errors.Cancelled(
                f"{prefix}The operation was cancelled ({claimed_op.op_occ.cancel_mode})."
            )
        )
    if (
        claimed_op.lost_owner is None
        or claimed_op.op_occ.operation_state == S.STARTING
    ):
        return None
    if may_resume and claimed_op.step in {
        steps.INFRA.name,
        steps.RESTORE.name,
    }:
        return None
    error = errors.VnfmError(
        f"Conductor {claimed_op.lost_owner} was lost while it carried out "
        f"{_describe_step(claimed_op.step)} of this operation. What may be done now: "
        f"{operations.format_decisions(claimed_op.op_occ.operation)}."
    )
    return errors.problem_details(error)


def _describe_step(step: str | None) -> str:
    return f"step {step}" if step else "the first step"
