"""/vnflcm/v2/vnf_instances (SOL003 5.4.2 to 5.4.11)."""

import datetime
import uuid
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.api import http, links, policies, query, redaction
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.db import instances, packages
from tacker_cnf.db.session import (
    ReferenceError,  # noqa: A004
    Store,
    transaction,
)
from tacker_cnf.intake import Intake
from tacker_cnf.lcm import merge
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
from tacker_cnf.vnfd.model import Vnfd

_LISTED: Final = query.Listed(VnfInstance, instances.HEAVY, instances.COLUMNS)


class VnfInstances:
    """The VNF instances, and the tasks that change them."""

    def __init__(
        self, store: Store, catalogue: Packages, intake: Intake
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._intake = intake

    @http.endpoint(201)
    def post(self, body: CreateVnfRequest) -> VnfInstance:
        http.authorized(policies.LCM_WRITE)
        instance = _new(body, self._catalogue.tree(body.vnfd_id).vnfd)
        self._keep(instance)
        http.set_location(links.instance(instance.id))
        return links.with_instance_links(instance, http.base_url())

    @transaction
    def _keep(self, instance: VnfInstance) -> None:
        now = datetime.datetime.now(datetime.UTC)
        try:
            with self._store.writer() as session:
                packages.check_usable(session, instance.vnfd_id)
                instances.add(session, instance, now)
        except ReferenceError:
            raise errors.VnfdNotUsable(
                f"The VNF package of VNFD {instance.vnfd_id} was just deleted."
            ) from None

    @http.endpoint(200)
    def get_all(self) -> list[dict[str, Any]]:
        http.authorized(policies.LCM_READ)
        asked = query.of_request(_LISTED)
        base = http.base_url()
        with self._store.reader() as session:
            return asked.answer(
                (position, _shown(instance, base))
                for position, instance in instances.find(session, asked.wanted)
            )

    @http.endpoint(200)
    def get(self, instance_id: str) -> VnfInstance:
        http.authorized(policies.LCM_READ)
        with self._store.reader() as session:
            instance = instances.get(session, instance_id)
        return _shown(instance, http.base_url())

    @http.endpoint(204)
    def delete(self, instance_id: str) -> None:
        http.authorized(policies.LCM_WRITE)
        self._delete(instance_id)

    @transaction
    def _delete(self, instance_id: str) -> None:
        with self._store.writer() as session:
            instance = instances.get(session, instance_id)
            instances.check_free(session, instance_id)
            if instance.instantiation_state == InstantiationState.INSTANTIATED:
                raise errors.WrongState(
                    f"VNF instance {instance_id} is INSTANTIATED; "
                    "terminate it first."
                )
            instances.delete(session, instance_id)

    def _start(self, instance_id: str, op: Op, body: SolType) -> None:
        http.authorized(policies.LCM_WRITE)
        op_occ_id = self._intake.start(instance_id, op, body)
        http.set_location(links.op_occ(op_occ_id))

    @http.endpoint(202)
    def post_sync(self, instance_id: str) -> None:
        http.authorized(policies.LCM_WRITE)
        self._intake.sync(instance_id)

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


def _new(body: CreateVnfRequest, vnfd: Vnfd) -> VnfInstance:
    """Make an instance with what its VNFD says of it, and its defaults."""
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


def _shown(instance: VnfInstance, base: str) -> VnfInstance:
    return links.with_instance_links(redaction.instance(instance), base)
