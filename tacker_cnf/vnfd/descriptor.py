"""Read a VNF descriptor (SOL001, TOSCA simple profile in YAML)."""

from collections.abc import Mapping
from pathlib import Path

from tacker_cnf import errors
from tacker_cnf.vnfd import flavours, identity, nodes, topology
from tacker_cnf.vnfd.definitions import Definitions, Reader
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
    reader = Reader(tree, limits or Limits())
    known = reader.read(entry_definitions)
    described = _topologies(reader, known)
    files = set(known.documents).union(
        *(one.definitions.documents for one in described.values())
    )
    read_flavours = {
        name: flavours.flavour_of(found, name, tree)
        for name, found in described.items()
    }
    vnf = _vnf(known, described)
    return Vnfd(
        flavours=read_flavours,
        default_flavour=_default_flavour(vnf, described),
        software_images=_images(described, tree),
        files=tuple(sorted(files)),
        **identity.identity_of(vnf),
        **identity.modifiable_of(vnf),
    )


def _topologies(reader: Reader, known: Definitions) -> dict[str, Topology]:
    """Read the topology of each flavour: of what the entry imports, and of
    files that describe others and are imported by none.

    :raises InvalidPackage: there is no flavour, or one twice
    """
    found: dict[str, Topology] = {}
    for document in known.documents.values():
        _add(found, topology.read(document, known), known.entry)
    alone: dict[str, Topology] = {}
    for path in reader.unimported(known.entry):
        own = reader.read(path)
        read_topology = topology.read(own.documents[path], own)
        name = flavours.flavour_id_of(read_topology, known.entry)
        if name not in found:
            _add(alone, read_topology, known.entry)
    found |= alone
    if not found:
        raise errors.InvalidPackage(
            f"{known.entry}: the VNFD has no deployment flavour",
        )
    return found


def _add(found: dict[str, Topology], one: Topology, entry: str) -> None:
    name = flavours.flavour_id_of(one, entry)
    if name in found:
        other = found[name].document.file
        raise one.document.fault(f"the flavour {name} is in {other} too")
    if name is not None:
        found[name] = one


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
