"""The plan of a lifecycle operation: an extension of SOL003."""

import enum
from collections.abc import Mapping
from typing import Any, Self

from tacker_cnf.lcm.change import State
from tacker_cnf.sol.base import Identifier, SolType
from tacker_cnf.sol.grant import GrantRequest
from tacker_cnf.sol.vnf_instance import VnfOperationalState
from tacker_cnf.sol.vnf_lcm_op_occ import (
    LcmOperationStateType,
    LcmOperationType,
    ResourceChanges,
)


class ActionType(enum.StrEnum):
    """What happens to a resource of the VIM."""

    CREATE = "CREATE"
    PATCH = "PATCH"
    #: the resource is deleted, and a new one created in its place
    RECREATE = "RECREATE"
    DELETE = "DELETE"
    UNCHANGED = "UNCHANGED"


class ActionOutcome(enum.StrEnum):
    """What an operation did to a resource of the VIM."""

    #: the VIM has the resource as planned, whether or not it became ready
    DONE = "DONE"
    #: the plan leaves the resource as it is
    SKIPPED = "SKIPPED"
    #: the operation failed or was cancelled at it; it may be done in part
    FAILED = "FAILED"
    #: the operation failed or was cancelled before it
    NOT_REACHED = "NOT_REACHED"


class FieldChange(SolType):
    """A field of a resource that changes."""

    #: such as ``spec.replicas``, or ``spec.containers[web].image``
    path: str
    #: absent: the field was not set
    before: Any = None
    #: absent: the field is removed
    after: Any = None


class Action(SolType):
    """What a plan does to one resource of the VIM."""

    type: ActionType
    #: type of the resource on the VIM: Deployment, OS::Heat::Stack
    kind: str
    #: its name, or its id if it has none
    name: str
    #: why it is part of the plan, as a phrase
    reason: str
    #: actions of a wave begin when all of the waves before are complete
    wave: int = 1
    #: the VDU to which it belongs; absent: to the whole VNF
    vdu_id: str | None = None
    #: the vnfcResourceInfo to which it belongs
    vnfc_id: str | None = None
    #: of a PATCH: the fields that change, without the values of secrets
    changes: tuple[FieldChange, ...] = ()
    #: absent: not executed, or not known
    outcome: ActionOutcome | None = None


class Composition(SolType):
    """What a VNF consists of before or after an operation."""

    flavour_id: Identifier
    vnf_state: VnfOperationalState
    #: aspect -> scale level
    scale_levels: Mapping[str, int] = {}
    #: VDU -> number of VNFCs; of a STOPPED VNF once it is started
    vnfc_counts: Mapping[str, int] = {}

    @classmethod
    def of_state(cls, state: State | None) -> Self | None:
        """Return the composition of a state; None if there are no
        resources.
        """
        if state is None:
            return None
        return cls(
            flavour_id=state.flavour_id,
            vnf_state=state.vnf_state,
            scale_levels=state.scale_levels,
            vnfc_counts=dict(state.counts),
        )


class VnfPlan(SolType):
    """What an operation does to the resources of the VIM."""

    vnf_instance_id: Identifier
    operation: LcmOperationType
    #: whether it restores the state before the operation
    is_rollback: bool = False
    #: of a dry run: whether it continues a failed operation
    is_retry: bool = False
    #: the operation that has the VNF instance at the moment, and may change
    #: what this plan is based on
    operation_in_progress: str | None = None
    #: its state
    operation_in_progress_state: LcmOperationStateType | None = None
    #: of an operation that has run: its state
    operation_state: LcmOperationStateType | None = None
    #: absent: the VNF has no resources, or only scripts change it
    current: Composition | None = None
    #: absent: the VNF shall have no resources, or only scripts change it
    desired: Composition | None = None
    #: in the order of execution; the unchanged resources last
    actions: tuple[Action, ...] = ()
    #: what the operation interrupts or loses, and what may make it fail, as
    #: sentences
    warnings: tuple[str, ...] = ()
    #: the files of the VNF package that it would run, by their hooks, such as
    #: ``scale_start`` (LcmOperation of the VNFD)
    scripts: Mapping[str, str] = {}
    #: what the NFVO would be asked; absent: the operation needs no grant
    grant_request: GrantRequest | None = None
    #: of an operation that has run: VNFCs, links and storages that differ
    #: since (SOL003 5.5.2.13)
    resource_changes: ResourceChanges | None = None
