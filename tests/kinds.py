"""The kinds of lifecycle operations, as callers ask for them in tests."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

ASPECT: Final = {"aspectId": "web_aspect"}
OUT: Final = {"type": "SCALE_OUT", **ASPECT}
IN: Final = {"type": "SCALE_IN", **ASPECT}
STEPS: Final = ("GRANT", "PREAMBLE", "INFRA", "POSTAMBLE")


class Asker(Protocol):
    """Who asks, and knows what a request needs."""

    def request(self, instance_id: str) -> Any:
        """Make an InstantiateVnfRequest."""

    def vnfc_of(self, instance_id: str) -> str:
        """Tell the id of one VNFC."""


class Kind(NamedTuple):
    """One kind of operation, as a caller asks for it."""

    name: str
    hook: str
    task: str
    #: makes the body, out of the instance's id
    body: Callable[[Asker, str], Any]
    method: str = "POST"
    #: what was done to the instance before
    before: Sequence[tuple[str, Any]] = ()
    reversible: bool = False
    steps: Sequence[str] = STEPS

    @property
    def back(self) -> Sequence[str]:
        """The steps of its rollback."""
        restore = ("RESTORE",) if "INFRA" in self.steps else ()
        return ("PREAMBLE", *restore, "POSTAMBLE")

    @property
    def begins(self) -> str:
        return "STARTING" if "GRANT" in self.steps else "PROCESSING"


def _instantiate(asker: Asker, instance_id: str) -> Any:
    return asker.request(instance_id)


def _heal_one(asker: Asker, instance_id: str) -> Any:
    return {"vnfcInstanceId": [asker.vnfc_of(instance_id)]}


def _always(body: Any) -> Callable[[Asker, str], Any]:
    return lambda _asker, _instance_id: body


UP: Final = [("instantiate", None)]
KINDS: Final = (
    Kind(
        name="instantiate",
        hook="instantiate",
        task="/instantiate",
        body=_instantiate,
        reversible=True,
    ),
    Kind(
        name="scale out",
        hook="scale",
        before=UP,
        task="/scale",
        body=_always(OUT),
        reversible=True,
    ),
    Kind(
        name="scale in",
        hook="scale",
        before=[*UP, ("scale", OUT)],
        task="/scale",
        body=_always(IN),
        reversible=True,
    ),
    Kind(
        name="heal one", hook="heal", before=UP, task="/heal", body=_heal_one
    ),
    Kind(
        name="heal all",
        hook="heal",
        before=UP,
        task="/heal",
        body=_always({}),
    ),
    Kind(
        name="terminate",
        hook="terminate",
        before=UP,
        task="/terminate",
        body=_always({"terminationType": "GRACEFUL"}),
    ),
    Kind(
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
