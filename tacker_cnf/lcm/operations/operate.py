"""Start or stop a VNF (SOL003 5.4.10)."""

import msgspec

from tacker_cnf import errors
from tacker_cnf.lcm import grant_resources
from tacker_cnf.lcm.change import State
from tacker_cnf.lcm.operations.base import GrantChanges, Operation
from tacker_cnf.sol.lcm_request import OperateVnfRequest, StopType
from tacker_cnf.sol.vnf_instance import VnfInstance, VnfOperationalState
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType
from tacker_cnf.vnfd.model import Flavour, Vnfd


class Operate(Operation[OperateVnfRequest]):
    """The VNFCs of the VNF are started or stopped."""

    kind = LcmOperationType.OPERATE
    summary = "Start or stop a VNF."
    request_type = OperateVnfRequest
    hook = "operate"

    def changed(
        self,
        request: OperateVnfRequest,
        current: State,
        vnfd: Vnfd,
        old_vnfd: Vnfd,
    ) -> State:
        """Return the current state, started or stopped.

        :raises WrongState: the VNF is in the requested state already
        """
        if current.vnf_state is request.change_state_to:
            raise errors.WrongState(
                f"changeStateTo: the VNF is {current.vnf_state} already."
            )
        return msgspec.structs.replace(
            current, vnf_state=request.change_state_to
        )

    def grant_changes(
        self,
        request: OperateVnfRequest,
        instance: VnfInstance,
        old_flavour: Flavour,
        new_flavour: Flavour,
    ) -> GrantChanges:
        """Return the servers or pods that are started or stopped."""
        info = instance.instantiated_vnf_info
        vnfcs = info.vnfc_resource_info if info else ()
        return GrantChanges(update=[*map(grant_resources.compute_of, vnfcs)])

    def grace(self, request: OperateVnfRequest) -> int | None:
        """Return the requested timeout; 0 if the stop is forceful."""
        if request.change_state_to is VnfOperationalState.STARTED:
            return None
        if request.stop_type is StopType.GRACEFUL:
            return request.graceful_stop_timeout
        return 0
