"""The timeline of a lifecycle operation: an extension of SOL003 5.5.2.13."""

import enum

from tacker_cnf.sol.base import DateTime, SolType


class StepOutcome(enum.StrEnum):
    """How a step of an operation ended."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    #: its conductor was lost
    INTERRUPTED = "INTERRUPTED"


class ResourceStatus(enum.StrEnum):
    """What a step does to a resource at the moment."""

    IN_PROGRESS = "IN_PROGRESS"
    DONE = "DONE"
    FAILED = "FAILED"
    #: the step has ended before it was ready or deleted
    UNFINISHED = "UNFINISHED"


class TimelineResource(SolType):
    """A resource of the VIM that a step creates, changes or deletes."""

    #: type of the resource on the VIM: Deployment, Pod, OS::Nova::Server
    kind: str
    #: its name, or its id if it has none
    name: str
    #: differs from that of another resource of this kind and name: the uid of
    #: an object, the stack of a resource of Heat
    id: str = ""
    status: ResourceStatus
    #: what the VIM reports of it
    message: str | None = None
    #: the VDU to which it belongs; absent: to the whole VNF
    vdu_id: str | None = None
    #: the vnfcResourceInfo to which it belongs
    vnfc_id: str | None = None
    start_time: DateTime
    #: absent: it is in progress
    end_time: DateTime | None = None


class TimelineStep(SolType):
    """A step of an operation, with its progress."""

    #: grant, preamble, infra, restore or postamble
    step: str
    #: counted from 1: a retry, a rollback, and another conductor that resumes
    #: the operation begin the next one
    attempt: int
    start_time: DateTime
    #: absent: it runs
    end_time: DateTime | None = None
    outcome: StepOutcome | None = None
    #: resources that are ready or deleted
    done: int | None = None
    #: resources that the step changes, as far as known
    total: int | None = None
    #: its last line of progress
    message: str | None = None
    #: the latest ones, in the order in which they began
    resources: tuple[TimelineResource, ...] = ()
