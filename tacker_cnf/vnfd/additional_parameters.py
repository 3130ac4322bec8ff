"""Which additionalParams a VNFD declares (SOL001 6.7)."""

from collections.abc import Iterator

from tacker_cnf.vnfd import scripts
from tacker_cnf.vnfd.topology import Node
from tacker_cnf.vnfd.values import Value


def names_of(vnf: Node) -> tuple[str, ...]:
    """Return the inputs of the lifecycle operations, and the properties of
    their data types: of ``additional_parameters`` most of all.
    """
    found: set[str] = set()
    for holder in (vnf.value, *vnf.type_definitions()):
        for name, interface in _map(holder.get("interfaces")).items():
            if scripts.is_lifecycle(vnf, name, interface):
                for inputs in _inputs(vnf, interface):
                    found.update(_names(vnf, inputs))
    return tuple(sorted(found))


def _inputs(vnf: Node, interface: Value) -> Iterator[dict[str, Value]]:
    """Return the inputs of an interface, of its type, and of operations."""
    definitions = [interface]
    kind = _kind(interface)
    if kind in vnf.definitions.types["interface_types"]:
        lineage = vnf.definitions.lineage("interface_types", kind)
        definitions += (definition for _, definition in lineage)
    for one in definitions:
        if isinstance(one.raw, dict):
            yield _map(one.get("inputs"))
            for operation in scripts.operations(one).values():
                if isinstance(operation.raw, dict):
                    yield _map(operation.get("inputs"))


def _names(vnf: Node, inputs: dict[str, Value]) -> Iterator[str]:
    for name, value in inputs.items():
        yield name
        kind = _kind(value)
        if kind in vnf.definitions.types["data_types"]:
            for _, one in vnf.definitions.lineage("data_types", kind):
                yield from _map(one.get("properties"))
        elif name == "additional_parameters":
            yield from _map(value)


def _kind(value: Value) -> str:
    kind = value.raw.get("type") if isinstance(value.raw, dict) else None
    return kind if isinstance(kind, str) else ""


def _map(value: Value) -> dict[str, Value]:
    return value.entries() if isinstance(value.raw, dict) else {}
