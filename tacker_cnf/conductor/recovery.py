"""Decides what to do with an operation whose conductor was lost."""

from tacker_cnf import errors
from tacker_cnf.conductor import steps
from tacker_cnf.db.op_occs import ClaimedOperation
from tacker_cnf.lcm.operations import registry
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S


def takeover_problem(
    claimed_op: ClaimedOperation, *, may_resume: bool
) -> ProblemDetails | None:
    """Return why a claimed operation has to fail; None: run it.

    It fails if it was cancelled before a conductor claimed it.

    While it was STARTING no step had run, so it starts again. A step that
    changes the VIM converges, so it is repeated if the operator allows that.
    How far a lost conductor ran any other step is unknown.

    :param may_resume: the option `resume_infra`
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
    if may_resume and claimed_op.step in {steps.INFRA, steps.RESTORE}:
        return None
    error = errors.VnfmError(
        f"Conductor {claimed_op.lost_owner} was lost while it ran "
        f"{_describe_step(claimed_op.step)} of this operation. Possible now: "
        f"{registry.format_decisions(claimed_op.op_occ.operation)}."
    )
    return errors.problem_details(error)


def _describe_step(step: str | None) -> str:
    return f"step {step}" if step else "the first step"
