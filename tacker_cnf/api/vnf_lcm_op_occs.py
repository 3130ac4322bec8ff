"""/vnflcm/v2/vnf_lcm_op_occs (SOL003 5.4.12 to 5.4.17)."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.api import (
    conditional_requests,
    http,
    links,
    openapi_parameters,
    policies,
    query,
)
from tacker_cnf.api.conditional_requests import IdempotentRequest
from tacker_cnf.db import conductors, op_occs
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.lcm import redaction, states
from tacker_cnf.preconditions import Preconditions
from tacker_cnf.services.operations import OperationService
from tacker_cnf.sol.vnf_lcm_op_occ import CancelMode, VnfLcmOpOcc

_LIST_DEFINITION: Final = query.ListDefinition(
    VnfLcmOpOcc, op_occs.EXCLUDED_BY_DEFAULT, op_occs.COLUMNS
)
#: progress of an operation while no conductor is alive
WAITING_FOR_CONDUCTOR: Final = "Waiting: no conductor is running"
#: declaration of the handlers of tasks
_TASK: Final[dict[str, Any]] = {
    "parameters": openapi_parameters.TASK,
    "error_types": (
        errors.Conflict,
        errors.PreconditionFailed,
        errors.IdempotencyKeyReused,
    ),
}


class VnfLcmOpOccs:
    """The lifecycle operations, and the tasks that continue or end them."""

    def __init__(self, store: Store, operations: OperationService) -> None:
        self._store = store
        self._idempotent_request = IdempotentRequest(store)
        self._operations = operations

    @http.endpoint(
        200,
        rule=policies.LCM_READ,
        response=list[VnfLcmOpOcc],
        parameters=openapi_parameters.LIST,
        response_headers=(openapi_parameters.LINK,),
    )
    def get_all(self) -> list[dict[str, Any]]:
        """List lifecycle operations."""
        list_query = query.from_request(_LIST_DEFINITION)
        base = http.base_url()
        with self._store.reader() as session:
            no_conductor = not conductors.count(session)
            return list_query.build_page(
                (
                    position,
                    _to_response(op_occ, base, no_conductor=no_conductor),
                )
                for position, op_occ in op_occs.find(
                    session, list_query.db_query
                )
            )

    @http.endpoint(
        200,
        rule=policies.LCM_READ,
        response=VnfLcmOpOcc,
        other_statuses=(304,),
        parameters=(openapi_parameters.IF_NONE_MATCH,),
        response_headers=(openapi_parameters.ETAG,),
    )
    def get(self, op_occ_id: str) -> Any:
        """Read a lifecycle operation."""
        op_occ, tag = self._read(op_occ_id)
        return (
            http.empty_response(304)
            if conditional_requests.is_not_modified(tag)
            else op_occ
        )

    @transaction
    def _read(self, op_occ_id: str) -> tuple[VnfLcmOpOcc, str]:
        with self._store.reader() as session:
            # if the row changes in between, the tag is that of the old one
            tag = op_occs.etag(session, op_occ_id)
            op_occ = op_occs.get(session, op_occ_id)
            no_conductor = _is_active(op_occ) and not conductors.count(session)
        return _to_response(
            op_occ, http.base_url(), no_conductor=no_conductor
        ), tag

    def _run_task(
        self, op_occ_id: str, action: Callable[[Preconditions], Any]
    ) -> None:

        def perform(preconditions: Preconditions) -> str:
            action(preconditions)
            return op_occ_id

        self._idempotent_request(perform)

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_retry(self, op_occ_id: str) -> None:
        """Retry a failed operation."""
        self._run_task(op_occ_id, partial(self._operations.retry, op_occ_id))

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_rollback(self, op_occ_id: str) -> None:
        """Roll back a failed operation."""
        self._run_task(
            op_occ_id, partial(self._operations.rollback, op_occ_id)
        )

    @http.endpoint(200, rule=policies.LCM_WRITE, **_TASK)
    def post_fail(self, op_occ_id: str) -> VnfLcmOpOcc:
        """Mark a failed operation as finally failed."""
        self._run_task(op_occ_id, partial(self._operations.fail, op_occ_id))
        return self._read(op_occ_id)[0]

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_cancel(self, op_occ_id: str, body: CancelMode) -> None:
        """Cancel an operation that has not ended."""
        cancel = partial(self._operations.cancel, op_occ_id, body.cancel_mode)
        self._run_task(op_occ_id, cancel)


def _is_active(op_occ: VnfLcmOpOcc) -> bool:
    return op_occ.operation_state in states.ACTIVE


def _to_response(
    op_occ: VnfLcmOpOcc, base: str, *, no_conductor: bool
) -> VnfLcmOpOcc:
    """Return an operation as a response shows it: with its links, without
    secrets.

    :param no_conductor: whether no conductor is alive
    """
    if no_conductor and _is_active(op_occ):
        last_progress = f" (at {op_occ.progress})" if op_occ.progress else ""
        progress = f"{WAITING_FOR_CONDUCTOR}{last_progress}"
        op_occ = msgspec.structs.replace(op_occ, progress=progress)
    return links.with_op_occ_links(redaction.op_occ(op_occ), base)
