"""Check whether a running VNF can change to another VNFD."""

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm.change import counts_of
from tacker_cnf.sol.vnf_instance import InstantiatedVnfInfo, ScaleInfo
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.model import Flavour, Vnfd


def apply_vnfd(info: InstantiatedVnfInfo, vnfd: Vnfd) -> InstantiatedVnfInfo:
    """Apply another VNFD to the info of a running VNF.

    :raises IncompatibleVnfd: the VNFD lacks an element that the VNF uses
    """
    flavour = vnfd.flavours.get(info.flavour_id)
    if flavour is None:
        raise _incompatible(
            vnfd,
            f"has no flavour {info.flavour_id!r}, which the VNF instance is "
            f"of, only {', '.join(sorted(vnfd.flavours))}",
        )
    _check_vdus(info, flavour, vnfd)
    _check_levels(info, flavour, vnfd)
    return msgspec.structs.replace(
        info,
        max_scale_levels=tuple(
            ScaleInfo(aspect_id=aspect, scale_level=level)
            for aspect, level in scaling.max_levels(flavour).items()
        ),
    )


def _check_vdus(
    info: InstantiatedVnfInfo, flavour: Flavour, vnfd: Vnfd
) -> None:
    used = {vdu for vdu, count in counts_of(info).items() if count}
    if missing := sorted(used - flavour.vdus.keys()):
        raise _incompatible(
            vnfd,
            f"has no VDU {', '.join(missing)} in flavour {flavour.id!r}, and "
            "the VNF instance has VNFCs of it",
        )


def _check_levels(
    info: InstantiatedVnfInfo, flavour: Flavour, vnfd: Vnfd
) -> None:
    largest = scaling.max_levels(flavour)
    for scale in info.scale_status:
        aspect, level = scale.aspect_id, scale.scale_level
        if aspect not in largest:
            raise _incompatible(
                vnfd,
                f"has no aspect {aspect} in flavour {flavour.id!r}, by which "
                "the VNF instance is scaled",
            )
        if level > largest[aspect]:
            raise _incompatible(
                vnfd,
                f"scales {aspect} to level {largest[aspect]} at most, and "
                f"the VNF is at level {level}: scale it in first",
            )


def _incompatible(vnfd: Vnfd, why: str) -> errors.IncompatibleVnfd:
    return errors.IncompatibleVnfd(f"vnfdId: VNFD {vnfd.id} {why}.")
