"""What a VNF instance is after an operation: the request's and the VIM's
answer put together into instantiatedVnfInfo.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf.lcm import masked_patch, vnfc_ids
from tacker_cnf.lcm.target import Target
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.connection_point import VnfExtCpInfo
from tacker_cnf.sol.lcm_request import InstantiateVnfRequest
from tacker_cnf.sol.virtual_link import (
    ExtManagedVirtualLinkInfo,
    ExtVirtualLinkInfo,
    VnfVirtualLinkResourceInfo,
)
from tacker_cnf.sol.vnf_instance import (
    InstantiatedVnfInfo,
    InstantiationState,
    ScaleInfo,
    VirtualStorageResourceInfo,
    VnfcResourceInfo,
    VnfInstance,
    VnfOperationalState,
)
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.model import Flavour

#: where instantiatedVnfInfo.metadata tells what is of no scale level:
#: aspect -> VDU -> number of VNFCs
UNMATCHED: Final = "unmatched_counts"


class InfraResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a driver found on the VIM when it had done its work."""

    vnfc_resource_info: tuple[VnfcResourceInfo, ...] = ()
    virtual_storage_resource_info: tuple[VirtualStorageResourceInfo, ...] = ()
    vnf_virtual_link_resource_info: tuple[VnfVirtualLinkResourceInfo, ...] = ()
    ext_cp_info: tuple[VnfExtCpInfo, ...] = ()
    ext_virtual_link_info: tuple[ExtVirtualLinkInfo, ...] = ()
    ext_managed_virtual_link_info: tuple[ExtManagedVirtualLinkInfo, ...] = ()
    #: what the driver wants to be told again in later operations
    metadata: Mapping[str, Any] = {}


def build_running_info(
    before: InstantiatedVnfInfo | None,
    target: Target,
    flavour: Flavour,
    found: InfraResult,
    metadata: Mapping[str, Any] = {},
) -> InstantiatedVnfInfo:
    """Describe a running instance.

    :param before: what was known of it; what a client set on a VNFC stays
    :param metadata: of the instance, which may give VNFCs their ids
    """
    info = InstantiatedVnfInfo(
        **msgspec.structs.asdict(found),
        flavour_id=target.flavour_id,
        vnf_state=VnfOperationalState.STARTED,
        scale_status=_scale_infos(target.scale_levels),
        max_scale_levels=_scale_infos(scaling.max_levels(flavour)),
        localization_language=target.localization_language,
        vnfc_info=vnfc_ids.build_vnfc_info(
            found.vnfc_resource_info,
            before.vnfc_info if before else (),
            metadata,
        ),
    )
    counts = Counter(vnfc.vdu_id for vnfc in found.vnfc_resource_info)
    unmatched_counts = {
        aspect: scaling.counts_of_aspect(flavour, aspect, counts)
        for aspect in unmatched(before).keys() & flavour.aspects.keys()
        if scaling.level_of(flavour, aspect, counts) is None
    }
    return with_unmatched(info, unmatched_counts)


def update_resources(
    info: InstantiatedVnfInfo,
    found: InfraResult,
    metadata: Mapping[str, Any],
) -> InstantiatedVnfInfo:
    """Describe a running instance of which only its resources changed.

    :param metadata: of the instance, which may give VNFCs their ids
    """
    new = msgspec.structs.replace(
        info,
        **msgspec.structs.asdict(found),
        vnfc_info=vnfc_ids.build_vnfc_info(
            found.vnfc_resource_info, info.vnfc_info, metadata
        ),
    )
    return with_unmatched(new, unmatched(info))


def unmatched(before: InstantiatedVnfInfo | None) -> Mapping[str, Any]:
    """Tell what was found to be of no scale level."""
    unmatched_counts: Any = before.metadata.get(UNMATCHED) if before else None
    return unmatched_counts or {}


def with_unmatched(
    info: InstantiatedVnfInfo, unmatched_counts: Mapping[str, Any]
) -> InstantiatedVnfInfo:
    """Tell what is of no scale level; nothing, if all is of one."""
    metadata = {k: v for k, v in info.metadata.items() if k != UNMATCHED}
    if unmatched_counts:
        metadata[UNMATCHED] = dict(unmatched_counts)
    return msgspec.structs.replace(info, metadata=metadata)


def _scale_infos(levels: Mapping[str, int]) -> tuple[ScaleInfo, ...]:
    return tuple(
        ScaleInfo(aspect_id=aspect, scale_level=level)
        for aspect, level in levels.items()
    )


def apply_request(
    instance: VnfInstance, request: InstantiateVnfRequest
) -> VnfInstance:
    """Put into an instance what its instantiation changes of its own
    attributes (SOL003 5.5.2.4).
    """
    return msgspec.structs.replace(
        instance,
        extensions=masked_patch.patched(
            instance.extensions, request.extensions
        ),
        vnf_configurable_properties=masked_patch.patched(
            instance.vnf_configurable_properties,
            request.vnf_configurable_properties,
        ),
    )


def set_instantiated(
    instance: VnfInstance,
    info: InstantiatedVnfInfo,
    vim_connections: Mapping[str, VimConnectionInfo],
) -> VnfInstance:
    """Make an instance that runs on these VIMs."""
    return msgspec.structs.replace(
        instance,
        vim_connection_info=dict(vim_connections),
        instantiation_state=InstantiationState.INSTANTIATED,
        instantiated_vnf_info=info,
    )


def set_not_instantiated(instance: VnfInstance) -> VnfInstance:
    """Make an instance that has nothing on a VIM any more."""
    info = instance.instantiated_vnf_info
    left = info and InstantiatedVnfInfo(
        flavour_id=info.flavour_id,
        vnf_state=VnfOperationalState.STOPPED,
    )
    return msgspec.structs.replace(
        instance,
        instantiation_state=InstantiationState.NOT_INSTANTIATED,
        instantiated_vnf_info=left,
        vim_connection_info={},
    )
