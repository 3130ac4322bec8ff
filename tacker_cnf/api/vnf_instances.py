"""/vnflcm/v2/vnf_instances (SOL003 5.4.2 to 5.4.11)."""

import datetime
import uuid
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.api import http, links, once, parameters, policies, query
from tacker_cnf.api.once import Once
from tacker_cnf.catalogue.tree import Trees
from tacker_cnf.db import idempotency, instances, leftovers, packages
from tacker_cnf.db.session import (
    ReferenceError,  # noqa: A004
    Store,
    transaction,
)
from tacker_cnf.intake import Intake
from tacker_cnf.lcm import merge, redaction
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
from tacker_cnf.terms import Terms
from tacker_cnf.vims import connection
from tacker_cnf.vnfd.model import Vnfd

_LISTED: Final = query.Listed(VnfInstance, instances.HEAVY, instances.COLUMNS)
#: what is told of a task that begins a lifecycle operation
_TASK: Final[dict[str, Any]] = {
    "takes": parameters.TASK,
    "tells": (parameters.OP_OCC_LOCATION,),
    "refuses": (
        errors.Conflict,
        errors.PreconditionFailed,
        errors.Unprocessable,
    ),
}
#: and of one that may name another package, which the NFVO may have
_TASK_OF_PACKAGE: Final = _TASK | {
    "refuses": (*_TASK["refuses"], errors.PeerFailed)
}


class VnfInstances:
    """The VNF instances, and the tasks that change them."""

    def __init__(self, store: Store, packages: Trees, intake: Intake) -> None:
        self._store = store
        self._once = Once(store)
        self._packages = packages
        self._intake = intake

    @http.endpoint(
        201,
        rule=policies.LCM_WRITE,
        takes=(parameters.IDEMPOTENCY_KEY,),
        tells=(parameters.LOCATION,),
        refuses=(errors.Conflict, errors.Unprocessable, errors.PeerFailed),
    )
    def post(self, body: CreateVnfRequest) -> VnfInstance:
        """Create a VNF instance."""
        instance_id = self._once(lambda terms: self._create(body, terms))
        http.set_location(links.instance(instance_id))
        return self._read(instance_id)[0]

    def _create(self, body: CreateVnfRequest, terms: Terms) -> str:
        instance = _new(body, self._packages.tree(body.vnfd_id).vnfd)
        self._keep(instance, terms)
        return instance.id

    @transaction
    def _keep(self, instance: VnfInstance, terms: Terms) -> None:
        now = datetime.datetime.now(datetime.UTC)
        try:
            with self._store.writer() as session:
                idempotency.keep(session, terms, instance.id)
                packages.check_usable(session, instance.vnfd_id)
                instances.add(session, instance, now)
        except ReferenceError:
            raise errors.VnfdNotUsable(
                f"The VNF package of VNFD {instance.vnfd_id} was just deleted."
            ) from None

    @http.endpoint(
        200,
        rule=policies.LCM_READ,
        answers=list[VnfInstance],
        takes=parameters.LIST,
        tells=(parameters.LINK,),
    )
    def get_all(self) -> list[dict[str, Any]]:
        """List VNF instances."""
        asked = query.of_request(_LISTED)
        base = http.base_url()
        with self._store.reader() as session:
            # of a list they are left out unless they are asked for
            shows = "vim_connection_info" in asked.wanted.attributes
            vims = connection.provided(session) if shows else {}
            return asked.answer(
                (position, _shown(instance, vims.get(instance.id, {}), base))
                for position, instance in instances.find(session, asked.wanted)
            )

    @http.endpoint(
        200,
        rule=policies.LCM_READ,
        answers=VnfInstance,
        also=(304,),
        takes=(parameters.IF_NONE_MATCH,),
        tells=(parameters.ETAG,),
    )
    def get(self, instance_id: str) -> Any:
        """Read a VNF instance."""
        instance, tag = self._read(instance_id)
        return http.bare(304) if once.is_known(tag) else instance

    @transaction
    def _read(self, instance_id: str) -> tuple[VnfInstance, str]:
        with self._store.reader() as session:
            # should it change in between, the tag is of what was before
            tag = instances.tag(session, instance_id)
            instance = instances.get(session, instance_id)
            vims = connection.provided(session, instance_id)
        shown = _shown(instance, vims.get(instance_id, {}), http.base_url())
        return shown, tag

    @http.endpoint(
        202,
        rule=policies.LCM_WRITE,
        accepts=(http.MERGE_PATCH, http.JSON),
        **_TASK_OF_PACKAGE,
    )
    def patch(
        self, instance_id: str, body: VnfInfoModificationRequest
    ) -> None:
        """Modify a VNF instance."""
        op_occ_id = self._once(
            lambda terms: self._intake.modify(instance_id, body, terms)
        )
        http.set_location(links.op_occ(op_occ_id))

    @http.endpoint(
        204,
        rule=policies.LCM_WRITE,
        takes=(parameters.IF_MATCH,),
        refuses=(errors.Conflict, errors.PreconditionFailed),
    )
    def delete(self, instance_id: str) -> None:
        """Delete a VNF instance that is not instantiated."""
        with self._intake.cleaning(instance_id):
            self._delete(instance_id, once.of_request())

    @transaction
    def _delete(self, instance_id: str, terms: Terms) -> None:
        with self._store.writer() as session:
            instance = instances.get(session, instance_id)
            instances.check_free(session, instance_id)
            if instance.instantiation_state == InstantiationState.INSTANTIATED:
                raise errors.WrongState(
                    f"VNF instance {instance_id} is INSTANTIATED; "
                    "terminate it first."
                )
            leftovers.check(session, instance_id)
            instances.delete(session, instance_id, terms)

    def _start(self, instance_id: str, op: Op, body: SolType) -> None:
        op_occ_id = self._once(
            lambda terms: self._intake.start(instance_id, op, body, terms)
        )
        http.set_location(links.op_occ(op_occ_id))

    @http.endpoint(
        202,
        rule=policies.LCM_WRITE,
        takes=(parameters.IF_MATCH,),
        refuses=(errors.Conflict, errors.PreconditionFailed),
    )
    def post_sync(self, instance_id: str) -> None:
        """Look at what runs on the VIM; an extension of SOL003."""
        self._intake.sync(instance_id, once.of_request())

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

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK_OF_PACKAGE)
    def post_change_vnfpkg(
        self, instance_id: str, body: ChangeCurrentVnfPkgRequest
    ) -> None:
        """Take a VNF to another VNF package."""
        self._start(instance_id, Op.CHANGE_VNFPKG, body)

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_change_ext_conn(
        self, instance_id: str, body: ChangeExtVnfConnectivityRequest
    ) -> None:
        """Connect a VNF to other networks."""
        self._start(instance_id, Op.CHANGE_EXT_CONN, body)

    @http.endpoint(202, rule=policies.LCM_WRITE, **_TASK)
    def post_terminate(
        self, instance_id: str, body: TerminateVnfRequest
    ) -> None:
        """Terminate a VNF."""
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


def _shown(
    instance: VnfInstance, vims: Mapping[str, VimConnectionInfo], base: str
) -> VnfInstance:
    """Show an instance: where it lives, and the VIMs that it provides."""
    whole = msgspec.structs.replace(
        instance, vim_connection_info={**vims, **instance.vim_connection_info}
    )
    return links.with_instance_links(redaction.instance(whole), base)
