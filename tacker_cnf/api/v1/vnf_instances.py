"""/vnflcm/v1/vnf_instances (SOL003 v2.6.1, 5.4.2 to 5.4.11)."""

from collections.abc import Mapping
from typing import Any, Final

import pecan

from tacker_cnf import errors
from tacker_cnf.api import (
    conditional_requests,
    http,
    openapi_parameters,
    query,
    vnf_instances,
)
from tacker_cnf.api.conditional_requests import preconditions_from_request
from tacker_cnf.api.routing import Handler
from tacker_cnf.api.v1 import requests, resources
from tacker_cnf.services.operations import OperationService
from tacker_cnf.services.vnf_instances import COMPARABLE, VnfInstanceService
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.v1.conversion import vnfc_id
from tacker_cnf.sol.v1.lcm_request import (
    ChangeExtVnfConnectivityRequestV1,
    CreateVnfRequestV1,
    HealVnfRequestV1,
    InstantiateVnfRequestV1,
    ScaleVnfRequestV1,
    TerminateVnfRequestV1,
    VnfInfoModificationRequestV1,
)
from tacker_cnf.sol.v1.vnf_instance import VnfInstanceV1
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op

#: the database has no name for an instance that shows the default one
_LIST_DEFINITION: Final = query.ListDefinition(
    VnfInstanceV1,
    frozenset(),
    COMPARABLE - {"vnf_instance_name"},
    has_selectors=False,
)
#: the query of a list; all_records does not change the pages
_QUERY: Final = frozenset(
    {query.FILTER, openapi_parameters.MARKER.name, "all_records"}
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
}


class VnfInstancesV1:
    """The VNF instances in version 1, and the tasks that change them."""

    def __init__(
        self, instances: VnfInstanceService, operations: OperationService
    ) -> None:
        self._instances = instances
        self._operations = operations

    @http.endpoint(
        201,
        rule="vnf_instances:create",
        parameters=(openapi_parameters.IDEMPOTENCY_KEY,),
        response_headers=(openapi_parameters.LOCATION,),
        error_types=(
            errors.NotFound,
            errors.Conflict,
            errors.Unprocessable,
            *vnf_instances.FETCH_ERRORS,
        ),
    )
    def post(self, body: CreateVnfRequestV1) -> VnfInstanceV1:
        """Create a VNF instance."""
        try:
            instance = self._instances.create(
                http.caller(),
                requests.create(body),
                preconditions_from_request(),
                named_by_id=True,
            )
        except errors.UnknownVnfd as error:
            raise errors.NotFound(str(error)) from None
        http.set_location(resources.instance_path(instance.id))
        return self._read(instance.id)[0]

    @http.endpoint(
        200,
        rule="vnf_instances:index",
        response=list[VnfInstanceV1],
        parameters=(
            openapi_parameters.FILTER,
            openapi_parameters.MARKER,
            openapi_parameters.ALL_RECORDS,
        ),
        response_headers=(openapi_parameters.LINK,),
    )
    def get_all(self) -> list[dict[str, Any]]:
        """List VNF instances."""
        if unknown := sorted(set(pecan.request.GET) - _QUERY):
            raise errors.BadRequest(
                f"Query: parameter {unknown[0]} is unknown; this list has "
                f"{', '.join(sorted(_QUERY))}."
            )
        list_query = query.from_request(_LIST_DEFINITION)
        base = http.base_url()
        with self._instances.find_details(
            http.caller(), list_query.db_query
        ) as found:
            return list_query.build_page(
                (position, resources.instance(details, base))
                for position, details in found
            )

    @http.endpoint(
        200,
        rule="vnf_instances:show",
        response=VnfInstanceV1,
        **openapi_parameters.CONDITIONAL,
    )
    def get(self, instance_id: str) -> Any:
        """Read a VNF instance."""
        return conditional_requests.respond(
            lambda: self._instances.get_tag(http.caller(), instance_id),
            lambda: self._read(instance_id),
        )

    @http.endpoint(
        202,
        rule="vnf_instances:update",
        accepts=(http.MERGE_PATCH, http.JSON),
        **_TASK
        | {
            "error_types": (
                *_TASK["error_types"],
                *vnf_instances.FETCH_ERRORS,
            )
        },
    )
    def patch(
        self, instance_id: str, body: VnfInfoModificationRequestV1
    ) -> None:
        """Modify a VNF instance."""
        vnfd_id = body.vnfd_id
        try:
            if body.vnf_pkg_id and not vnfd_id:
                vnfd_id = self._instances.get_vnfd_id(
                    http.caller(), body.vnf_pkg_id
                )
            if vnfd_id:
                self._check_package_change(instance_id, vnfd_id)
            request = requests.modify(body, vnfd_id)
            vnf_instances.authorize_inline_vims(request)
            op_occ_id = self._operations.modify(
                http.caller(),
                instance_id,
                request,
                preconditions_from_request(),
            )
        except errors.UnknownVnfd as error:
            raise errors.BadRequest(str(error)) from None
        http.set_location(resources.op_occ_path(op_occ_id))

    def _check_package_change(self, instance_id: str, vnfd_id: str) -> None:
        """Check that a modification of the VNFD has the effect that version 1
        gives it: the next heal applies the new package.

        :raises WrongState: the resources of the VNF would stay as they are
        """
        instance = self._instance(instance_id)
        driver = self._instances.driver_of(instance)
        if vnfd_id != instance.vnfd_id and driver and driver.heals_storage:
            raise errors.WrongState(
                f"vnfdId: VNF instance {instance_id} is INSTANTIATED, and a "
                "heal would create its resources by its present VNFD "
                f"{instance.vnfd_id} again. Change the package by version 2: "
                "POST /vnflcm/v2/vnf_instances/.../change_vnfpkg."
            )

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

    @http.endpoint(202, rule="vnf_instances:instantiate", **_TASK)
    def post_instantiate(
        self, instance_id: str, body: InstantiateVnfRequestV1
    ) -> None:
        """Instantiate a VNF."""
        self._start(instance_id, Op.INSTANTIATE, requests.instantiate(body))

    @http.endpoint(202, rule="vnf_instances:scale", **_TASK)
    def post_scale(self, instance_id: str, body: ScaleVnfRequestV1) -> None:
        """Scale a VNF."""
        instance = self._instance(instance_id)
        driver = self._instances.driver_of(instance)
        request = requests.scale(
            body, removes_newest=driver is None or driver.removes_newest
        )
        try:
            self._start(instance_id, Op.SCALE, request)
        except errors.UnknownAspect as error:
            info = instance.instantiated_vnf_info
            if info and info.scale_status:
                raise
            raise errors.WrongState(str(error)) from None

    @http.endpoint(202, rule="vnf_instances:terminate", **_TASK)
    def post_terminate(
        self, instance_id: str, body: TerminateVnfRequestV1
    ) -> None:
        """Terminate a VNF."""
        self._start(instance_id, Op.TERMINATE, requests.terminate(body))

    @http.endpoint(202, rule="vnf_instances:heal", **_TASK)
    def post_heal(self, instance_id: str, body: HealVnfRequestV1) -> None:
        """Heal a VNF, or VNFCs of it."""
        instance = self._instance(instance_id)
        driver = self._instances.driver_of(instance)
        request = requests.heal(
            body,
            instance,
            heals_storage=driver is not None and driver.heals_storage,
        )
        try:
            self._start(instance_id, Op.HEAL, request)
        except errors.UnknownVnfc:
            raise _unknown_vnfc(body, instance) from None

    @http.endpoint(202, rule="vnf_instances:change_ext_conn", **_TASK)
    def post_change_ext_conn(
        self, instance_id: str, body: ChangeExtVnfConnectivityRequestV1
    ) -> None:
        """Change the external connectivity of a VNF."""
        request = requests.change_ext_conn(body)
        self._start(instance_id, Op.CHANGE_EXT_CONN, request)

    @property
    def tasks(self) -> Mapping[str, Handler]:
        """The handlers of the tasks that start an operation, by their
        names.
        """
        return {
            "instantiate": self.post_instantiate,
            "scale": self.post_scale,
            "terminate": self.post_terminate,
            "heal": self.post_heal,
            "change_ext_conn": self.post_change_ext_conn,
        }

    def _start(self, instance_id: str, op: Op, request: SolType) -> None:
        """Start an operation."""
        vnf_instances.authorize_inline_vims(request)
        op_occ_id = self._operations.start(
            http.caller(),
            instance_id,
            op,
            request,
            preconditions_from_request(),
        )
        http.set_location(resources.op_occ_path(op_occ_id))

    def _instance(self, instance_id: str) -> VnfInstance:
        return self._instances.get(http.caller(), instance_id)[0]

    def _read(self, instance_id: str) -> tuple[VnfInstanceV1, str]:
        details, tag = self._instances.get_details(http.caller(), instance_id)
        return resources.instance(details, http.base_url()), tag


def _unknown_vnfc(
    request: HealVnfRequestV1, instance: VnfInstance
) -> errors.UnknownVnfc:
    """Return the error about VNFCs that an instance does not have, with the
    ids of version 1.
    """
    info = instance.instantiated_vnf_info
    known = {
        vnfc.id: vnfc_id(instance.id, vnfc.id)
        for vnfc in (info.vnfc_resource_info if info else ())
    }
    unknown = [
        name
        for name in requests.vnfc_names(request)
        if name not in {*known, *known.values()}
    ]
    return errors.UnknownVnfc(
        f"vnfcInstanceId: VNF instance {instance.id} has no VNFC "
        f"{', '.join(unknown)}; it has {', '.join(known.values()) or 'none'}."
    )
