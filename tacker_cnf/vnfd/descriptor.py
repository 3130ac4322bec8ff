"""Read a VNF descriptor (SOL001, TOSCA simple profile in YAML)."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tacker_cnf import errors
from tacker_cnf.vnfd import (
    code_files,
    flavours,
    identity,
    nodes,
    public_names,
    topology,
)
from tacker_cnf.vnfd.definitions import Definitions, Reader
from tacker_cnf.vnfd.limits import Limits
from tacker_cnf.vnfd.model import (
    AffinityRule,
    Aspect,
    ConnectionPoint,
    Flavour,
    LcmDefaults,
    Level,
    PublicNames,
    SoftwareImage,
    Vdu,
    VirtualLink,
    VirtualStorage,
    Vnfd,
)
from tacker_cnf.vnfd.topology import NodeTemplate, Topology
from tacker_cnf.vnfd.values import Warnings

__all__ = [
    "AffinityRule",
    "Aspect",
    "ConnectionPoint",
    "Flavour",
    "LcmDefaults",
    "Level",
    "ReadVnfd",
    "SoftwareImage",
    "Vdu",
    "VirtualLink",
    "VirtualStorage",
    "Vnfd",
    "read",
]


class ReadVnfd(NamedTuple):
    """A VNFD as it was read, and what the onboarding tolerates in it."""

    vnfd: Vnfd
    warnings: Warnings


def read(
    tree: Path,
    entry_definitions: str,
    limits: Limits | None = None,
) -> ReadVnfd:
    """Read the VNFD of an unpacked package.

    :raises InvalidPackage: the VNFD is invalid or not supported; the message
        names file and path
    """
    reader = Reader(tree, limits or Limits())
    definitions = reader.read(entry_definitions)
    flavour_topologies, warnings = _topologies(reader, definitions)
    files = set(definitions.documents).union(
        *(found.definitions.documents for found in flavour_topologies.values())
    )
    read_flavours = {}
    for name, found in flavour_topologies.items():
        read_flavours[name], more = flavours.flavour_of(found, name, tree)
        warnings += more
    vnf = _vnf(definitions, flavour_topologies)
    vnfd = Vnfd(
        flavours=read_flavours,
        default_flavour=_default_flavour(vnf, flavour_topologies),
        software_images=_images(flavour_topologies, tree),
        public_names=_public_names(vnf, flavour_topologies),
        files=tuple(sorted(files)),
        named_files=code_files.named_by_vnfd(
            flavour_topologies.values(), read_flavours, tree
        ),
        **identity.identity_of(vnf),
        **identity.modifiable_of(vnf),
    )
    return ReadVnfd(vnfd, warnings)


def find_topology(
    tree: Path, files: Iterable[str], flavour_id: str
) -> Topology:
    """Find the topology of a flavour in definitions files.

    :raises InvalidPackage: none of the files describes the flavour
    """
    reader = Reader(tree, Limits())
    for path in files:
        definitions = reader.read(path)
        found = topology.read(definitions.documents[path], definitions)
        if flavours.flavour_id_of(found, path) == flavour_id:
            return found
    raise errors.InvalidPackage(
        f"no definitions file describes flavour {flavour_id}"
    )


def _topologies(
    reader: Reader, definitions: Definitions
) -> tuple[dict[str, Topology], Warnings]:
    """Read the topology of each flavour: from imported files, and from files
    that describe further flavours and that no file imports.

    :raises InvalidPackage: there is no flavour, or a flavour is repeated
    """
    found: dict[str, Topology] = {}
    for document in definitions.documents.values():
        _add(found, topology.read(document, definitions), definitions.entry)
    unimported, warnings = _unimported_topologies(reader, definitions, found)
    found |= unimported
    if not found:
        raise errors.InvalidPackage(
            f"{definitions.entry}: the VNFD has no deployment flavour",
        )
    return found, warnings


def _unimported_topologies(
    reader: Reader, definitions: Definitions, found: Mapping[str, Topology]
) -> tuple[dict[str, Topology], Warnings]:
    """Read the topologies that no file imports; unreadable ones, and those of
    another VNF, are skipped.

    :raises InvalidPackage: a flavour is repeated, or none can be read
    """
    vnf = _find_vnf(definitions, found)
    unimported: dict[str, Topology] = {}
    warnings: Warnings = ()
    faults: list[errors.InvalidPackage] = []
    for path in reader.unimported(definitions.entry):
        try:
            candidate = _read_unimported(reader, path, vnf)
            name = flavours.flavour_id_of(candidate, definitions.entry)
        except errors.InvalidPackage as error:
            warnings += (f"no file imports {path}, which is ignored: {error}",)
            faults.append(error)
            continue
        if name is not None and name not in found:
            _add(unimported, candidate, definitions.entry)
            warnings += (f"no file imports {path}, of flavour {name}",)
            vnf = vnf or _find_vnf(definitions, unimported)
    if faults and not found and not unimported:
        raise faults[0]
    return unimported, warnings


def _read_unimported(
    reader: Reader, path: str, vnf: NodeTemplate | None
) -> Topology:
    """Read a topology that no file imports.

    :raises InvalidPackage: it cannot be read, or is of another VNF
    """
    own = reader.read(path)
    candidate = topology.read(own.documents[path], own)
    if vnf and not flavours.can_substitute(candidate, vnf.kind):
        raise errors.InvalidPackage(f"{path}: not of {vnf.kind}")
    return candidate


def _add(found: dict[str, Topology], new: Topology, entry: str) -> None:
    name = flavours.flavour_id_of(new, entry)
    if name in found:
        other = found[name].document.file
        raise new.document.fault(f"flavour {name} is in {other}, too")
    if name is not None:
        found[name] = new


def _vnf(
    definitions: Definitions, flavour_topologies: Mapping[str, Topology]
) -> NodeTemplate:
    """Return the node that describes the VNF.

    :raises InvalidPackage: there is none
    """
    vnf = _find_vnf(definitions, flavour_topologies)
    if vnf is None:
        raise errors.InvalidPackage(
            f"{definitions.entry}: neither it nor its imports have a VNF node,"
            " of a type that derives from tosca.nodes.nfv.VNF"
        )
    return vnf


def _find_vnf(
    definitions: Definitions, flavour_topologies: Mapping[str, Topology]
) -> NodeTemplate | None:
    """Find the node that describes the VNF: the entry's, or a flavour's."""
    entry = topology.read(
        definitions.documents[definitions.entry], definitions
    )
    candidates = (entry, *flavour_topologies.values())
    for find in (flavours.vnf_of, flavours.substituted_vnf_of):
        for vnf in map(find, candidates):
            if vnf is not None:
                return vnf
    return None


def _public_names(
    vnf: NodeTemplate, flavour_topologies: Mapping[str, Topology]
) -> PublicNames:
    """Return the names that may be shown, by the nodes of all flavours."""
    of_flavours = map(flavours.vnf_of, flavour_topologies.values())
    return public_names.read(
        vnf,
        [node for node in of_flavours if node is not None],
        [
            vdu
            for found in flavour_topologies.values()
            for vdu in found.nodes_of_type(*nodes.VDU_TYPES).values()
        ],
    )


def _default_flavour(
    vnf: NodeTemplate,
    flavour_topologies: Mapping[str, Topology],
) -> str | None:
    """Return the flavour that the VNF node names, or the only one."""
    flavour_id = vnf.property("flavour_id")
    if (
        isinstance(flavour_id.raw, str)
        and flavour_id.raw in flavour_topologies
    ):
        return flavour_id.raw
    return (
        next(iter(flavour_topologies))
        if len(flavour_topologies) == 1
        else None
    )


def _images(
    flavour_topologies: Mapping[str, Topology],
    tree: Path,
) -> tuple[SoftwareImage, ...]:
    """Return the images of all flavours; flavours may share images."""
    found: dict[str, SoftwareImage] = {}
    for of_flavour in flavour_topologies.values():
        for image in nodes.software_images_of(of_flavour, tree):
            found.setdefault(image.id, image)
    return tuple(found.values())
