"""/vnflcm/v2/vnf_lcm_op_occs (SOL003 5.4.12 to 5.4.16)."""

from typing import Any, Final

from tacker_cnf.api import http, links, policies, query, redaction
from tacker_cnf.db import op_occs
from tacker_cnf.db.session import Store
from tacker_cnf.intake import Intake
from tacker_cnf.sol.vnf_lcm_op_occ import VnfLcmOpOcc

_LISTED: Final = query.Listed(VnfLcmOpOcc, op_occs.HEAVY, op_occs.COLUMNS)


class VnfLcmOpOccs:
    """The lifecycle operations, and the decisions about failed ones."""

    def __init__(self, store: Store, intake: Intake) -> None:
        self._store = store
        self._intake = intake

    @http.endpoint(200)
    def get_all(self) -> list[dict[str, Any]]:
        http.authorized(policies.LCM_READ)
        asked = query.of_request(_LISTED)
        base = http.base_url()
        with self._store.reader() as session:
            return asked.answer(
                (position, _shown(op_occ, base))
                for position, op_occ in op_occs.find(session, asked.wanted)
            )

    @http.endpoint(200)
    def get(self, op_occ_id: str) -> VnfLcmOpOcc:
        http.authorized(policies.LCM_READ)
        with self._store.reader() as session:
            op_occ = op_occs.get(session, op_occ_id)
        return _shown(op_occ, http.base_url())

    @http.endpoint(202)
    def post_retry(self, op_occ_id: str) -> None:
        http.authorized(policies.LCM_WRITE)
        self._intake.retry(op_occ_id)

    @http.endpoint(202)
    def post_rollback(self, op_occ_id: str) -> None:
        http.authorized(policies.LCM_WRITE)
        self._intake.rollback(op_occ_id)

    @http.endpoint(200)
    def post_fail(self, op_occ_id: str) -> VnfLcmOpOcc:
        http.authorized(policies.LCM_WRITE)
        return _shown(self._intake.fail(op_occ_id), http.base_url())


def _shown(op_occ: VnfLcmOpOcc, base: str) -> VnfLcmOpOcc:
    return links.with_op_occ_links(redaction.op_occ(op_occ), base)
