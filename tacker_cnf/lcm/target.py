"""The desired state of a VNF instance, to which drivers converge."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm import connectivity
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import ExtManagedVirtualLinkData, ExtVirtualLinkData
from tacker_cnf.sol.lcm_request import (
    ChangeCurrentVnfPkgRequest,
    ChangeExtVnfConnectivityRequest,
    HealVnfRequest,
    InstantiateVnfRequest,
    ScaleType,
    ScaleVnfRequest,
    VnfInfoModificationRequest,
)
from tacker_cnf.sol.vnf_instance import (
    InstantiatedVnfInfo,
    InstantiationState,
    VnfInstance,
)
from tacker_cnf.vnfd import scaling
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


def desired(
    request: SolType,
    current: Target | None,
    vnfd: Vnfd,
    old_vnfd: Vnfd | None = None,
) -> Target | None:
    """Return the state that a request leads to; None: nothing is left.

    :param vnfd: the VNFD after the operation
    :param old_vnfd: the VNFD before it, if another
    :raises UnknownFlavour: instantiate, the VNFD has no such flavour
    :raises UnknownLevel: instantiate, the flavour has no such level
    :raises UnknownAspect: scale, or its level, names an unknown aspect
    :raises ScaleOutOfRange: scale above the maximum or below zero
    :raises InvalidParameters: a connection point does not exist
    """
    if isinstance(request, InstantiateVnfRequest):
        return _instantiated(request, vnfd)
    return _changed(request, current, vnfd, old_vnfd) if current else None


def _changed(
    request: SolType, current: Target, vnfd: Vnfd, old_vnfd: Vnfd | None
) -> Target | None:
    match request:
        case ScaleVnfRequest():
            return _scaled(request, current, vnfd)
        case HealVnfRequest() if not request.vnfc_instance_id:
            return _rebuilt(current, vnfd)
        case ChangeCurrentVnfPkgRequest():
            return _of_package(request, current, vnfd, old_vnfd or vnfd)
        case ChangeExtVnfConnectivityRequest():
            return _connected(request, current, vnfd)
        case HealVnfRequest() | VnfInfoModificationRequest():
            return current
        case _:
            return None


def _of_package(
    request: ChangeCurrentVnfPkgRequest,
    current: Target,
    vnfd: Vnfd,
    old_vnfd: Vnfd,
) -> Target:
    """Return the target of a change of package: the current state, plus the
    aspects, at level 0, and VDUs that only the new package has.
    """
    flavour = flavour_of(vnfd, current.flavour_id)
    old_vdus = flavour_of(old_vnfd, current.flavour_id).vdus
    connectivity.check(request.ext_virtual_links, flavour)
    levels = dict.fromkeys(flavour.aspects, 0) | dict(current.scale_levels)
    new = {
        vdu: count
        for vdu, count in scaling.counts_at(flavour, levels).items()
        if vdu not in old_vdus
    }
    managed = request.ext_managed_virtual_links
    return msgspec.structs.replace(
        current,
        scale_levels=levels,
        counts={**current.counts, **new},
        parameters={**current.parameters, **request.additional_params},
        ext_virtual_links=connectivity.changed(
            current.ext_virtual_links, request.ext_virtual_links
        ),
        ext_managed_virtual_links=managed or current.ext_managed_virtual_links,
    )


def _rebuilt(current: Target, vnfd: Vnfd) -> Target:
    """Return the target of a heal of the whole VNF: its current counts; a VDU
    below its minimum gets the count of its scale levels.
    """
    flavour = flavour_of(vnfd, current.flavour_id)
    levels = current.scale_levels
    smallest = scaling.counts_at(flavour, {})
    counts = {
        vdu: current.counts.get(vdu, 0)
        if current.counts.get(vdu, 0) >= smallest[vdu]
        else count
        for vdu, count in scaling.counts_at(flavour, levels).items()
    }
    return msgspec.structs.replace(
        current, counts={**current.counts, **counts}
    )


def _instantiated(request: InstantiateVnfRequest, vnfd: Vnfd) -> Target:
    flavour = flavour_of(vnfd, request.flavour_id)
    level = request.instantiation_level_id
    return Target(
        flavour_id=flavour.id,
        scale_levels=scaling.scale_levels_of(flavour, level),
        counts=scaling.counts_of_level(flavour, level),
        parameters=request.additional_params,
        localization_language=request.localization_language,
        ext_virtual_links=request.ext_virtual_links,
        ext_managed_virtual_links=request.ext_managed_virtual_links,
    )


def _connected(
    request: ChangeExtVnfConnectivityRequest, current: Target, vnfd: Vnfd
) -> Target:
    links = connectivity.changed(
        current.ext_virtual_links, request.ext_virtual_links
    )
    flavour = flavour_of(vnfd, current.flavour_id)
    connectivity.check(request.ext_virtual_links, flavour)
    return msgspec.structs.replace(current, ext_virtual_links=links)


def _scaled(request: ScaleVnfRequest, current: Target, vnfd: Vnfd) -> Target:
    flavour = flavour_of(vnfd, current.flavour_id)
    out = request.type == ScaleType.SCALE_OUT
    steps = request.number_of_steps if out else -request.number_of_steps
    aspect = request.aspect_id
    level = current.scale_levels.get(aspect, 0)
    changes = scaling.step(flavour, aspect, level, steps)
    counts = Counter(current.counts)
    counts.update(changes)
    for vdu, count in counts.items():
        if count < 0:
            raise errors.ScaleOutOfRange(
                f"VDU {vdu} has {current.counts.get(vdu, 0)} VNFCs, "
                f"{-changes[vdu]} cannot be removed from it."
            )
    return msgspec.structs.replace(
        current,
        counts=counts,
        scale_levels={**current.scale_levels, aspect: level + steps},
    )
