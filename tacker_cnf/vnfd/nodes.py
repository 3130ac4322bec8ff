"""Read VDUs, storages, links and connection points from node templates."""

from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any, Final

from tacker_cnf.vnfd import definitions
from tacker_cnf.vnfd.model import (
    ConnectionPoint,
    SoftwareImage,
    Vdu,
    VirtualLink,
    VirtualStorage,
)
from tacker_cnf.vnfd.topology import NodeTemplate, Topology
from tacker_cnf.vnfd.values import Value, Warnings

VDU_TYPES: Final = (
    "tosca.nodes.nfv.Vdu.Compute",
    "tosca.nodes.nfv.Vdu.OsContainerDeployableUnit",
)
STORAGE_TYPES: Final[Mapping[str, str]] = {
    "block": "tosca.nodes.nfv.Vdu.VirtualBlockStorage",
    "object": "tosca.nodes.nfv.Vdu.VirtualObjectStorage",
    "file": "tosca.nodes.nfv.Vdu.VirtualFileStorage",
}
LINK_TYPE: Final = "tosca.nodes.nfv.VnfVirtualLink"
CP_TYPE: Final = "tosca.nodes.nfv.Cp"
VDU_CP_TYPE: Final = "tosca.nodes.nfv.VduCp"
STORAGE_REQUIREMENT: Final = "virtual_storage"
IMAGE_TYPE: Final = "tosca.artifacts.nfv.SwImage"


def vdus_of(topology: Topology) -> dict[str, Vdu]:
    nodes = topology.nodes_of_type(*VDU_TYPES)
    storages = topology.nodes_of_type(*STORAGE_TYPES.values())
    return {name: _vdu(node, storages) for name, node in nodes.items()}


def storages_of(topology: Topology) -> dict[str, VirtualStorage]:
    return {
        name: _storage(kind, node)
        for kind, base in STORAGE_TYPES.items()
        for name, node in topology.nodes_of_type(base).items()
    }


def virtual_links_of(topology: Topology) -> dict[str, VirtualLink]:
    return {
        name: VirtualLink(
            id=name,
            description=node.property("description").text_or_none(),
            layer_protocols=node.property("connectivity_type")
            .get("layer_protocols")
            .texts(),
        )
        for name, node in topology.nodes_of_type(LINK_TYPE).items()
    }


def connection_points_of(
    topology: Topology,
    external: Container[str],
) -> dict[str, ConnectionPoint]:
    vdus = topology.nodes_of_type(*VDU_TYPES)
    links = topology.nodes_of_type(LINK_TYPE)
    return {
        name: ConnectionPoint(
            id=name,
            vdu=_one_of(vdus, node.requirements("virtual_binding")),
            virtual_link=_one_of(
                links,
                node.requirements("virtual_link", "internal_virtual_link"),
            ),
            order=node.property("order").count_or_none(),
            layer_protocols=node.property("layer_protocols").texts(),
            external=name in external,
        )
        for name, node in topology.nodes_of_type(CP_TYPE).items()
    }


def external_connection_points_of(
    topology: Topology,
) -> tuple[dict[str, str], Warnings]:
    """Return the connection points that fulfil a requirement of the VNF, with
    that requirement. One that names an unknown node is ignored: requests
    cannot name that node.
    """
    mappings = topology.document.get(
        "topology_template",
        "substitution_mappings",
        "requirements",
    )
    found = {}
    warnings = []
    for requirement, value in mappings.named_values():
        pair = value.get("mapping") if isinstance(value.raw, dict) else value
        for target in pair.items()[:1]:
            if target.text() in topology.nodes:
                found[target.text()] = requirement
            else:
                what = f"there is no node {target.text()}"
                ignored = f"{what}: {requirement} is ignored"
                warnings.append(target.warning(ignored))
    return found, tuple(warnings)


def software_images_of(topology: Topology, tree: Path) -> list[SoftwareImage]:
    holders = topology.nodes_of_type(*VDU_TYPES, *STORAGE_TYPES.values())
    return [
        _image(node, tree) for node in holders.values() if _has_image(node)
    ]


def _vdu(node: NodeTemplate, storages: Container[str]) -> Vdu:
    profile = node.property("vdu_profile")
    low = profile.get("min_number_of_instances").count()
    high = profile.get("max_number_of_instances").count()
    if low > high:
        raise profile.fault(f"the minimum {low} is above the maximum {high}")
    return Vdu(
        id=node.name,
        name=node.property("name").text(),
        description=node.property("description").text_or_none(),
        min_instances=low,
        max_instances=high,
        storages=tuple(
            _check_node(storages, target)
            for target in node.requirements(STORAGE_REQUIREMENT)
        ),
        image=node.name if _has_image(node) else None,
        **_compute(node),
    )


def _compute(node: NodeTemplate) -> dict[str, Any]:
    """Read the virtual_compute requirements of a VDU."""
    compute = node.value.get("capabilities", "virtual_compute", "properties")
    capabilities = compute.get("requested_additional_capabilities").entries()
    names = (
        value.get("requested_additional_capability_name").text_or_none()
        for value in capabilities.values()
    )
    cpus = compute.get("virtual_cpu", "num_virtual_cpu")
    memory = compute.get("virtual_memory", "virtual_mem_size")
    return {
        "compute_flavour": next((name for name in names if name), None),
        "num_virtual_cpu": cpus.count_or_none(),
        "virtual_mem_size": memory.size(),
    }


def _storage(kind: str, node: NodeTemplate) -> VirtualStorage:
    data = node.property(f"virtual_{kind}_storage_data")
    size = data.get("size_of_storage").size()
    if kind == "object":
        size = data.get("max_size_of_storage").size()
    return VirtualStorage(
        id=node.name,
        kind=kind,
        size_of_storage=size,
        image=node.name if _has_image(node) else None,
    )


def _has_image(node: NodeTemplate) -> bool:
    """Check whether a node has a software image.

    :raises InvalidPackage: it has an image file but no sw_image_data
    """
    data = node.property("sw_image_data")
    if data.absent and _image_files(node):
        raise data.fault(f"{node.name} has a software image without data")
    return not data.absent


def _image(node: NodeTemplate, tree: Path) -> SoftwareImage:
    data = node.property("sw_image_data")
    return SoftwareImage(
        id=node.name,
        name=data.get("name").text(),
        version=data.get("version").text(),
        checksum_algorithm=data.get("checksum", "algorithm").text_or_none(),
        checksum_hash=data.get("checksum", "hash").text_or_none(),
        container_format=data.get("container_format").text_or_none(),
        disk_format=data.get("disk_format").text_or_none(),
        min_disk=data.get("min_disk").size(),
        min_ram=data.get("min_ram").size(),
        size=data.get("size").size(),
        image_path=_image_path(node, tree),
    )


def _image_path(node: NodeTemplate, tree: Path) -> str | None:
    """Find the image's file; many packages do not include their images."""
    files = _image_files(node)
    if len(files) > 1:
        raise files[1].fault(f"{node.name} has more than one software image")
    if not files:
        return None
    if "://" in files[0].text():
        return files[0].text()
    path = definitions.path_of(files[0])
    return path if definitions.is_file(tree, path) else None


def _image_files(node: NodeTemplate) -> list[Value]:
    return [
        artifact.reference
        for artifact in node.artifacts().values()
        if node.definitions.is_a("artifact_types", artifact.kind, IMAGE_TYPE)
    ]


def _one_of(candidates: Container[str], targets: list[Value]) -> str | None:
    if len(targets) > 1:
        raise targets[1].fault("the requirement is listed more than once")
    return _check_node(candidates, targets[0]) if targets else None


def _check_node(candidates: Container[str], target: Value) -> str:
    if target.text() not in candidates:
        raise target.fault(
            f"there is no node {target.text()} of a matching type"
        )
    return target.text()
