"""Read a VNF descriptor (SOL001, TOSCA simple profile in YAML)."""

from collections.abc import Mapping
from pathlib import Path

from tacker_cnf import errors
from tacker_cnf.vnfd import definitions, flavours, identity, nodes, topology
from tacker_cnf.vnfd.definitions import Definitions
from tacker_cnf.vnfd.limits import Limits
from tacker_cnf.vnfd.model import (
    AffinityRule,
    Aspect,
    ConnectionPoint,
    Flavour,
    LcmDefaults,
    Level,
    SoftwareImage,
    Vdu,
    VirtualLink,
    VirtualStorage,
    Vnfd,
)
from tacker_cnf.vnfd.topology import Node, Topology

__all__ = [
    "AffinityRule",
    "Aspect",
    "ConnectionPoint",
    "Flavour",
    "LcmDefaults",
    "Level",
    "SoftwareImage",
    "Vdu",
    "VirtualLink",
    "VirtualStorage",
    "Vnfd",
    "read",
]


def read(
    tree: Path,
    entry_definitions: str,
    limits: Limits | None = None,
) -> Vnfd:
    """Read the VNFD of an unpacked package.

    :raises InvalidPackage: it is not a VNFD we understand; says file, place
        and what is wrong
    """
    known = definitions.read(tree, entry_definitions, limits or Limits())
    described = _topologies(known)
    read_flavours = {
        name: flavours.flavour_of(found, name, tree)
        for name, found in described.items()
    }
    vnf = _vnf(known, described)
    return Vnfd(
        flavours=read_flavours,
        default_flavour=_default_flavour(vnf, described),
        software_images=_images(described, tree),
        files=tuple(sorted(known.documents)),
        **identity.identity_of(vnf),
        **identity.modifiable_of(vnf),
    )


def _topologies(known: Definitions) -> dict[str, Topology]:
    """Give the topology of each flavour.

    :raises InvalidPackage: there is no flavour, or one twice
    """
    found: dict[str, Topology] = {}
    for document in known.documents.values():
        read_topology = topology.read(document, known)
        name = flavours.flavour_id_of(read_topology, known.entry)
        if name in found:
            other = found[name].document.file
            raise document.fault(f"the flavour {name} is in {other} too")
        if name is not None:
            found[name] = read_topology
    if not found:
        raise errors.InvalidPackage(
            f"{known.entry}: the VNFD has no deployment flavour",
        )
    return found


def _vnf(known: Definitions, described: Mapping[str, Topology]) -> Node:
    """Find the node that says who the VNF is: the entry's, or a flavour's."""
    entry = topology.read(known.documents[known.entry], known)
    candidates = (entry, *described.values())
    for find in (flavours.vnf_of, flavours.substituted_vnf_of):
        for vnf in map(find, candidates):
            if vnf is not None:
                return vnf
    raise errors.InvalidPackage(
        f"{known.entry}: there is no VNF node, one of a type that derives from"
        " tosca.nodes.nfv.VNF, in it or in what it imports"
    )


def _default_flavour(
    vnf: Node,
    described: Mapping[str, Topology],
) -> str | None:
    """Give the flavour that the VNF node itself names, or the only one."""
    named = vnf.property("flavour_id")
    if isinstance(named.raw, str) and named.raw in described:
        return named.raw
    return next(iter(described)) if len(described) == 1 else None


def _images(
    described: Mapping[str, Topology],
    tree: Path,
) -> tuple[SoftwareImage, ...]:
    """Give the images of all flavours; flavours may share one."""
    found: dict[str, SoftwareImage] = {}
    for of_flavour in described.values():
        for image in nodes.software_images_of(of_flavour, tree):
            found.setdefault(image.id, image)
    return tuple(found.values())
