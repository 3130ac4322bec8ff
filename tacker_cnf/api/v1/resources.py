"""Convert resources of version 2 to version 1, with their links."""

from typing import Any, Final

from tacker_cnf.api.v1 import operation_params
from tacker_cnf.lcm.operations import registry
from tacker_cnf.services.vnf_instances import InstanceDetails, default_name
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.common import Link
from tacker_cnf.sol.subscription import LccnSubscription, LccnSubscriptionLinks
from tacker_cnf.sol.v1 import conversion
from tacker_cnf.sol.v1.subscription import LccnSubscriptionV1
from tacker_cnf.sol.v1.vnf_instance import VnfInstanceLinksV1, VnfInstanceV1
from tacker_cnf.sol.v1.vnf_lcm_op_occ import VnfLcmOpOccLinksV1, VnfLcmOpOccV1
from tacker_cnf.sol.vnf_instance import InstantiationState
from tacker_cnf.sol.vnf_lcm_op_occ import ResourceChanges, VnfLcmOpOcc

#: tasks of an instance, by its state
_TASKS: Final = {
    InstantiationState.NOT_INSTANTIATED: ("instantiate",),
    InstantiationState.INSTANTIATED: (
        "terminate",
        "scale",
        "heal",
        "change_ext_conn",
    ),
}
#: metadata of instantiatedVnfInfo that are metadata of the instance here
_INFO_METADATA: Final = ("tenant", "namespace")
_NO_CHANGES: Final = ResourceChanges()


def instance_path(instance_id: str) -> str:
    return f"{Api.LCM_V1.root}/vnf_instances/{instance_id}"


def op_occ_path(op_occ_id: str) -> str:
    return f"{Api.LCM_V1.root}/vnf_lcm_op_occs/{op_occ_id}"


def instance(details: InstanceDetails, base: str) -> VnfInstanceV1:
    """Convert a VNF instance; its resources and VIMs are shown while it is
    instantiated.
    """
    value = details.instance
    state = value.instantiation_state
    is_up = state is InstantiationState.INSTANTIATED
    info = value.instantiated_vnf_info if is_up else None
    of_info: dict[str, Any] = {
        name: info.metadata[name]
        for name in _INFO_METADATA
        if info and name in info.metadata
    }
    self_url = base + instance_path(value.id)
    return VnfInstanceV1(
        id=value.id,
        vnf_instance_name=value.vnf_instance_name or default_name(value.id),
        vnf_instance_description=value.vnf_instance_description,
        vnfd_id=value.vnfd_id,
        vnf_provider=value.vnf_provider,
        vnf_product_name=value.vnf_product_name,
        vnf_software_version=value.vnf_software_version,
        vnfd_version=value.vnfd_version,
        vnf_pkg_id=details.package_id,
        vim_connection_info=conversion.vim_connections(
            value.vim_connection_info
        )
        if is_up
        else (),
        instantiation_state=state,
        instantiated_vnf_info=conversion.instantiated_info(
            info, value.id, details.additional_params
        )
        if info
        else None,
        metadata={**value.metadata, **of_info},
        links=VnfInstanceLinksV1(
            self_=Link(href=self_url),
            **{
                task: Link(href=f"{self_url}/{task}") for task in _TASKS[state]
            },
        ),
    )


def op_occ(
    value: VnfLcmOpOcc, base: str, package_id: str | None = None
) -> VnfLcmOpOccV1:
    """Convert a lifecycle operation.

    :param package_id: of the VNFD that it has changed the instance to
    """
    instance_id, changes = value.vnf_instance_id, value.resource_changes
    self_url = base + op_occ_path(value.id)
    allowed = registry.decisions(value.operation, value.operation_state)
    return VnfLcmOpOccV1(
        id=value.id,
        operation_state=value.operation_state,
        state_entered_time=value.state_entered_time,
        start_time=value.start_time,
        vnf_instance_id=instance_id,
        grant_id=value.grant_id,
        operation=value.operation,
        is_automatic_invocation=value.is_automatic_invocation,
        operation_params=operation_params.convert(value),
        is_cancel_pending=value.is_cancel_pending,
        cancel_mode=value.cancel_mode,
        error=value.error,
        resource_changes=conversion.resource_changes(changes, instance_id)
        if changes and changes != _NO_CHANGES
        else None,
        changed_info=conversion.changed_info(value.changed_info, package_id)
        if value.changed_info
        else None,
        changed_ext_connectivity=conversion.external_links(
            value.changed_ext_connectivity
        ),
        links=VnfLcmOpOccLinksV1(
            self_=Link(href=self_url),
            vnf_instance=Link(href=base + instance_path(instance_id)),
            **{
                registry.TASKS[event]: Link(
                    href=f"{self_url}/{registry.TASKS[event]}"
                )
                for event in allowed
            },
        ),
    )


def subscription(value: LccnSubscription, url: str) -> LccnSubscriptionV1:
    """Convert a subscription.

    :param url: of the subscription
    """
    return LccnSubscriptionV1(
        id=value.id,
        filter=value.filter,
        callback_uri=value.callback_uri,
        links=LccnSubscriptionLinks(self_=Link(href=url)),
    )
