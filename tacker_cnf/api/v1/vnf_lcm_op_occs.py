"""/vnflcm/v1/vnf_lcm_op_occs (SOL003 v2.6.1, 5.4.12 to 5.4.17)."""

import functools
from collections.abc import Callable
from typing import Any, Final

from tacker_cnf.api import (
    conditional_requests,
    http,
    openapi_parameters,
    query,
    vnf_lcm_op_occs,
)
from tacker_cnf.api.conditional_requests import preconditions_from_request
from tacker_cnf.api.v1 import resources
from tacker_cnf.services.operations import COMPARABLE, OperationService
from tacker_cnf.sol.v1.vnf_lcm_op_occ import VnfLcmOpOccV1
from tacker_cnf.sol.vnf_lcm_op_occ import CancelMode, VnfLcmOpOcc

_LIST_DEFINITION: Final = query.ListDefinition(
    VnfLcmOpOccV1,
    vnf_lcm_op_occs.EXCLUDED_BY_DEFAULT & {*VnfLcmOpOccV1.__struct_fields__},
    COMPARABLE,
    ignores_titles=True,
)


class VnfLcmOpOccsV1:
    """The lifecycle operations in version 1, and the tasks that continue or
    end them.
    """

    def __init__(self, operations: OperationService) -> None:
        self._operations = operations

    @http.endpoint(
        200,
        rule="vnf_lcm_op_occs:index",
        response=list[VnfLcmOpOccV1],
        **openapi_parameters.PAGES,
    )
    def get_all(self) -> list[dict[str, Any]]:
        """List lifecycle operations."""
        list_query = query.from_request(_LIST_DEFINITION)
        convert = self._conversion()
        with self._operations.find(
            http.caller(), list_query.db_query
        ) as found:
            return list_query.build_page(
                (position, convert(op_occ)) for position, op_occ in found
            )

    @http.endpoint(
        200,
        rule="vnf_lcm_op_occs:show",
        response=VnfLcmOpOccV1,
        **openapi_parameters.CONDITIONAL,
    )
    def get(self, op_occ_id: str) -> Any:
        """Read a lifecycle operation."""
        return conditional_requests.respond(
            lambda: self._operations.get_tag(http.caller(), op_occ_id),
            lambda: self._read(op_occ_id),
        )

    def _read(self, op_occ_id: str) -> tuple[VnfLcmOpOccV1, str]:
        op_occ, tag = self._operations.get(http.caller(), op_occ_id)
        return self._conversion()(op_occ), tag

    @http.endpoint(
        202, rule="vnf_lcm_op_occs:retry", **vnf_lcm_op_occs.RESUMING_TASK
    )
    def post_retry(self, op_occ_id: str) -> None:
        """Retry a failed operation."""
        self._operations.retry(
            http.caller(), op_occ_id, preconditions_from_request()
        )

    @http.endpoint(
        202, rule="vnf_lcm_op_occs:rollback", **vnf_lcm_op_occs.RESUMING_TASK
    )
    def post_rollback(self, op_occ_id: str) -> None:
        """Roll back a failed operation."""
        self._operations.rollback(
            http.caller(), op_occ_id, preconditions_from_request()
        )

    @http.endpoint(200, rule="vnf_lcm_op_occs:fail", **vnf_lcm_op_occs.TASK)
    def post_fail(self, op_occ_id: str) -> VnfLcmOpOccV1:
        """Mark a failed operation as finally failed."""
        op_occ = self._operations.fail(
            http.caller(), op_occ_id, preconditions_from_request()
        )
        return self._conversion()(op_occ)

    def _conversion(self) -> Callable[[VnfLcmOpOcc], VnfLcmOpOccV1]:
        """Return the conversion of the operations of a request, which finds
        each package once.
        """
        find_package = functools.cache(
            functools.partial(self._operations.find_package, http.caller())
        )
        base = http.base_url()

        def convert(op_occ: VnfLcmOpOcc) -> VnfLcmOpOccV1:
            vnfd_id = op_occ.changed_info and op_occ.changed_info.vnfd_id
            package_id = None
            if vnfd_id:
                package_id = find_package(vnfd_id, op_occ.project_id)
            return resources.op_occ(op_occ, base, package_id)

        return convert

    @http.endpoint(202, rule="vnf_lcm_op_occs:cancel", **vnf_lcm_op_occs.TASK)
    def post_cancel(self, op_occ_id: str, body: CancelMode) -> None:
        """Cancel an operation that has not ended."""
        self._operations.cancel(
            http.caller(),
            op_occ_id,
            body.cancel_mode,
            preconditions_from_request(),
        )
