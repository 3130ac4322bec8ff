"""/vnflcm/v2/vnf_instances (SOL003 5.4.2 to 5.4.11)."""

import datetime
import uuid
from collections.abc import Mapping
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
from tacker_cnf.catalogue.unpacked import PackageSource
from tacker_cnf.db import idempotency, instances, leftovers, packages
from tacker_cnf.db.session import (
    ReferenceError,  # noqa: A004
    Store,
    transaction,
)
from tacker_cnf.lcm import merge, redaction
from tacker_cnf.preconditions import Preconditions
from tacker_cnf.services.operations import OperationService
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import (
    ChangeCurrentVnfPkgRequest,
    ChangeExtVnfConnectivityRequest,
    CreateVnfRequest,
    HealVnfRequest,
    InstantiateVnfRequest,
    ScaleVnfRequest,
    TerminateVnfRequest,
    VnfInfoModificationRequest,
)
from tacker_cnf.sol.vnf_instance import InstantiationState, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op
from tacker_cnf.vims import connection_info
from tacker_cnf.vnfd.model import Vnfd

_LIST_DEFINITION: Final = query.ListDefinition(
    VnfInstance, instances.EXCLUDED_BY_DEFAULT, instances.COLUMNS
)
#: declaration of a handler that starts a lifecycle operation
_TASK: Final[dict[str, Any]] = {
    "parameters": openapi_parameters.TASK,
    "response_headers": (openapi_parameters.OP_OCC_LOCATION,),
    "error_types": (
        errors.Conflict,
        errors.PreconditionFailed,
        errors.Unprocessable,
    ),
}
#: the same if the request may name a package, which the NFVO may have
_PACKAGE_TASK: Final = _TASK | {
    "error_types": (*_TASK["error_types"], errors.PeerFailed)
}


class VnfInstances:
    """The VNF instances, and the tasks that change them."""

    def __init__(
        self,
        store: Store,
        packages: PackageSource,
        operations: OperationService,
    ) -> None:
        self._store = store
        self._idempotent_request = IdempotentRequest(store)
        self._packages = packages
        self._operations = operations

    @http.endpoint(
        201,
        rule=policies.LCM_WRITE,
        parameters=(openapi_parameters.IDEMPOTENCY_KEY,),
        response_headers=(openapi_parameters.LOCATION,),
        error_types=(errors.Conflict, errors.Unprocessable, errors.PeerFailed),
    )
    def post(self, body: CreateVnfRequest) -> VnfInstance:
        """Create a VNF instance."""
        instance_id = self._idempotent_request(
            lambda preconditions: self._create(body, preconditions)
        )
        http.set_location(links.instance(instance_id))
        return self._read(instance_id)[0]

    def _create(
        self, body: CreateVnfRequest, preconditions: Preconditions
    ) -> str:
        instance = _new_instance(
            body, self._packages.unpacked(body.vnfd_id).vnfd
        )
        self._insert(instance, preconditions)
        return instance.id

    @transaction
    def _insert(
        self, instance: VnfInstance, preconditions: Preconditions
    ) -> None:
        now = datetime.datetime.now(datetime.UTC)
        try:
            with self._store.writer() as session:
                idempotency.record(session, preconditions, instance.id)
                packages.check_usable(session, instance.vnfd_id)
                instances.add(session, instance, now)
        except ReferenceError:
            raise errors.VnfdNotUsable(
                f"The VNF package of VNFD {instance.vnfd_id} was just deleted."
            ) from None

    @http.endpoint(
        200,
        rule=policies.LCM_READ,
        response=list[VnfInstance],
        parameters=openapi_parameters.LIST,
        response_headers=(openapi_parameters.LINK,),
    )
    def get_all(self) -> list[dict[str, Any]]:
        """List VNF instances."""
        list_query = query.from_request(_LIST_DEFINITION)
        base = http.base_url()
        with self._store.reader() as session:
            # a list leaves them out unless the client requests them
            includes_vims = (
                "vim_connection_info" in list_query.db_query.attributes
            )
            vims = connection_info.provided(session) if includes_vims else {}
            return list_query.build_page(
                (
                    position,
                    _to_response(instance, vims.get(instance.id, {}), base),
                )
                for position, instance in instances.find(
                    session, list_query.db_query
                )
            )

    @http.endpoint(
        200,
        rule=policies.LCM_READ,
        response=VnfInstance,
        other_statuses=(304,),
        parameters=(openapi_parameters.IF_NONE_MATCH,),
        response_headers=(openapi_parameters.ETAG,),
    )
    def get(self, instance_id: str) -> Any:
        """Read a VNF instance."""
        instance, tag = self._read(instance_id)
        return (
            http.empty_response(304)
            if conditional_requests.is_not_modified(tag)
            else instance
        )

    @transaction
    def _read(self, instance_id: str) -> tuple[VnfInstance, str]:
        with self._store.reader() as session:
            # if the row changes in between, the tag is that of the old one
            tag = instances.etag(session, instance_id)
            instance = instances.get(session, instance_id)
            vims = connection_info.provided(session, instance_id)
        response = _to_response(
            instance, vims.get(instance_id, {}), http.base_url()
        )
        return response, tag

    @http.endpoint(
        202,
        rule=policies.LCM_WRITE,
        accepts=(http.MERGE_PATCH, http.JSON),
        **_PACKAGE_TASK,
    )
    def patch(
        self, instance_id: str, body: VnfInfoModificationRequest
    ) -> None:
        """Modify a VNF instance."""
        op_occ_id = self._idempotent_request(
            lambda preconditions: self._operations.modify(
                instance_id, body, preconditions
            )
        )
        http.set_location(links.op_occ(op_occ_id))

    @http.endpoint(
        204,
        rule=policies.LCM_WRITE,
        parameters=(openapi_parameters.IF_MATCH,),
        error_types=(errors.Conflict, errors.PreconditionFailed),
    )
    def delete(self, instance_id: str) -> None:
        """Delete a VNF instance that is not instantiated."""
        with self._operations.cleanup_on_leftovers(instance_id):
            self._delete(
                instance_id, conditional_requests.preconditions_from_request()
            )

    @transaction
    def _delete(self, instance_id: str, preconditions: Preconditions) -> None:
        with self._store.writer() as session:
            instance = instances.get(session, instance_id)
            instances.check_not_busy(session, instance_id)
            if instance.instantiation_state == InstantiationState.INSTANTIATED:
                raise errors.WrongState(
                    f"VNF instance {instance_id} is INSTANTIATED; "
                    "terminate it first."
                )
            leftovers.check(session, instance_id)
            instances.delete(session, instance_id, preconditions)

    def _start(self, instance_id: str, op: Op, body: SolType) -> None:
        op_occ_id = self._idempotent_request(
            lambda preconditions: self._operations.start(
                instance_id, op, body, preconditions
            )
        )
        http.set_location(links.op_occ(op_occ_id))

    @http.endpoint(
        202,
        rule=policies.LCM_WRITE,
        parameters=(openapi_parameters.IF_MATCH,),
        error_types=(errors.Conflict, errors.PreconditionFailed),
    )
    def post_sync(self, instance_id: str) -> None:
        """Synchronize a VNF instance with the VIM; an extension of SOL003."""
        self._operations.sync(
            instance_id, conditional_requests.preconditions_from_request()
        )

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_instantiate(
        self, instance_id: str, body: InstantiateVnfRequest
    ) -> None:
        """Instantiate a VNF."""
        self._start(instance_id, Op.INSTANTIATE, body)

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_scale(self, instance_id: str, body: ScaleVnfRequest) -> None:
        """Scale a VNF."""
        self._start(instance_id, Op.SCALE, body)

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_heal(self, instance_id: str, body: HealVnfRequest) -> None:
        """Heal a VNF, or VNFCs of it."""
        self._start(instance_id, Op.HEAL, body)

    @http.endpoint(202, rule=policies.LCM_WRITE, **_PACKAGE_TASK)
    def post_change_vnfpkg(
        self, instance_id: str, body: ChangeCurrentVnfPkgRequest
    ) -> None:
        """Change the VNF package of a VNF."""
        self._start(instance_id, Op.CHANGE_VNFPKG, body)

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_change_ext_conn(
        self, instance_id: str, body: ChangeExtVnfConnectivityRequest
    ) -> None:
        """Change the external connectivity of a VNF."""
        self._start(instance_id, Op.CHANGE_EXT_CONN, body)

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_terminate(
        self, instance_id: str, body: TerminateVnfRequest
    ) -> None:
        """Terminate a VNF."""
        self._start(instance_id, Op.TERMINATE, body)


def _new_instance(body: CreateVnfRequest, vnfd: Vnfd) -> VnfInstance:
    """Build an instance with the properties and defaults of its VNFD."""
    return VnfInstance(
        id=str(uuid.uuid4()),
        vnf_instance_name=body.vnf_instance_name,
        vnf_instance_description=body.vnf_instance_description,
        vnfd_id=vnfd.id,
        vnf_provider=vnfd.provider,
        vnf_product_name=vnfd.product_name,
        vnf_software_version=vnfd.software_version,
        vnfd_version=vnfd.descriptor_version,
        instantiation_state=InstantiationState.NOT_INSTANTIATED,
        vnf_configurable_properties=vnfd.configurable_properties,
        extensions=vnfd.extensions,
        metadata=merge.patched(vnfd.metadata, body.metadata),
    )


def _to_response(
    instance: VnfInstance, vims: Mapping[str, VimConnectionInfo], base: str
) -> VnfInstance:
    """Return an instance as a response shows it: with its links and VIMs,
    without secrets.

    :param vims: vimConnectionInfo key -> the VIM that its grants provided
    """
    with_vims = msgspec.structs.replace(
        instance, vim_connection_info={**vims, **instance.vim_connection_info}
    )
    return links.with_instance_links(redaction.instance(with_vims), base)
