"""Scale a VNF to a level (SOL003 5.4.6)."""

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm.change import State, flavour_of
from tacker_cnf.lcm.operations.base import Operation
from tacker_cnf.sol.lcm_request import ScaleVnfToLevelRequest
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.model import Vnfd


class ScaleToLevel(Operation[ScaleVnfToLevelRequest]):
    """The VNF gets the VNFCs of a level, more or fewer than it has."""

    kind = LcmOperationType.SCALE_TO_LEVEL
    summary = "Scale a VNF to a level."
    request_type = ScaleVnfToLevelRequest
    hook = "scale_to_level"

    def changed(
        self,
        request: ScaleVnfToLevelRequest,
        current: State,
        vnfd: Vnfd,
        old_vnfd: Vnfd,
    ) -> State:
        """Return the current state at an instantiation level, or with other
        scale levels of some aspects; the others stay as they are.

        :raises UnknownLevel: the flavour has no such level
        :raises UnknownAspect: the flavour has no such aspect
        :raises ScaleOutOfRange: a scale level is above the maximum
        :raises InvalidParameters: a scale level is that of another VNFD
        """
        flavour = flavour_of(vnfd, current.flavour_id)
        level_id = request.instantiation_level_id
        if level_id is not None:
            levels = scaling.scale_levels_of(flavour, level_id)
            expected = scaling.counts_at(flavour, current.scale_levels)
            counts = scaling.counts_set_by_level(flavour, level_id, expected)
        else:
            levels = _requested_levels(request, vnfd)
            counts = scaling.counts_of_aspects(
                flavour, levels, {**current.scale_levels, **levels}
            )
        return msgspec.structs.replace(
            current,
            counts={**current.counts, **counts},
            scale_levels={**current.scale_levels, **levels},
        )


def _requested_levels(
    request: ScaleVnfToLevelRequest, vnfd: Vnfd
) -> dict[str, int]:
    for scale in request.scale_info:
        if scale.vnfd_id not in {None, vnfd.id}:
            raise errors.InvalidParameters(
                f"scaleInfo: VNFD {scale.vnfd_id} is not that of the VNF, "
                f"{vnfd.id}."
            )
    return {scale.aspect_id: scale.scale_level for scale in request.scale_info}
