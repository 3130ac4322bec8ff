"""Directives for tables that are generated from the code.

``.. operation-states::`` shows the state machine of lifecycle operations,
``.. operation-events::`` the meaning of its events, ``.. operation-kinds::``
the properties of the operations, ``.. layers::`` the import layers.
"""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

from tacker_cnf.lcm import states
from tacker_cnf.lcm.operations.registry import OPERATIONS
from tacker_cnf.lcm.states import Event
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as State

ROOT: Final = Path(__file__).parent.parent.parent


class TableOfCode(SphinxDirective):
    """A directive whose text is generated."""

    def run(self) -> list[Any]:
        """Return the document nodes."""
        return self.parse_text_to_nodes("\n".join(self.text()))

    def text(self) -> Iterable[str]:
        """Return the lines of reStructuredText."""
        raise NotImplementedError


def list_table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table; the first row is the header."""
    yield from (".. list-table::", "   :header-rows: 1", "")
    for row in rows:
        for number, cell in enumerate(row):
            yield f"   {' ' if number else '*'} - {cell}"
    yield ""


def after(state: State) -> Iterator[tuple[Event, State]]:
    """Yield the events of a state, and the state after each."""
    for (source, event), target in states.TRANSITIONS.items():
        if source == state:
            yield event, target


class OperationStates(TableOfCode):
    """The state machine, as a text diagram and as a table."""

    def text(self) -> Iterable[str]:
        """Return the lines of reStructuredText."""
        yield from ("::", "")
        for state in State:
            for event, target in after(state):
                if target != state:
                    yield f"    {state:<14}-- {event:<8} -->  {target}"
        yield ""
        yield from list_table(self._rows())

    def _rows(self) -> Iterator[tuple[str, ...]]:
        yield "State", "Event", "Next state"
        for state in State:
            if state in states.FINAL:
                yield f"``{state}``", "none", "none (final)"
            for event, target in after(state):
                yield f"``{state}``", f"``{event}``", f"``{target}``"


class OperationEvents(TableOfCode):
    """The meaning of the events, from the comments in the code."""

    def text(self) -> Iterable[str]:
        """Return the lines of reStructuredText."""
        comments = ModuleAnalyzer.for_module(states.__name__).find_attr_docs()
        yield from list_table(
            [
                ("Event", "Meaning"),
                *(
                    (f"``{event}``", " ".join(comments["Event", event.name]))
                    for event in Event
                ),
            ]
        )


class OperationKinds(TableOfCode):
    """The required instance state and the rollback of each operation."""

    def text(self) -> Iterable[str]:
        """Return the lines of reStructuredText."""
        yield from list_table(self._rows())

    def _rows(self) -> Iterator[tuple[str, ...]]:
        yield "Operation", "Needs an instance", "Rollback"
        for name, operation in OPERATIONS.items():
            rollback = "yes" if operation.reversible else "no (409)"
            yield name, operation.required_state or "in either state", rollback


class Layers(TableOfCode):
    """The layers, from the contract that import-linter checks."""

    def text(self) -> Iterable[str]:
        """Return the lines of reStructuredText."""
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
        contract = next(
            contract
            for contract in settings["tool"]["importlinter"]["contracts"]
            if contract["type"] == "layers"
        )
        yield from ("::", "")
        yield from (f"    {layer}" for layer in contract["layers"])
        yield ""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("operation-states", OperationStates)
    app.add_directive("operation-events", OperationEvents)
    app.add_directive("operation-kinds", OperationKinds)
    app.add_directive("layers", Layers)
    return {"version": "1", "parallel_read_safe": True}
