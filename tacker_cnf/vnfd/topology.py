"""Read the topology of a service template: nodes, groups and policies."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

from tacker_cnf.vnfd import definitions
from tacker_cnf.vnfd.definitions import Definitions
from tacker_cnf.vnfd.values import Value, Warnings


@dataclasses.dataclass(frozen=True)
class ArtifactDefinition:
    """A file that a node template or its type names."""

    kind: str
    reference: Value

    def path(self, tree: Path) -> tuple[str, Warnings]:
        """Return its path in the tree.

        :raises InvalidPackage: the file is missing
        """
        path, warnings = definitions.find_file(tree, self.reference)
        if path is None:
            raise self.reference.fault(
                f"the file {definitions.path_of(self.reference)} is not in the"
                " package",
            )
        return path, warnings


@dataclasses.dataclass(frozen=True)
class NodeTemplate:
    """A node template with the definitions of its type."""

    name: str
    value: Value
    kind: str
    definitions: Definitions

    def is_a(self, *bases: str) -> bool:
        return any(
            self.definitions.is_a("node_types", self.kind, base)
            for base in bases
        )

    def property(self, name: str) -> Value:
        """Return a property, or its default from the node's type."""
        value = self.value.get("properties", name)
        if not value.absent:
            return value
        for definition in self.type_definitions():
            default = definition.get("properties", name, "default")
            if not default.absent:
                return default
        return value

    def type_definitions(self) -> Iterator[Value]:
        """Return the definitions of its type, the most derived first."""
        lineage = self.definitions.lineage("node_types", self.kind)
        return (definition for _, definition in lineage)

    def requirements(self, *names: str) -> list[Value]:
        """Return the names of the nodes that requirements point to."""
        return requirements_of(self.value, *names)

    def artifacts(self) -> dict[str, ArtifactDefinition]:
        found: dict[str, ArtifactDefinition] = {}
        for holder in (self.value, *self.type_definitions()):
            for name, value in holder.get("artifacts").entries().items():
                found.setdefault(name, _artifact(value))
        return found


@dataclasses.dataclass(frozen=True)
class Policy:
    """One policy of a topology."""

    name: str
    value: Value
    kind: str

    @property
    def properties(self) -> Value:
        return self.value.get("properties")

    @property
    def targets(self) -> list[Value]:
        return self.value.get("targets").items()


@dataclasses.dataclass(frozen=True)
class Topology:
    """The content of a service template's topology_template."""

    document: Value
    definitions: Definitions
    nodes: Mapping[str, NodeTemplate]

    def nodes_of_type(self, *bases: str) -> dict[str, NodeTemplate]:
        """Return the nodes whose type is, or derives from, one of these."""
        return {
            name: node
            for name, node in self.nodes.items()
            if node.is_a(*bases)
        }

    def policies(self, base: str) -> list[Policy]:
        section = self.document.get("topology_template", "policies")
        found = []
        for name, value in section.named_values():
            kind = self.definitions.check_type(
                "policy_types",
                value.get("type"),
            )
            if self.definitions.is_a("policy_types", kind, base):
                found.append(Policy(name, value, kind))
        return found

    def groups(self, base: str) -> dict[str, Value]:
        groups = self.document.get("topology_template", "groups")
        return {
            name: value
            for name, value in groups.entries().items()
            if self.definitions.is_a(
                "group_types",
                self.definitions.check_type("group_types", value.get("type")),
                base,
            )
        }


def read(document: Value, vnfd_definitions: Definitions) -> Topology:
    """Read the topology template of a definitions file.

    :raises InvalidPackage: a node template is invalid or of an unknown type
    """
    nodes = {}
    section = document.get("topology_template", "node_templates")
    for name, value in section.entries().items():
        kind = vnfd_definitions.check_type("node_types", value.get("type"))
        nodes[name] = NodeTemplate(name, value, kind, vnfd_definitions)
    return Topology(document, vnfd_definitions, nodes)


def requirements_of(node: Value, *names: str) -> list[Value]:
    """Return the names of the nodes that requirements of a node point to."""
    targets = []
    for name, value in node.get("requirements").named_values():
        if name in names and not value.absent:
            is_map = isinstance(value.raw, dict)
            targets.append(value.get("node") if is_map else value)
    return [target for target in targets if not target.absent]


def _artifact(value: Value) -> ArtifactDefinition:
    if not isinstance(value.raw, dict):
        return ArtifactDefinition("tosca.artifacts.File", value)
    kind = value.get("type").text_or_none() or "tosca.artifacts.File"
    return ArtifactDefinition(kind, value.get("file"))
