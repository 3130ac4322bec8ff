"""The desired state of a VNF instance, to which drivers converge."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm import connectivity
from tacker_cnf.sol.common import ExtManagedVirtualLinkData, ExtVirtualLinkData
from tacker_cnf.sol.vnf_instance import (
    InstantiatedVnfInfo,
    InstantiationState,
    VnfInstance,
)
from tacker_cnf.vnfd.model import Flavour, Vnfd


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The composition of a VNF instance at one point of its life."""

    flavour_id: str
    #: aspect -> scale level
    scale_levels: Mapping[str, int]
    #: VDU -> number of VNFCs
    counts: Mapping[str, int]
    #: additionalParams of the instantiation, which the driver keeps
    parameters: Mapping[str, Any]
    localization_language: str | None = None
    ext_virtual_links: tuple[ExtVirtualLinkData, ...] = ()
    ext_managed_virtual_links: tuple[ExtManagedVirtualLinkData, ...] = ()


def flavour_of(vnfd: Vnfd, flavour_id: str) -> Flavour:
    """Return a deployment flavour.

    :raises UnknownFlavour: the VNFD has no such flavour
    """
    try:
        return vnfd.flavours[flavour_id]
    except KeyError:
        flavour_ids = ", ".join(sorted(vnfd.flavours))
        raise errors.UnknownFlavour(
            f"flavourId: VNFD {vnfd.id} has no flavour {flavour_id!r}, "
            f"only {flavour_ids}."
        ) from None


def of_instance(instance: VnfInstance) -> Target | None:
    """Return the current state; None when it is not instantiated."""
    info = instance.instantiated_vnf_info
    if instance.instantiation_state != InstantiationState.INSTANTIATED:
        return None
    return _of_info(info) if info else None


def _of_info(info: InstantiatedVnfInfo) -> Target:
    return Target(
        flavour_id=info.flavour_id,
        scale_levels={
            scale.aspect_id: scale.scale_level for scale in info.scale_status
        },
        counts=Counter(vnfc.vdu_id for vnfc in info.vnfc_resource_info),
        parameters=info.metadata,
        localization_language=info.localization_language,
        ext_virtual_links=tuple(
            map(connectivity.of_external, info.ext_virtual_link_info)
        ),
        ext_managed_virtual_links=tuple(
            map(connectivity.of_managed, info.ext_managed_virtual_link_info)
        ),
    )
