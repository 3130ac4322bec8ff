"""The files of a package that its VNFD or its metadata (TOSCA.meta, manifest)
names, and those of its files that are code.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from tacker_cnf.vnfd import definitions
from tacker_cnf.vnfd.digests import Artifact
from tacker_cnf.vnfd.model import Flavour, Vnfd
from tacker_cnf.vnfd.topology import Topology

#: end of the name of a file that a request can have run
SUFFIX: Final = ".py"


def named_by_vnfd(
    topologies: Iterable[Topology], flavours: Mapping[str, Flavour], tree: Path
) -> tuple[str, ...]:
    """Return the files that the VNFD names: the artifacts of its nodes, and
    its management scripts.
    """
    found = set(_scripts(flavours))
    for topology in topologies:
        for node in topology.nodes.values():
            for artifact in node.artifacts().values():
                if isinstance(artifact.reference.raw, str):
                    path = definitions.path_of(artifact.reference)
                    found.update([path] * definitions.is_file(tree, path))
    return tuple(sorted(found))


def with_listed(vnfd: Vnfd, listed: Iterable[Artifact]) -> Vnfd:
    """Add the files that TOSCA.meta and the manifest list to those that the
    VNFD names.
    """
    paths = {file.path for file in listed if not file.is_external}
    return msgspec.structs.replace(
        vnfd, named_files=tuple(sorted(paths.union(vnfd.named_files or ())))
    )


def find_code(vnfd: Vnfd, tree: Path) -> tuple[str, ...]:
    """Return the code in a package: its management scripts, and all Python
    files, whether or not they are named.
    """
    found = {
        path.relative_to(tree).as_posix() for path in tree.rglob(f"*{SUFFIX}")
    }
    return tuple(sorted(found.union(_scripts(vnfd.flavours))))


def _scripts(flavours: Mapping[str, Flavour]) -> Iterator[str]:
    for flavour in flavours.values():
        yield from flavour.scripts.values()
