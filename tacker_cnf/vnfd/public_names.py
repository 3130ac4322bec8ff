"""List the names whose values a VNFD allows the service to show.

A VNFD allows what it declares and does not mark as sensitive. The mark is the
entry ``sensitive: true`` in the metadata (TOSCA 1.3, 3.6.10) of a property, of
its data type, or of a property in it; a ``tosca.datatypes.Credential`` needs
none.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from tacker_cnf.vnfd import additional_parameters
from tacker_cnf.vnfd.definitions import Definitions
from tacker_cnf.vnfd.identity import MAX_NESTING, STANDARD_PROPERTIES
from tacker_cnf.vnfd.model import PublicNames
from tacker_cnf.vnfd.topology import NodeTemplate
from tacker_cnf.vnfd.values import Value

CREDENTIAL_TYPE: Final = "tosca.datatypes.Credential"
SENSITIVE: Final = "sensitive"
#: the property of a VNF node, and the one of a VDU node, with the properties
#: that PATCH may set, and that of its entries which has more of them
CONFIGURABLE: Final = "configurable_properties"
FURTHER_PROPERTIES: Final = (
    "additional_configurable_properties",
    "additional_vnfc_configurable_properties",
)
#: name -> a definition of it
Declarations = Iterable[tuple[str, Value]]


def read(
    vnf: NodeTemplate,
    flavour_vnfs: Iterable[NodeTemplate],
    vdus: Iterable[NodeTemplate],
) -> PublicNames:
    """Return the names that a VNFD allows to show.

    :param flavour_vnfs: the nodes of the VNF in its flavours
    """
    definitions = vnf.definitions
    parameters = [
        declaration
        for node in (vnf, *flavour_vnfs)
        for declaration in additional_parameters.declarations(node)
    ]
    properties = [
        declaration
        for node in (vnf, *vdus)
        for declaration in _configurable(node)
    ]
    modifiable = ("modifiable_attributes",)
    extensions = list(_entries(vnf, *modifiable, "extensions"))
    metadata = list(_entries(vnf, *modifiable, "metadata"))
    return PublicNames(
        # of itself it is no parameter, but has some
        parameters=_public(parameters, definitions, {"additional_parameters"}),
        properties=_public(properties, definitions, {*FURTHER_PROPERTIES}),
        extensions=_public(extensions, definitions),
        sensitive_metadata=tuple(sorted(_sensitive(metadata, definitions))),
    )


def _public(
    declarations: Declarations,
    definitions: Definitions,
    containers: Iterable[str] = (),
) -> tuple[str, ...]:
    declared = {name for name, _ in declarations}
    hidden = _sensitive(declarations, definitions) | {*containers}
    return tuple(sorted(declared - hidden))


def _sensitive(
    declarations: Declarations, definitions: Definitions
) -> frozenset[str]:
    """Return the names of which a definition is marked."""
    return frozenset(
        name
        for name, definition in declarations
        if _is_sensitive(definition, definitions, 0)
    )


def _is_sensitive(
    definition: Value, definitions: Definitions, depth: int
) -> bool:
    if not isinstance(definition.raw, dict):
        return False
    if depth > MAX_NESTING or _is_marked(definition):
        return True
    types = (_kind(definition), _kind(_child(definition, "entry_schema")))
    return any(_is_sensitive_type(t, definitions, depth) for t in types)


def _is_sensitive_type(
    kind: str, definitions: Definitions, depth: int
) -> bool:
    if kind == CREDENTIAL_TYPE:
        return True
    if kind not in definitions.types["data_types"]:
        return False
    return any(
        name == CREDENTIAL_TYPE
        or _is_marked(data_type)
        or any(
            _is_sensitive(inner, definitions, depth + 1)
            for inner in _map(_child(data_type, "properties")).values()
        )
        for name, data_type in definitions.lineage("data_types", kind)
    )


def _is_marked(definition: Value) -> bool:
    marks = _map(_child(definition, "metadata"))
    mark = marks[SENSITIVE].raw if SENSITIVE in marks else False
    return str(mark).lower() not in {"false", ""}


def _configurable(node: NodeTemplate) -> Iterator[tuple[str, Value]]:
    """Return the configurable properties of a VNF or a VDU, by the names that
    they have in SOL003.
    """
    for name, value in _entries(node, CONFIGURABLE):
        yield STANDARD_PROPERTIES.get(name, name), value
    for further in FURTHER_PROPERTIES:
        yield from _entries(node, CONFIGURABLE, further)


def _entries(node: NodeTemplate, *path: str) -> Iterator[tuple[str, Value]]:
    """Return the entries of a property, or of an entry in it: those that the
    node sets, and those of its data types.
    """
    value = _child(node.value, "properties", *path)
    # a value is no definition: what is in it is no mark
    yield from ((name, Value(None, value.file)) for name in _map(value))
    declared = [
        _child(t, "properties", path[0]) for t in node.type_definitions()
    ]
    for name in path[1:]:
        declared = [
            inner
            for each in declared
            for entry, inner in _properties(each, node.definitions)
            if entry == name
        ]
    for each in declared:
        yield from _properties(each, node.definitions)


def _properties(
    declared: Value, definitions: Definitions
) -> Iterator[tuple[str, Value]]:
    """Return the properties of the data type of a property."""
    kind = _kind(declared)
    if kind in definitions.types["data_types"]:
        for _, data_type in definitions.lineage("data_types", kind):
            yield from _map(_child(data_type, "properties")).items()


def _kind(value: Value) -> str:
    kind = _child(value, "type").raw
    return kind if isinstance(kind, str) else ""


def _child(value: Value, *keys: str) -> Value:
    """Return the value at a path; absent if there is none."""
    for key in keys:
        if not isinstance(value.raw, dict):
            return Value(None, value.file)
        value = value.get(key)
    return value


def _map(value: Value) -> dict[str, Value]:
    return value.entries() if isinstance(value.raw, dict) else {}
