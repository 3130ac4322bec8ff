"""Open a VNF package (CSAR, ETSI SOL004): verify all of it, then keep it."""

import collections
import posixpath
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tacker_cnf import errors
from tacker_cnf.vnfd import metadata
from tacker_cnf.vnfd.archive import DIRECTORY_MODE, Archive
from tacker_cnf.vnfd.digests import Artifact, Stated
from tacker_cnf.vnfd.limits import Limits

__all__ = ["Artifact", "Csar", "Limits", "unpack"]


class Csar(msgspec.Struct, frozen=True, kw_only=True):
    """What a package says of itself; paths are those in the tree."""

    entry_definitions: str
    created_by: str | None = None
    artifacts: tuple[Artifact, ...] = ()


def unpack(archive: Path, into: Path, limits: Limits | None = None) -> Csar:
    """Verify a package and write its tree below a new or empty directory.

    On any error nothing is left there. Files are read-only.

    :raises InvalidPackage: says what is wrong with the package, and where
    :raises FileExistsError: the directory is not empty
    """
    into.mkdir(parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise FileExistsError(f"{into} is not empty")
    try:
        with Archive(archive, limits or Limits()) as opened:
            into.chmod(DIRECTORY_MODE)
            return _unpack(opened, into)
    except BaseException:
        shutil.rmtree(into, ignore_errors=True)
        raise


def _unpack(archive: Archive, into: Path) -> Csar:
    meta = _meta(archive)
    if meta.entry_definitions not in archive.files:
        raise errors.InvalidPackage(
            f"{metadata.TOSCA_META}: the Entry-Definitions"
            f" {meta.entry_definitions} are not in the package",
        )
    stated = [*meta.digests, *_of_manifest(archive, meta)]
    archive.unpack(into, _by_file(stated, archive.files))
    return Csar(
        entry_definitions=meta.entry_definitions,
        created_by=meta.created_by,
        artifacts=_artifacts(stated),
    )


def _meta(archive: Archive) -> metadata.Meta:
    """Read TOSCA.meta; without it, one YAML file at the root is the entry."""
    if metadata.TOSCA_META in archive.files:
        return metadata.read_tosca_meta(archive.text(metadata.TOSCA_META))
    if any(path.startswith("TOSCA-Metadata/") for path in archive.files):
        raise errors.InvalidPackage(
            f"{metadata.TOSCA_META} is not in the package",
        )
    found = [
        path
        for path in archive.files
        if "/" not in path and path.endswith((".yaml", ".yml"))
    ]
    if len(found) != 1:
        raise errors.InvalidPackage(
            f"the package has no {metadata.TOSCA_META}, and at its root"
            f" {len(found)} YAML files where there should be one",
        )
    return metadata.Meta(found[0], None, None, [])


def _of_manifest(archive: Archive, meta: metadata.Meta) -> list[Stated]:
    path = meta.manifest or _beside_entry(archive, meta.entry_definitions)
    if path is None:
        return []
    return metadata.read_manifest(archive.text(path), path)


def _beside_entry(archive: Archive, entry: str) -> str | None:
    """Find a manifest that has the name of the entry definitions."""
    beside = posixpath.splitext(entry)[0] + ".mf"
    for path in (beside, posixpath.basename(beside)):
        if path in archive.files:
            return path
    return None


def _by_file(
    stated: Iterable[Stated],
    files: Iterable[str],
) -> dict[str, list[Stated]]:
    """Sort digests by the file they are of.

    :raises InvalidPackage: a listed file is not in the package
    """
    found: dict[str, list[Stated]] = collections.defaultdict(list)
    known = set(files)
    for digest in stated:
        path = digest.artifact.path
        if digest.artifact.is_external:
            continue
        if path not in known:
            raise errors.InvalidPackage(
                f"{digest.where}: {path} is not in the package",
            )
        found[path].append(digest)
    return found


def _artifacts(stated: Iterable[Stated]) -> tuple[Artifact, ...]:
    """Give each listed file once; TOSCA.meta comes before the manifest."""
    found: dict[str, Artifact] = {}
    for digest in stated:
        known = found.get(digest.artifact.path)
        if known is None or known.hash is None:
            found[digest.artifact.path] = digest.artifact
    return tuple(found.values())
