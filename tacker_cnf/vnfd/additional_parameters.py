"""List the additionalParams that a VNFD declares (SOL001 6.7)."""

from collections.abc import Iterator

from tacker_cnf.vnfd import scripts
from tacker_cnf.vnfd.topology import NodeTemplate
from tacker_cnf.vnfd.values import Value


def names_of(vnf: NodeTemplate) -> tuple[str, ...]:
    """Return the names of the inputs of lifecycle operations, and of the
    properties of their data types, such as ``additional_parameters``.
    """
    return tuple(sorted({name for name, _ in declarations(vnf)}))


def declarations(vnf: NodeTemplate) -> Iterator[tuple[str, Value]]:
    """Return these names, each with a definition of it."""
    for holder in (vnf.value, *vnf.type_definitions()):
        for name, interface in _map(holder.get("interfaces")).items():
            if scripts.is_lifecycle(vnf, name, interface):
                for inputs in _inputs(vnf, interface):
                    yield from _declarations(vnf, inputs)


def _inputs(vnf: NodeTemplate, interface: Value) -> Iterator[dict[str, Value]]:
    """Return the inputs of an interface, its type and its operations."""
    definitions = [interface]
    kind = _kind(interface)
    if kind in vnf.definitions.types["interface_types"]:
        lineage = vnf.definitions.lineage("interface_types", kind)
        definitions += (parent for _, parent in lineage)
    for definition in definitions:
        if isinstance(definition.raw, dict):
            yield _map(definition.get("inputs"))
            for operation in scripts.operations(definition).values():
                if isinstance(operation.raw, dict):
                    yield _map(operation.get("inputs"))


def _declarations(
    vnf: NodeTemplate, inputs: dict[str, Value]
) -> Iterator[tuple[str, Value]]:
    for name, value in inputs.items():
        yield name, value
        kind = _kind(value)
        if kind in vnf.definitions.types["data_types"]:
            for _, data_type in vnf.definitions.lineage("data_types", kind):
                yield from _map(data_type.get("properties")).items()
        elif name == "additional_parameters":
            yield from _map(value).items()


def _kind(value: Value) -> str:
    kind = value.raw.get("type") if isinstance(value.raw, dict) else None
    return kind if isinstance(kind, str) else ""


def _map(value: Value) -> dict[str, Value]:
    return value.entries() if isinstance(value.raw, dict) else {}
