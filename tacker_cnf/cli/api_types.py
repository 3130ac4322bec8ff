"""What the client reads of the responses; it ignores all other attributes."""

import datetime
from typing import Annotated, Any, Final, TypeVar

import msgspec

from tacker_cnf.cli.failures import InvalidResponse

DateTime = Annotated[datetime.datetime, msgspec.Meta(tz=True)]
#: states of an operation in which a conductor has work to do
ACTIVE: Final = frozenset({"STARTING", "PROCESSING", "ROLLING_BACK"})
T = TypeVar("T")


class ApiType(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of these types."""


class Problem(ApiType, frozen=True, kw_only=True):
    """ProblemDetails (SOL013 6.3)."""

    detail: str = ""
    title: str = ""


class ProgressResource(ApiType, frozen=True, kw_only=True):
    """A resource that a step creates, changes or deletes."""

    kind: str
    name: str
    vdu_id: str | None = None
    vnfc_id: str | None = None
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


class OpOcc(ApiType, frozen=True, kw_only=True):
    """VnfLcmOpOcc (SOL003 5.5.2.13)."""

    id: str
    operation: str
    operation_state: str
    vnf_instance_id: str
    start_time: DateTime
    state_entered_time: DateTime
    progress: str = ""
    error: Problem | None = None
    timeline: tuple[Step, ...] = ()
    links: dict[str, Any] = msgspec.field(default_factory=dict, name="_links")

    @property
    def is_active(self) -> bool:
        return self.operation_state in ACTIVE

    @property
    def decisions(self) -> tuple[str, ...]:
        """The tasks that are possible now."""
        return tuple(
            task
            for task in ("retry", "rollback", "fail", "cancel")
            if task in self.links
        )


def convert(value: Any, kind: type[T]) -> T:
    """Convert the JSON of a response.

    :raises InvalidResponse: it has another form
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidResponse(
            f"The response of the server is not valid: {error}."
        ) from None
