"""Scale a VNF by steps (SOL003 5.4.5)."""

from collections import Counter

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm.change import State, flavour_of
from tacker_cnf.lcm.operations.base import Operation
from tacker_cnf.sol.lcm_request import ScaleType, ScaleVnfRequest
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.model import Vnfd


class Scale(Operation[ScaleVnfRequest]):
    """The VNF gets more or fewer VNFCs."""

    kind = LcmOperationType.SCALE
    summary = "Scale a VNF."
    request_type = ScaleVnfRequest
    hook = "scale"

    def changed(
        self,
        request: ScaleVnfRequest,
        current: State,
        vnfd: Vnfd,
        old_vnfd: Vnfd,
    ) -> State:
        """Return the current state with another scale level.

        :raises UnknownAspect: the request, or its level, names an unknown
            aspect
        :raises ScaleOutOfRange: above the maximum or below zero
        """
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
