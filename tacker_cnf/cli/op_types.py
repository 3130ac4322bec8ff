"""Lifecycle operations, as far as the client reads them."""

import datetime
from typing import Annotated, Any, Final, Self

import msgspec

from tacker_cnf.cli.api_types import ApiType, Problem

DateTime = Annotated[datetime.datetime, msgspec.Meta(tz=True)]
#: states of an operation in which a conductor has work to do
ACTIVE: Final = frozenset({"STARTING", "PROCESSING", "ROLLING_BACK"})
#: all states (SOL003 5.5.4.5)
STATES: Final = (
    "STARTING",
    "PROCESSING",
    "COMPLETED",
    "FAILED_TEMP",
    "FAILED",
    "ROLLING_BACK",
    "ROLLED_BACK",
)


class ProgressResource(ApiType, frozen=True, kw_only=True):
    """A resource that a step creates, changes or deletes."""

    #: of the object or the stack; several have one kind and name
    id: str = ""
    kind: str
    name: str
    vdu_id: str | None = None
    status: str = ""
    start_time: DateTime | None = None
    end_time: DateTime | None = None
    message: str = ""


class Step(ApiType, frozen=True, kw_only=True):
    """A step of an operation, in one of its attempts."""

    step: str
    attempt: int
    start_time: DateTime
    end_time: DateTime | None = None
    #: absent while it runs
    outcome: str | None = None
    done: int | None = None
    total: int | None = None
    message: str = ""
    resources: tuple[ProgressResource, ...] = ()


class Change(ApiType, frozen=True, kw_only=True):
    """An entry of resourceChanges."""

    id: str
    change_type: str


class ResourceChanges(ApiType, frozen=True, kw_only=True):
    """SOL003 5.5.2.13, inner type."""

    affected_vnfcs: tuple[Change, ...] = ()
    affected_virtual_links: tuple[Change, ...] = ()
    affected_ext_link_ports: tuple[Change, ...] = ()
    affected_virtual_storages: tuple[Change, ...] = ()


class OpOcc(ApiType, frozen=True, kw_only=True):
    """VnfLcmOpOcc (SOL003 5.5.2.13)."""

    id: str
    operation: str
    operation_state: str
    vnf_instance_id: str
    start_time: DateTime
    state_entered_time: DateTime
    is_cancel_pending: bool = False
    progress: str = ""
    error: Problem | None = None
    timeline: tuple[Step, ...] = ()
    resource_changes: ResourceChanges = ResourceChanges()
    links: dict[str, Any] = msgspec.field(default_factory=dict, name="_links")

    @property
    def is_active(self) -> bool:
        return self.operation_state in ACTIVE

    @property
    def newest_attempt(self) -> int:
        """The number of the attempt that runs, or was the last one."""
        newest = max((step.attempt for step in self.timeline), default=1)
        ended = any(
            step.outcome in {"FAILED", "INTERRUPTED"}
            for step in self.timeline
            if step.attempt == newest
        )
        # a retry or rollback that has no step yet
        return newest + 1 if ended and self.is_active else newest

    def since_attempt(self, number: int) -> Self:
        """Return the operation as if it had begun with an attempt."""
        if number == 1:
            return self
        steps = tuple(s for s in self.timeline if s.attempt >= number)
        start = steps[0].start_time if steps else self.state_entered_time
        return msgspec.structs.replace(self, timeline=steps, start_time=start)

    @property
    def decisions(self) -> tuple[str, ...]:
        """The tasks that are possible now."""
        return tuple(
            task
            for task in ("retry", "rollback", "fail", "cancel")
            if task in self.links
        )
