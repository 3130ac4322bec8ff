"""/vnflcm/v2/vnf_lcm_op_occs (SOL003 5.4.12 to 5.4.17)."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.api import (
    conditional_requests,
    http,
    links,
    openapi_parameters,
    query,
    state_wait,
)
from tacker_cnf.api.conditional_requests import preconditions_from_request
from tacker_cnf.context import Owner
from tacker_cnf.lcm import plan_text
from tacker_cnf.lcm.states import Event
from tacker_cnf.lcm.vnf_plan import VnfPlan
from tacker_cnf.services.operations import COMPARABLE, OperationService
from tacker_cnf.services.plans import PlanService
from tacker_cnf.services.state_waits import StateWaits
from tacker_cnf.sol.vnf_lcm_op_occ import CancelMode, VnfLcmOpOcc

#: attributes that a list leaves out by default (SOL003 5.4.12.3.2)
EXCLUDED_BY_DEFAULT: Final = frozenset(
    {
        "operation_params",
        "error",
        "resource_changes",
        "changed_info",
        "changed_ext_connectivity",
        "script_log",
        "timeline",
    }
)
_LIST_DEFINITION: Final = query.ListDefinition(
    VnfLcmOpOcc, EXCLUDED_BY_DEFAULT, COMPARABLE
)
#: declaration of the handlers of tasks
TASK: Final[dict[str, Any]] = {
    "parameters": openapi_parameters.TASK,
    "error_types": (
        errors.Conflict,
        errors.PreconditionFailed,
        errors.IdempotencyKeyReused,
    ),
}
#: the same if the operation runs again
RESUMING_TASK: Final = TASK | {
    "error_types": (
        *TASK["error_types"],
        errors.Unprocessable,
        errors.TooManyOperations,
    )
}
#: the same with a dry run
_PLANNED_TASK: Final = RESUMING_TASK | {
    "preview": http.Preview(VnfPlan, plan_text.render),
}


class VnfLcmOpOccs:
    """The lifecycle operations, and the tasks that continue or end them."""

    def __init__(
        self,
        operations: OperationService,
        plans: PlanService,
        state_waits: StateWaits,
    ) -> None:
        self._operations = operations
        self._plans = plans
        self._state_waits = state_waits

    @http.endpoint(
        200,
        rule="vnf_lcm_op_occs:index",
        response=list[VnfLcmOpOcc],
        **openapi_parameters.PAGES,
    )
    def get_all(self) -> list[dict[str, Any]]:
        """List lifecycle operations."""
        list_query = query.from_request(_LIST_DEFINITION)
        to_response = _response_builder()
        with self._operations.find(
            http.caller(), list_query.db_query
        ) as found:
            return list_query.build_page(
                (position, to_response(op_occ)) for position, op_occ in found
            )

    @http.endpoint(
        200,
        rule="vnf_lcm_op_occs:show",
        response=VnfLcmOpOcc,
        **openapi_parameters.CONDITIONAL_WAIT,
    )
    def get(self, op_occ_id: str) -> Any:
        """Read a lifecycle operation, or wait for its state first."""
        caller, wait = http.caller(), state_wait.from_request()
        if wait and http.can_wait():
            state = self._operations.get_state(caller, op_occ_id)
            if state in wait.states:
                return http.wait(
                    self._state_waits.begin(caller, op_occ_id, wait.states),
                    wait.seconds,
                )
        return conditional_requests.respond(
            lambda: self._operations.get_tag(http.caller(), op_occ_id),
            lambda: self._read(op_occ_id),
        )

    def _read(self, op_occ_id: str) -> tuple[VnfLcmOpOcc, str]:
        op_occ, tag = self._operations.get(http.caller(), op_occ_id)
        return _response_builder()(op_occ), tag

    @http.endpoint(
        200, rule="vnf_lcm_op_occs:plan", render=plan_text.render_executed
    )
    def get_plan(self, op_occ_id: str) -> VnfPlan:
        """Read the plan of a lifecycle operation: what was planned, and at the
        end what was done.
        """
        return self._plans.get(http.caller(), op_occ_id)

    @http.endpoint(202, rule="vnf_lcm_op_occs:retry", **_PLANNED_TASK)
    def post_retry(self, op_occ_id: str) -> VnfPlan | None:
        """Retry a failed operation."""
        caller, preconditions = http.caller(), preconditions_from_request()
        if http.is_dry_run():
            return self._plans.plan_decision(caller, op_occ_id, Event.RETRY)
        self._operations.retry(caller, op_occ_id, preconditions)
        return None

    @http.endpoint(202, rule="vnf_lcm_op_occs:rollback", **_PLANNED_TASK)
    def post_rollback(self, op_occ_id: str) -> VnfPlan | None:
        """Roll back a failed operation."""
        caller, preconditions = http.caller(), preconditions_from_request()
        if http.is_dry_run():
            return self._plans.plan_decision(caller, op_occ_id, Event.ROLLBACK)
        self._operations.rollback(caller, op_occ_id, preconditions)
        return None

    @http.endpoint(200, rule="vnf_lcm_op_occs:fail", **TASK)
    def post_fail(self, op_occ_id: str) -> VnfLcmOpOcc:
        """Mark a failed operation as finally failed."""
        op_occ = self._operations.fail(
            http.caller(), op_occ_id, preconditions_from_request()
        )
        return _response_builder()(op_occ)

    @http.endpoint(202, rule="vnf_lcm_op_occs:cancel", **TASK)
    def post_cancel(self, op_occ_id: str, body: CancelMode) -> None:
        """Cancel an operation that has not ended."""
        self._operations.cancel(
            http.caller(),
            op_occ_id,
            body.cancel_mode,
            preconditions_from_request(),
        )


def _response_builder() -> Callable[[VnfLcmOpOcc], VnfLcmOpOcc]:
    """Return what converts an operation to the one that the response shows,
    and that a filter of the request compares: with its links, and without its
    scriptLog if the policy does not allow the client to read it.
    """
    base = http.base_url()
    may_read_log = http.policy_check("vnf_lcm_op_occs:script_log")

    def to_response(op_occ: VnfLcmOpOcc) -> VnfLcmOpOcc:
        if op_occ.script_log is not None and not may_read_log(
            Owner(op_occ.project_id, None)
        ):
            op_occ = msgspec.structs.replace(op_occ, script_log=None)
        return links.with_op_occ_links(op_occ, base)

    return to_response
