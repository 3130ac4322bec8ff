"""Factories of valid values; a test overrides only what it tests."""

import dataclasses
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.db.instances import StoredInstance
from tacker_cnf.drivers.base import InfraTask, TaskContext
from tacker_cnf.lcm import grant_plan
from tacker_cnf.lcm.change import Change, State
from tacker_cnf.lcm.operations.base import Operation
from tacker_cnf.lcm.operations.registry import OPERATIONS
from tacker_cnf.lcm.vnfc_ids import vnfc_id
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import ResourceHandle
from tacker_cnf.sol.grant import GrantRequest
from tacker_cnf.sol.lcm_request import InstantiateVnfRequest
from tacker_cnf.sol.vnf_instance import (
    InstantiatedVnfInfo,
    InstantiationState,
    ScaleInfo,
    VnfcInfo,
    VnfcResourceInfo,
    VnfInstance,
    VnfOperationalState,
)
from tacker_cnf.sol.vnf_lcm_op_occ import (
    LcmOperationStateType,
    LcmOperationType,
    VnfLcmOpOcc,
)
from tacker_cnf.vnfd.model import Aspect, Flavour, Level, Vdu, Vnfd

NOW = datetime.datetime(2026, 11, 20, 12, tzinfo=datetime.UTC)


def a_vnfc(
    name: str = "web-1",
    vdu: str = "web",
    uid: str | None = None,
    connection: str | None = None,
) -> VnfcResourceInfo:
    return VnfcResourceInfo(
        id=name,
        vdu_id=vdu,
        compute_resource=ResourceHandle(
            resource_id=name, vim_connection_id=connection
        ),
        metadata={"uid": uid} if uid else {},
    )


def an_info(
    *vnfcs: VnfcResourceInfo, levels: Mapping[str, int] = {}, **more: Any
) -> InstantiatedVnfInfo:
    """Build the InstantiatedVnfInfo of a VNF with these VNFCs."""
    given: dict[str, Any] = {
        "flavour_id": "simple",
        "vnf_state": VnfOperationalState.STARTED,
        "scale_status": tuple(
            ScaleInfo(aspect_id=aspect, scale_level=level)
            for aspect, level in levels.items()
        ),
        "vnfc_resource_info": vnfcs,
        "vnfc_info": tuple(map(_vnfc_info, vnfcs)),
    }
    return InstantiatedVnfInfo(**given | more)


def _vnfc_info(vnfc: VnfcResourceInfo) -> VnfcInfo:
    return VnfcInfo(
        id=vnfc_id(vnfc),
        vdu_id=vnfc.vdu_id,
        vnfc_resource_info_id=vnfc.id,
        vnfc_state=VnfOperationalState.STARTED,
    )


def an_instance(**overrides: Any) -> VnfInstance:
    given: dict[str, Any] = {
        "id": "an-instance",
        "vnfd_id": "a-vnfd",
        "vnf_provider": "a vendor",
        "vnf_product_name": "a product",
        "vnf_software_version": "1.0",
        "vnfd_version": "2.0",
        "instantiation_state": InstantiationState.NOT_INSTANTIATED,
        "project_id": "a-project",
    }
    return VnfInstance(**given | overrides)


def a_stored_instance(**overrides: Any) -> StoredInstance:
    given: dict[str, Any] = {
        "instance": an_instance(),
        "generation": 0,
        "package_id": "a-package",
        "holder": None,
        "is_free": True,
        "leftovers": None,
        "uses_next_vnfd": False,
        "vims": (),
    }
    return StoredInstance(**given | overrides)


def a_running_instance(
    *vnfcs: VnfcResourceInfo, info: Any = None, **overrides: Any
) -> VnfInstance:
    return an_instance(
        instantiation_state=InstantiationState.INSTANTIATED,
        instantiated_vnf_info=info or an_info(*vnfcs),
        **overrides,
    )


def an_op_occ(
    op: LcmOperationType = LcmOperationType.INSTANTIATE, **overrides: Any
) -> VnfLcmOpOcc:
    given: dict[str, Any] = {
        "id": "an-op-occ",
        "operation_state": LcmOperationStateType.STARTING,
        "state_entered_time": NOW,
        "start_time": NOW,
        "vnf_instance_id": "an-instance",
        "operation": op,
        "is_automatic_invocation": False,
        "operation_params": {},
        "is_cancel_pending": False,
        "project_id": "a-project",
    }
    return VnfLcmOpOcc(**given | overrides)


def a_flavour(**overrides: Any) -> Flavour:
    """Build a flavour with ``web``, scaled by one, and one ``agent``."""
    web = Aspect(
        id="web_aspect",
        name="web",
        max_scale_level=3,
        step_deltas=("one",),
        deltas={"web": {"one": 1}},
    )
    given: dict[str, Any] = {
        "id": "simple",
        "vdus": {"web": a_vdu("web"), "agent": a_vdu("agent")},
        "aspects": {"web_aspect": web},
        "levels": {
            "quiet": Level(id="quiet", counts={"web": 1}),
            "busy": Level(
                id="busy",
                counts={"web": 3},
                scale_levels={"web_aspect": 2},
            ),
        },
        "default_level": "quiet",
    }
    return Flavour(**given | overrides)


def a_vdu(name: str) -> Vdu:
    return Vdu(id=name, name=name, min_instances=1, max_instances=9)


def a_vnfd(*flavours: Flavour) -> Vnfd:
    return Vnfd(
        id="a-vnfd",
        provider="a vendor",
        product_name="a product",
        software_version="1.0",
        descriptor_version="2.0",
        flavours={f.id: f for f in flavours or [a_flavour()]},
    )


def a_state(**overrides: Any) -> State:
    given: dict[str, Any] = {
        "flavour_id": "simple",
        "scale_levels": {"web_aspect": 0},
        "counts": {"web": 1, "agent": 1},
        "parameters": {},
    }
    return State(**given | overrides)


def a_grant_request() -> GrantRequest:
    """Build a grant request of an instantiation."""
    return grant_plan.build(
        an_op_occ(),
        InstantiateVnfRequest(flavour_id="simple"),
        an_instance(),
        None,
        a_state(),
        a_flavour(),
    )


def a_task(
    tree: Path = Path("/nowhere"),
    vnfd: Vnfd | None = None,
    **overrides: Any,
) -> InfraTask:
    """Build a driver's task with the package unpacked at ``tree``.

    :param overrides: fields of the task, or of its change
    """
    change: dict[str, Any] = {"current": None, "desired": a_state()}
    for name in Change.__struct_fields__:
        if name in overrides:
            change[name] = overrides.pop(name)
    given: dict[str, Any] = {
        "instance": an_instance(),
        "package": UnpackedPackage(
            content_id=str(tree), path=tree, vnfd=vnfd or a_vnfd()
        ),
        "change": Change(**change),
        "vim_connections": {},
    }
    return InfraTask(**given | overrides)


def with_change(task: InfraTask, **fields: Any) -> InfraTask:
    """Return a task with another change, from the desired state of a task."""
    state = task.change.desired
    change = Change(**{"current": state, "desired": state} | fields)
    return dataclasses.replace(task, change=change)


def a_context(**overrides: Any) -> TaskContext:
    return TaskContext(**{"deadline": Deadline.within(600)} | overrides)


def operation_of(request: SolType) -> Operation[Any]:
    """Return the operation that has requests of this type."""
    (found,) = (
        operation
        for operation in OPERATIONS.values()
        if operation.request_type is type(request)
    )
    return found


def desired_state(
    request: SolType,
    current: State | None,
    vnfd: Vnfd,
    old_vnfd: Vnfd | None = None,
) -> State | None:
    """Return the state that a request leads to."""
    return operation_of(request).desired(request, current, vnfd, old_vnfd)
