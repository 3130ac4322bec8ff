"""Events of the stream that are not notifications of SOL003."""

from tacker_cnf.sol.base import Identifier, SolType
from tacker_cnf.sol.timeline import TimelineStep
from tacker_cnf.sol.vnf_lcm_op_occ import (
    LcmOperationStateType,
    LcmOperationType,
)


class OperationProgress(SolType):
    """The timeline of an operation as of now."""

    vnf_instance_id: Identifier
    vnf_lcm_op_occ_id: Identifier
    operation: LcmOperationType
    operation_state: LcmOperationStateType
    timeline: tuple[TimelineStep, ...] = ()


class EventsMissed(SolType):
    """Events after the one of the client were deleted, as they are kept for a
    limited time: the client has to read the resources again.
    """

    last_event_id: str
