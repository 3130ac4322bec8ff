"""/vnflcm/v2/vnf_instances (SOL003 5.4.2 to 5.4.11)."""

import types
from collections.abc import Mapping
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.api import (
    conditional_requests,
    http,
    links,
    openapi_parameters,
    query,
)
from tacker_cnf.api.conditional_requests import preconditions_from_request
from tacker_cnf.api.routing import Handler
from tacker_cnf.lcm import plan_text
from tacker_cnf.lcm.operations import registry
from tacker_cnf.lcm.operations.base import Operation
from tacker_cnf.lcm.vnf_plan import VnfPlan
from tacker_cnf.services.operations import OperationService
from tacker_cnf.services.plans import PlanService
from tacker_cnf.services.vnf_instances import COMPARABLE, VnfInstanceService
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.lcm_request import (
    CreateVnfRequest,
    VnfInfoModificationRequest,
)
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op

#: attributes that a list leaves out by default (SOL003 5.4.2.3.2)
EXCLUDED_BY_DEFAULT: Final = frozenset(
    {
        "vnf_configurable_properties",
        "vim_connection_info",
        "instantiated_vnf_info",
        "extensions",
        "metadata",
    }
)
_LIST_DEFINITION: Final = query.ListDefinition(
    VnfInstance, EXCLUDED_BY_DEFAULT, COMPARABLE
)
#: errors of a package that is fetched from the NFVO
FETCH_ERRORS: Final = (
    errors.PeerFailed,
    errors.QuotaExceeded,
    errors.InsufficientStorage,
)
#: declaration of a handler that starts a lifecycle operation
_TASK: Final[dict[str, Any]] = {
    "parameters": openapi_parameters.TASK,
    "response_headers": (openapi_parameters.OP_OCC_LOCATION,),
    "error_types": (
        errors.Conflict,
        errors.PreconditionFailed,
        errors.Unprocessable,
        errors.TooManyOperations,
    ),
    "preview": http.Preview(VnfPlan, plan_text.render),
}
#: the same if the request may name a package, which the NFVO may have
_PACKAGE_TASK: Final = _TASK | {
    "error_types": (*_TASK["error_types"], *FETCH_ERRORS)
}


class VnfInstances:
    """The VNF instances, and the tasks that change them."""

    def __init__(
        self,
        instances: VnfInstanceService,
        operations: OperationService,
        plans: PlanService,
    ) -> None:
        self._instances = instances
        self._operations = operations
        self._plans = plans

    @http.endpoint(
        201,
        rule="vnf_instances:create",
        parameters=(openapi_parameters.IDEMPOTENCY_KEY,),
        response_headers=(openapi_parameters.LOCATION,),
        error_types=(errors.Conflict, errors.Unprocessable, *FETCH_ERRORS),
    )
    def post(self, body: CreateVnfRequest) -> VnfInstance:
        """Create a VNF instance."""
        instance = self._instances.create(
            http.caller(), body, preconditions_from_request()
        )
        http.set_location(links.instance(instance.id))
        return _to_response(instance, http.base_url())

    @http.endpoint(
        200,
        rule="vnf_instances:index",
        response=list[VnfInstance],
        **openapi_parameters.PAGES,
    )
    def get_all(self) -> list[dict[str, Any]]:
        """List VNF instances."""
        list_query = query.from_request(_LIST_DEFINITION)
        base = http.base_url()
        with self._instances.find(http.caller(), list_query.db_query) as found:
            return list_query.build_page(
                (position, _to_response(instance, base))
                for position, instance in found
            )

    @http.endpoint(
        200,
        rule="vnf_instances:show",
        response=VnfInstance,
        **openapi_parameters.CONDITIONAL,
    )
    def get(self, instance_id: str) -> Any:
        """Read a VNF instance."""
        return conditional_requests.respond(
            lambda: self._instances.get_tag(http.caller(), instance_id),
            lambda: self._read(instance_id),
        )

    def _read(self, instance_id: str) -> tuple[VnfInstance, str]:
        instance, tag = self._instances.get(http.caller(), instance_id)
        return _to_response(instance, http.base_url()), tag

    @http.endpoint(
        202,
        rule="vnf_instances:update",
        accepts=(http.MERGE_PATCH, http.JSON),
        **_PACKAGE_TASK,
    )
    def patch(
        self, instance_id: str, body: VnfInfoModificationRequest
    ) -> VnfPlan | None:
        """Modify a VNF instance."""
        preconditions = preconditions_from_request()
        authorize_inline_vims(body)
        if http.is_dry_run():
            return self._plans.plan_modification(
                http.caller(), instance_id, body
            )
        op_occ_id = self._operations.modify(
            http.caller(), instance_id, body, preconditions
        )
        http.set_location(links.op_occ(op_occ_id))
        return None

    @http.endpoint(
        204,
        rule="vnf_instances:delete",
        parameters=(openapi_parameters.IF_MATCH,),
        error_types=(errors.Conflict, errors.PreconditionFailed),
    )
    def delete(self, instance_id: str) -> None:
        """Delete a VNF instance that is not instantiated."""
        self._instances.delete(
            http.caller(), instance_id, preconditions_from_request()
        )

    def start_operation(
        self, instance_id: str, op: Op, body: SolType
    ) -> VnfPlan | None:
        """Start an operation, or return its plan if it is a dry run."""
        preconditions = preconditions_from_request()
        authorize_inline_vims(body)
        if http.is_dry_run():
            return self._plans.plan(http.caller(), instance_id, op, body)
        op_occ_id = self._operations.start(
            http.caller(), instance_id, op, body, preconditions
        )
        http.set_location(links.op_occ(op_occ_id))
        return None

    @http.endpoint(
        202,
        rule="vnf_instances:sync",
        parameters=(openapi_parameters.IF_MATCH,),
        error_types=(errors.Conflict, errors.PreconditionFailed),
    )
    def post_sync(self, instance_id: str) -> None:
        """Synchronize a VNF instance with the VIM; an extension of SOL003."""
        self._instances.sync(
            http.caller(), instance_id, preconditions_from_request()
        )

    @property
    def tasks(self) -> Mapping[str, Handler]:
        """The handlers of the tasks that start an operation, by their
        names.
        """
        return {
            task: types.MethodType(handler, self)
            for task, handler in _TASK_HANDLERS.items()
        }


def _task_handler(task: str, operation: Operation[Any]) -> Handler:
    """Build the handler of a task that starts an operation."""

    def post(
        self: VnfInstances, instance_id: str, body: SolType
    ) -> VnfPlan | None:
        return self.start_operation(instance_id, operation.kind, body)

    post.__name__ = f"post_{task}"
    post.__doc__ = operation.summary
    names_package = "vnfd_id" in operation.request_type.__struct_fields__
    return http.endpoint(
        202,
        rule=f"vnf_instances:{task}",
        body=operation.request_type,
        **(_PACKAGE_TASK if names_package else _TASK),
    )(post)


_TASK_HANDLERS: Final = {
    task: _task_handler(task, operation)
    for task, operation in registry.INSTANCE_TASKS.items()
}


def authorize_inline_vims(body: SolType) -> None:
    """Check the policy of naming a VIM by its address or credentials, if a
    request does.

    :raises Forbidden: the policy does not allow the client this request
    """
    connections = getattr(body, "vim_connection_info", None) or {}
    if any(
        connection and (connection.interface_info or connection.access_info)
        for connection in connections.values()
    ):
        http.authorize_also("vims:inline")


def _to_response(instance: VnfInstance, base: str) -> VnfInstance:
    """Return an instance as a response shows it: with its links."""
    return links.with_instance_links(instance, base)
