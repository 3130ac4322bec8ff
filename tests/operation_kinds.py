"""The kinds of lifecycle operations, as clients request them in tests."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

ASPECT: Final = {"aspectId": "web_aspect"}
OUT: Final = {"type": "SCALE_OUT", **ASPECT}
IN: Final = {"type": "SCALE_IN", **ASPECT}
STEPS: Final = ("GRANT", "PREAMBLE", "INFRA", "POSTAMBLE")


class RequestFactory(Protocol):
    """Provides the values that requests need."""

    def request(self, instance_id: str) -> Any:
        """Build an InstantiateVnfRequest."""

    def vnfc_of(self, instance_id: str) -> str:
        """Return the id of one VNFC."""


class OperationKind(NamedTuple):
    """One kind of operation, as a client requests it."""

    name: str
    hook: str
    task: str
    #: builds the body from the instance's id
    body: Callable[[RequestFactory, str], Any]
    method: str = "POST"
    #: operations of the instance that precede it
    before: Sequence[tuple[str, Any]] = ()
    reversible: bool = False
    steps: Sequence[str] = STEPS

    @property
    def rollback_steps(self) -> Sequence[str]:
        """The steps of the rollback."""
        restore = ("RESTORE",) if "INFRA" in self.steps else ()
        return ("PREAMBLE", *restore, "POSTAMBLE")

    @property
    def first_state(self) -> str:
        return "STARTING" if "GRANT" in self.steps else "PROCESSING"


def _instantiate(factory: RequestFactory, instance_id: str) -> Any:
    return factory.request(instance_id)


def _heal_one(factory: RequestFactory, instance_id: str) -> Any:
    return {"vnfcInstanceId": [factory.vnfc_of(instance_id)]}


def _always(body: Any) -> Callable[[RequestFactory, str], Any]:
    return lambda _asker, _instance_id: body


UP: Final = [("instantiate", None)]
KINDS: Final = (
    OperationKind(
        name="instantiate",
        hook="instantiate",
        task="/instantiate",
        body=_instantiate,
        reversible=True,
    ),
    OperationKind(
        name="scale out",
        hook="scale",
        before=UP,
        task="/scale",
        body=_always(OUT),
        reversible=True,
    ),
    OperationKind(
        name="scale in",
        hook="scale",
        before=[*UP, ("scale", OUT)],
        task="/scale",
        body=_always(IN),
        reversible=True,
    ),
    OperationKind(
        name="scale to level",
        hook="scale_to_level",
        before=UP,
        task="/scale_to_level",
        body=_always({"scaleInfo": [{**ASPECT, "scaleLevel": 1}]}),
        reversible=True,
    ),
    OperationKind(
        name="heal one", hook="heal", before=UP, task="/heal", body=_heal_one
    ),
    OperationKind(
        name="heal all",
        hook="heal",
        before=UP,
        task="/heal",
        body=_always({}),
    ),
    OperationKind(
        name="stop",
        hook="operate",
        before=UP,
        task="/operate",
        body=_always({"changeStateTo": "STOPPED"}),
        reversible=True,
    ),
    OperationKind(
        name="terminate",
        hook="terminate",
        before=UP,
        task="/terminate",
        body=_always({"terminationType": "GRACEFUL"}),
    ),
    OperationKind(
        name="modify",
        hook="modify_information",
        before=UP,
        method="PATCH",
        task="",
        body=_always({"vnfInstanceName": "another name"}),
        reversible=True,
        steps=("PREAMBLE", "POSTAMBLE"),
    ),
)
