"""Read a deployment flavour from the service template that describes it."""

from pathlib import Path
from typing import Final

from tacker_cnf.vnfd import additional_parameters, nodes, policies, scripts
from tacker_cnf.vnfd.model import Flavour, LcmDefaults
from tacker_cnf.vnfd.topology import NodeTemplate, Topology
from tacker_cnf.vnfd.values import Value, Warnings

VNF_TYPE: Final = "tosca.nodes.nfv.VNF"


def flavour_id_of(topology: Topology, entry: str) -> str | None:
    """Return the id of the flavour that a service template describes, if any.

    It is set in the substitution mappings, or in the VNF node that is
    substituted; a VNFD in a single file needs no mappings.
    """
    mappings = _mappings_of(topology)
    found = mappings.get("properties", "flavour_id")
    if found.absent:
        found = _flavour_of_filter(mappings)
    if found.absent and (not mappings.absent or _is_single(topology, entry)):
        vnf = vnf_of(topology) or substituted_vnf_of(topology)
        found = vnf.property("flavour_id") if vnf else found
    return None if found.absent else _constant(found).text()


def vnf_of(topology: Topology) -> NodeTemplate | None:
    """Return the node of the VNF itself.

    :raises InvalidPackage: there are several
    """
    found = list(topology.nodes_of_type(VNF_TYPE).values())
    if len(found) > 1:
        raise found[1].value.fault("the template has a second VNF node")
    return found[0] if found else None


def substituted_vnf_of(topology: Topology) -> NodeTemplate | None:
    """Return the VNF node that the template can substitute, by its type."""
    kind = _mappings_of(topology).get("node_type")
    if kind.absent:
        return None
    name = topology.definitions.check_type("node_types", kind)
    node = NodeTemplate(
        "VNF", Value(None, kind.file, kind.path), name, topology.definitions
    )
    return node if node.is_a(VNF_TYPE) else None


def can_substitute(topology: Topology, kind: str) -> bool:
    """Check whether the template can substitute a VNF node of a type."""
    own = _mappings_of(topology).get("node_type").text_or_none()
    if own is None:
        vnf = vnf_of(topology)
        own = vnf.kind if vnf else kind
    return topology.definitions.is_a("node_types", own, kind)


def flavour_of(
    topology: Topology, name: str, tree: Path
) -> tuple[Flavour, Warnings]:
    """Read a flavour.

    :raises InvalidPackage: an element is missing, or elements contradict
    """
    vdus = nodes.vdus_of(topology)
    aspects, of_aspects = policies.aspects_of(topology, vdus)
    levels, default_level, of_levels = policies.levels_of(
        topology, vdus, aspects
    )
    initial_deltas, of_deltas = policies.initial_deltas_of(topology, vdus)
    external, of_points = nodes.external_connection_points_of(topology)
    vnf = vnf_of(topology)
    found_scripts, of_scripts = (
        scripts.scripts_of(vnf, tree) if vnf else ({}, ())
    )
    flavour = Flavour(
        id=name,
        description=_description(topology, vnf),
        vdus=vdus,
        storages=nodes.storages_of(topology),
        virtual_links=nodes.virtual_links_of(topology),
        connection_points=nodes.connection_points_of(topology, external),
        external_connection_points=external,
        aspects=aspects,
        initial_deltas=initial_deltas,
        levels=levels,
        default_level=default_level,
        scripts=found_scripts,
        parameters=additional_parameters.names_of(vnf) if vnf else (),
        affinity_rules=policies.affinity_rules_of(topology),
        placement_groups=policies.placement_groups_of(topology),
        lcm_defaults=_lcm_defaults(vnf) if vnf else LcmDefaults(),
    )
    undefined = policies.check_defined_deltas(topology, flavour)
    return flavour, (
        *of_points,
        *of_scripts,
        *of_aspects,
        *undefined,
        *of_deltas,
        *of_levels,
    )


def _mappings_of(topology: Topology) -> Value:
    return topology.document.get("topology_template", "substitution_mappings")


def _is_single(topology: Topology, entry: str) -> bool:
    """Check whether the entry file has the VDUs (a VNFD in a single file)."""
    is_entry = topology.document.file == entry
    return is_entry and bool(topology.nodes_of_type(*nodes.VDU_TYPES))


def _flavour_of_filter(mappings: Value) -> Value:
    """Find the flavour in a substitution filter (TOSCA 1.3)."""
    conditions = mappings.get("substitution_filter", "properties")
    for name, condition in conditions.named_values():
        if name == "flavour_id":
            return condition
    return mappings.get("substitution_filter", "flavour_id")


def _constant(value: Value) -> Value:
    """Unwrap a constant from ``[simple]`` or ``{equal: simple}``."""
    if isinstance(value.raw, list) and len(value.raw) == 1:
        return _constant(value.items()[0])
    if isinstance(value.raw, dict):
        return value.get("equal")
    return value


def _description(topology: Topology, vnf: NodeTemplate | None) -> str | None:
    own = vnf.property("flavour_description").text_or_none() if vnf else None
    return own or topology.document.get("description").text_or_none()


def _lcm_defaults(vnf: NodeTemplate) -> LcmDefaults:
    configuration = vnf.property("lcm_operations_configuration")
    scale = configuration.get("scale")
    terminate = configuration.get("terminate")
    return LcmDefaults(
        scaling_by_more_than_one_step_supported=scale.get(
            "scaling_by_more_than_one_step_supported",
        ).boolean_or_none(),
        heal_causes=configuration.get("heal", "causes").texts(),
        min_graceful_termination_timeout=terminate.get(
            "min_graceful_termination_timeout",
        ).seconds(),
        max_recommended_graceful_termination_timeout=terminate.get(
            "max_recommended_graceful_termination_timeout",
        ).seconds(),
    )
