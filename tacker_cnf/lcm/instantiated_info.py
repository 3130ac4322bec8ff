"""Build instantiatedVnfInfo after an operation, from its request and from
what the driver found on the VIM.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf.lcm import vnfc_ids
from tacker_cnf.lcm.change import STOPPED_COUNTS, State
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.connection_point import VnfExtCpInfo
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

#: key in instantiatedVnfInfo.metadata of VNFC counts that match no scale
#: level: aspect -> VDU -> number of VNFCs
UNMATCHED: Final = "unmatched_counts"


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """The resources that a driver found on the VIM after its work."""

    vnfc_resource_info: tuple[VnfcResourceInfo, ...] = ()
    virtual_storage_resource_info: tuple[VirtualStorageResourceInfo, ...] = ()
    vnf_virtual_link_resource_info: tuple[VnfVirtualLinkResourceInfo, ...] = ()
    ext_cp_info: tuple[VnfExtCpInfo, ...] = ()
    ext_virtual_link_info: tuple[ExtVirtualLinkInfo, ...] = ()
    ext_managed_virtual_link_info: tuple[ExtManagedVirtualLinkInfo, ...] = ()
    #: passed to the driver again in later operations
    metadata: Mapping[str, Any] = {}


def build_running_info(
    before: InstantiatedVnfInfo | None,
    state: State,
    flavour: Flavour,
    found: Observed,
    metadata: Mapping[str, Any] = {},
) -> InstantiatedVnfInfo:
    """Build instantiatedVnfInfo of a running instance.

    :param before: the previous one; values that a client set on a VNFC stay
    :param metadata: of the instance; it may set VNFC ids
    """
    info = InstantiatedVnfInfo(
        **msgspec.structs.asdict(found)
        | {"metadata": _metadata(state, found)},
        flavour_id=state.flavour_id,
        vnf_state=state.vnf_state,
        scale_status=_scale_infos(state.scale_levels),
        max_scale_levels=_scale_infos(scaling.max_levels(flavour)),
        localization_language=state.localization_language,
        vnfc_info=vnfc_ids.build_vnfc_info(
            found.vnfc_resource_info,
            before.vnfc_info if before else (),
            metadata,
            state.vnf_state,
        ),
    )
    counts = Counter(vnfc.vdu_id for vnfc in found.vnfc_resource_info)
    unmatched_counts = {
        aspect: scaling.counts_of_aspect(flavour, aspect, counts)
        for aspect in unmatched(before).keys() & flavour.aspects.keys()
        if scaling.level_of(flavour, aspect, counts) is None
    }
    return with_unmatched(info, unmatched_counts)


def _metadata(state: State, found: Observed) -> dict[str, Any]:
    """Return the metadata of the driver, and the size of a STOPPED VNF."""
    metadata = {k: v for k, v in found.metadata.items() if k != STOPPED_COUNTS}
    if state.is_stopped:
        metadata[STOPPED_COUNTS] = dict(state.counts)
    return metadata


def update_resources(
    info: InstantiatedVnfInfo,
    found: Observed,
    metadata: Mapping[str, Any],
) -> InstantiatedVnfInfo:
    """Update the resources in instantiatedVnfInfo, and nothing else.

    :param metadata: of the instance; it may set VNFC ids
    """
    own = {STOPPED_COUNTS, UNMATCHED} & info.metadata.keys()
    kept = {name: info.metadata[name] for name in own}
    return msgspec.structs.replace(
        info,
        **msgspec.structs.asdict(found)
        | {"metadata": {**found.metadata, **kept}},
        vnfc_info=vnfc_ids.build_vnfc_info(
            found.vnfc_resource_info, info.vnfc_info, metadata, info.vnf_state
        ),
    )


def unmatched(before: InstantiatedVnfInfo | None) -> Mapping[str, Any]:
    """Return the counts that match no scale level (see UNMATCHED)."""
    unmatched_counts: Any = before.metadata.get(UNMATCHED) if before else None
    return unmatched_counts or {}


def with_unmatched(
    info: InstantiatedVnfInfo, unmatched_counts: Mapping[str, Any]
) -> InstantiatedVnfInfo:
    """Store the counts that match no scale level; {} removes the entry."""
    metadata = {k: v for k, v in info.metadata.items() if k != UNMATCHED}
    if unmatched_counts:
        metadata[UNMATCHED] = dict(unmatched_counts)
    return msgspec.structs.replace(info, metadata=metadata)


def _scale_infos(levels: Mapping[str, int]) -> tuple[ScaleInfo, ...]:
    return tuple(
        ScaleInfo(aspect_id=aspect, scale_level=level)
        for aspect, level in levels.items()
    )


def set_instantiated(
    instance: VnfInstance,
    info: InstantiatedVnfInfo,
    vim_connections: Mapping[str, VimConnectionInfo],
) -> VnfInstance:
    """Return the instance as running on these VIMs."""
    return msgspec.structs.replace(
        instance,
        vim_connection_info=dict(vim_connections),
        instantiation_state=InstantiationState.INSTANTIATED,
        instantiated_vnf_info=info,
    )


def set_not_instantiated(instance: VnfInstance) -> VnfInstance:
    """Return the instance as having no resources on a VIM."""
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
