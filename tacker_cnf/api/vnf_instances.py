"""/vnflcm/v2/vnf_instances (SOL003 5.4.2 to 5.4.11)."""

import datetime
import uuid

from tacker_cnf import errors
from tacker_cnf.api import http, links, policies, redaction
from tacker_cnf.db import instances, packages
from tacker_cnf.db.session import (
    ReferenceError,  # noqa: A004
    Store,
    transaction,
)
from tacker_cnf.intake import Intake
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.lcm_request import (
    CreateVnfRequest,
    HealVnfRequest,
    InstantiateVnfRequest,
    ScaleVnfRequest,
    TerminateVnfRequest,
)
from tacker_cnf.sol.vnf_instance import InstantiationState, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType as Op


class VnfInstances:
    """The VNF instances, and the tasks that change them."""

    def __init__(self, store: Store, intake: Intake) -> None:
        self._store = store
        self._intake = intake

    @http.endpoint(201)
    def post(self, body: CreateVnfRequest) -> VnfInstance:
        http.authorized(policies.LCM_WRITE)
        instance = self._create(body)
        http.set_location(links.instance(instance.id))
        return links.with_instance_links(instance, http.base_url())

    @transaction
    def _create(self, body: CreateVnfRequest) -> VnfInstance:
        try:
            with self._store.writer() as session:
                package = packages.usable(session, body.vnfd_id)
                instance = VnfInstance(
                    id=str(uuid.uuid4()),
                    vnf_instance_name=body.vnf_instance_name,
                    vnf_instance_description=body.vnf_instance_description,
                    vnfd_id=body.vnfd_id,
                    vnf_provider=package.vnf_provider or "",
                    vnf_product_name=package.vnf_product_name or "",
                    vnf_software_version=package.vnf_software_version or "",
                    vnfd_version=package.vnfd_version or "",
                    instantiation_state=InstantiationState.NOT_INSTANTIATED,
                    metadata=body.metadata,
                )
                now = datetime.datetime.now(datetime.UTC)
                instances.add(session, instance, now)
        except ReferenceError:
            raise errors.VnfdNotUsable(
                f"The VNF package of VNFD {body.vnfd_id} was just deleted."
            ) from None
        return instance

    @http.endpoint(200)
    def get_all(self) -> list[VnfInstance]:
        http.authorized(policies.LCM_READ)
        base = http.base_url()
        with self._store.reader() as session:
            return [
                links.with_instance_links(instance, base)
                for instance in instances.find(session)
            ]

    @http.endpoint(200)
    def get(self, instance_id: str) -> VnfInstance:
        http.authorized(policies.LCM_READ)
        with self._store.reader() as session:
            instance = redaction.instance(instances.get(session, instance_id))
        return links.with_instance_links(instance, http.base_url())

    @http.endpoint(204)
    def delete(self, instance_id: str) -> None:
        http.authorized(policies.LCM_WRITE)
        self._delete(instance_id)

    @transaction
    def _delete(self, instance_id: str) -> None:
        with self._store.writer() as session:
            instance = instances.get(session, instance_id)
            if instance.instantiation_state == InstantiationState.INSTANTIATED:
                raise errors.WrongState(
                    f"VNF instance {instance_id} is INSTANTIATED; "
                    "terminate it first."
                )
            instances.check_free(session, instance_id)
            instances.delete(session, instance_id)

    def _start(self, instance_id: str, op: Op, body: SolType) -> None:
        http.authorized(policies.LCM_WRITE)
        op_occ_id = self._intake.start(instance_id, op, body)
        http.set_location(links.op_occ(op_occ_id))

    @http.endpoint(202)
    def post_instantiate(
        self, instance_id: str, body: InstantiateVnfRequest
    ) -> None:
        self._start(instance_id, Op.INSTANTIATE, body)

    @http.endpoint(202)
    def post_scale(self, instance_id: str, body: ScaleVnfRequest) -> None:
        self._start(instance_id, Op.SCALE, body)

    @http.endpoint(202)
    def post_heal(self, instance_id: str, body: HealVnfRequest) -> None:
        self._start(instance_id, Op.HEAL, body)

    @http.endpoint(202)
    def post_terminate(
        self, instance_id: str, body: TerminateVnfRequest
    ) -> None:
        self._start(instance_id, Op.TERMINATE, body)
