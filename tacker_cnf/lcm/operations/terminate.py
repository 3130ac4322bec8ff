"""Terminate a VNF (SOL003 5.4.8)."""

from tacker_cnf.lcm.change import State
from tacker_cnf.lcm.operations.base import Operation
from tacker_cnf.sol.lcm_request import TerminateVnfRequest, TerminationType
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType
from tacker_cnf.vnfd.model import Vnfd


class Terminate(Operation[TerminateVnfRequest]):
    """The VNF loses all its resources."""

    kind = LcmOperationType.TERMINATE
    summary = "Terminate a VNF."
    request_type = TerminateVnfRequest
    reversible = False
    assigns_vims = True
    hook = "terminate"

    def changed(
        self,
        request: TerminateVnfRequest,
        current: State,
        vnfd: Vnfd,
        old_vnfd: Vnfd,
    ) -> None:
        """Return None: nothing is left."""

    def grace(self, request: TerminateVnfRequest) -> int | None:
        """Return the requested timeout; 0 if the termination is forceful."""
        if self.is_forceful(request):
            return 0
        return request.graceful_termination_timeout

    def is_forceful(self, request: TerminateVnfRequest) -> bool:
        """Return whether the termination is forceful."""
        return request.termination_type == TerminationType.FORCEFUL
