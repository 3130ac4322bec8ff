"""/vnflcm/v2/vnf_lcm_op_occs (SOL003 5.4.12 to 5.4.17)."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.api import http, links, once, parameters, policies, query
from tacker_cnf.api.once import Once
from tacker_cnf.db import conductors, op_occs
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.intake import Intake
from tacker_cnf.lcm import redaction, states
from tacker_cnf.sol.vnf_lcm_op_occ import CancelMode, VnfLcmOpOcc
from tacker_cnf.terms import Terms

_LISTED: Final = query.Listed(VnfLcmOpOcc, op_occs.HEAVY, op_occs.COLUMNS)
#: progress of an operation that nothing works on
IDLE: Final = "Waiting: no conductor is running"
#: what is told of every task
_TASK: Final[dict[str, Any]] = {
    "takes": parameters.TASK,
    "refuses": (
        errors.Conflict,
        errors.PreconditionFailed,
        errors.KeyReused,
    ),
}


class VnfLcmOpOccs:
    """The lifecycle operations, and what is decided about them."""

    def __init__(self, store: Store, intake: Intake) -> None:
        self._store = store
        self._once = Once(store)
        self._intake = intake

    @http.endpoint(
        200,
        rule=policies.LCM_READ,
        answers=list[VnfLcmOpOcc],
        takes=parameters.LIST,
        tells=(parameters.LINK,),
    )
    def get_all(self) -> list[dict[str, Any]]:
        """List lifecycle operations."""
        asked = query.of_request(_LISTED)
        base = http.base_url()
        with self._store.reader() as session:
            is_idle = not conductors.count(session)
            return asked.answer(
                (position, _shown(op_occ, base, is_idle=is_idle))
                for position, op_occ in op_occs.find(session, asked.wanted)
            )

    @http.endpoint(
        200,
        rule=policies.LCM_READ,
        answers=VnfLcmOpOcc,
        also=(304,),
        takes=(parameters.IF_NONE_MATCH,),
        tells=(parameters.ETAG,),
    )
    def get(self, op_occ_id: str) -> Any:
        """Read a lifecycle operation."""
        op_occ, tag = self._read(op_occ_id)
        return http.bare(304) if once.is_known(tag) else op_occ

    @transaction
    def _read(self, op_occ_id: str) -> tuple[VnfLcmOpOcc, str]:
        with self._store.reader() as session:
            # should it change in between, the tag is of what was before
            tag = op_occs.tag(session, op_occ_id)
            op_occ = op_occs.get(session, op_occ_id)
            is_idle = _is_active(op_occ) and not conductors.count(session)
        return _shown(op_occ, http.base_url(), is_idle=is_idle), tag

    def _decide(self, op_occ_id: str, act: Callable[[Terms], Any]) -> None:

        def ask(terms: Terms) -> str:
            act(terms)
            return op_occ_id

        self._once(ask)

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_retry(self, op_occ_id: str) -> None:
        """Try a failed operation again."""
        self._decide(op_occ_id, partial(self._intake.retry, op_occ_id))

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_rollback(self, op_occ_id: str) -> None:
        """Take back what a failed operation did."""
        self._decide(op_occ_id, partial(self._intake.rollback, op_occ_id))

    @http.endpoint(200, rule=policies.LCM_WRITE, **_TASK)
    def post_fail(self, op_occ_id: str) -> VnfLcmOpOcc:
        """Leave a failed operation as it is, for good."""
        self._decide(op_occ_id, partial(self._intake.fail, op_occ_id))
        return self._read(op_occ_id)[0]

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_cancel(self, op_occ_id: str, body: CancelMode) -> None:
        """Cancel an operation that has not ended."""
        cancel = partial(self._intake.cancel, op_occ_id, body.cancel_mode)
        self._decide(op_occ_id, cancel)


def _is_active(op_occ: VnfLcmOpOcc) -> bool:
    return op_occ.operation_state in states.ACTIVE


def _shown(op_occ: VnfLcmOpOcc, base: str, *, is_idle: bool) -> VnfLcmOpOcc:
    """Show an operation.

    :param is_idle: no conductor is alive
    """
    if is_idle and _is_active(op_occ):
        stood_at = f" (at {op_occ.progress})" if op_occ.progress else ""
        progress = f"{IDLE}{stood_at}"
        op_occ = msgspec.structs.replace(op_occ, progress=progress)
    return links.with_op_occ_links(redaction.op_occ(op_occ), base)
