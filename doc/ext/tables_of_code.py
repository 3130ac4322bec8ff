"""Directives for tables that are generated from the code.

``.. operation-states::`` shows the state machine of lifecycle operations,
``.. operation-events::`` the meaning of its events, ``.. operation-kinds::``
the properties of the operations, ``.. layers::`` the import layers,
``.. additional-params::`` the additionalParams that a driver reads.
"""

import importlib
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec.inspect
from msgspec.inspect import (
    BoolType,
    LiteralType,
    StrType,
    Type,
    UnionType,
    VarTupleType,
)
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

from tacker_cnf.drivers.parameters import ParameterTypes
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


def describe(kind: Type) -> str:
    """Describe the JSON type of a parameter."""
    match kind:
        case UnionType():
            return describe(kind.types[0])  # the other one is null
        case LiteralType():
            return " or ".join(f"``{value}``" for value in kind.values)
        case VarTupleType():
            return f"list of {describe(kind.item_type)}s"
        case StrType():
            return "string"
        case BoolType():
            return "boolean"
    return "object"


class AdditionalParams(TableOfCode):
    """The additionalParams that a driver reads, from their types.

    The argument is the module that has ``PARAMETERS``.
    """

    required_arguments = 1

    def text(self) -> Iterable[str]:
        """Return the lines of reStructuredText."""
        module = importlib.import_module(self.arguments[0])
        yield from list_table(self._rows(module.PARAMETERS))

    def _rows(self, types: ParameterTypes) -> Iterator[tuple[str, ...]]:
        yield "Operation", "Parameter", "Type", "Meaning"
        for operation, kinds in types.items():
            listed: set[str] = set()
            for kind in kinds:
                comments = dict(self._comments(kind))
                info = msgspec.inspect.type_info(kind)
                for field in info.fields:
                    if field.encode_name not in listed:
                        listed.add(field.encode_name)
                        required = ", required" if field.required else ""
                        yield (
                            f"``{operation}``",
                            f"``{field.encode_name}``",
                            describe(field.type) + required,
                            comments[field.name],
                        )

    def _comments(self, kind: type) -> Iterator[tuple[str, str]]:
        """Yield the fields of a type, and their comments."""
        for base in kind.__mro__:
            if base.__module__.startswith("tacker_cnf."):
                analyzer = ModuleAnalyzer.for_module(base.__module__)
                for (owner, name), lines in analyzer.find_attr_docs().items():
                    if owner == base.__name__:
                        yield name, " ".join(lines).strip()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("operation-states", OperationStates)
    app.add_directive("operation-events", OperationEvents)
    app.add_directive("operation-kinds", OperationKinds)
    app.add_directive("layers", Layers)
    app.add_directive("additional-params", AdditionalParams)
    return {"version": "1", "parallel_read_safe": True}
