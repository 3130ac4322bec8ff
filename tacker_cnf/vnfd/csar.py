"""Verify a VNF package (CSAR, ETSI SOL004) as a whole, then unpack it."""

import collections
import posixpath
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from tacker_cnf import errors
from tacker_cnf.vnfd import metadata
from tacker_cnf.vnfd.archive import DIRECTORY_MODE, Archive
from tacker_cnf.vnfd.digests import Artifact, DeclaredDigest
from tacker_cnf.vnfd.limits import Limits

__all__ = ["Artifact", "Csar", "Limits", "unpack"]

#: attributes that name files created after the manifest
_SIGNING_FILES: Final = ("signature", "certificate")


class Csar(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of a package; paths are relative to the tree."""

    entry_definitions: str
    created_by: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    manifest: str | None = None
    #: the file of the certificate for the manifest's signature
    certificate: str | None = None
    #: files with a signature of their own
    signed: tuple[Artifact, ...] = ()
    #: files that a signature of the manifest does not cover
    unsigned: tuple[str, ...] = ()


def unpack(
    archive: Path,
    into: Path,
    limits: Limits | None = None,
    packed_bytes: int | None = None,
) -> Csar:
    """Verify a package and write its tree below a new or empty directory.

    On any error the directory is left empty or absent. Files are read-only.

    :param packed_bytes: the size in which the package was received, in a
        signed envelope; default: that of the archive
    :raises InvalidPackage: the package is invalid; the message says where
    :raises InsufficientStorage: the disk has no space for it
    :raises FileExistsError: the directory is not empty
    """
    into.mkdir(parents=True, exist_ok=True)
    if any(into.iterdir()):
        raise FileExistsError(f"{into} is not empty")
    try:
        with Archive(archive, limits or Limits(), packed_bytes) as opened:
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
    manifest = _manifest(archive, meta)
    listed = manifest.digests if manifest else []
    stated = [*meta.digests, *listed]
    by_file = _by_file(stated, archive.files)
    unsigned = (
        _list_unsigned(manifest, meta, archive.files) if manifest else []
    )
    if manifest:
        _check_complete(manifest, meta, unsigned)
    archive.unpack(into, by_file)
    return Csar(
        entry_definitions=meta.entry_definitions,
        created_by=meta.created_by,
        artifacts=_artifacts(stated),
        manifest=manifest.path if manifest else None,
        certificate=_certificate(meta, manifest, archive.files),
        signed=tuple(
            digest.artifact
            for digest in listed
            if "signature" in digest.artifact.metadata
        ),
        unsigned=tuple(unsigned),
    )


def _meta(archive: Archive) -> metadata.Meta:
    """Read TOSCA.meta; without it, the only YAML file at the root is used."""
    if metadata.TOSCA_META in archive.files:
        return metadata.read_tosca_meta(archive.text(metadata.TOSCA_META))
    for path in archive.files:
        folder, within, _ = path.partition(f"/{metadata.TOSCA_META}")
        if within:
            raise errors.InvalidPackage(
                f"{metadata.TOSCA_META} is in the folder {folder!r:.100}: pack"
                " what is in that folder, not the folder itself"
            )
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
            f"the package has no {metadata.TOSCA_META}, and"
            f" {len(found)} YAML files at its root, not one",
        )
    return metadata.Meta(found[0])


class _Manifest(NamedTuple):
    path: str
    digests: list[DeclaredDigest]


def _manifest(archive: Archive, meta: metadata.Meta) -> _Manifest | None:
    path = meta.manifest or _find_manifest(archive, meta.entry_definitions)
    if path is None:
        return None
    _check_exists(meta.manifest, "Manifest", archive.files)
    return _Manifest(path, metadata.read_manifest(archive.text(path), path))


def _check_exists(path: str | None, what: str, files: Iterable[str]) -> None:
    if path and path not in files:
        raise errors.InvalidPackage(
            f"{metadata.TOSCA_META}: the ETSI-Entry-{what} {path} is not in the"
            " package"
        )


def _certificate(
    meta: metadata.Meta, manifest: _Manifest | None, files: Iterable[str]
) -> str | None:
    """Find the file of the certificate (SOL004 4.3.6)."""
    if meta.certificate:
        _check_exists(meta.certificate, "Certificate", files)
        return meta.certificate
    beside = posixpath.splitext(manifest.path)[0] if manifest else ""
    return f"{beside}.cert" if f"{beside}.cert" in files else None


def _list_unsigned(
    manifest: _Manifest, meta: metadata.Meta, files: Iterable[str]
) -> list[str]:
    """List the files that a signature of the manifest does not cover.

    The manifest cannot list itself, nor the certificate and signatures that
    were created after it. TOSCA.meta and the entry definitions, which are
    read first, always have to be listed.
    """
    listed = [digest.artifact for digest in manifest.digests]
    later = {
        a.metadata[k]
        for a in listed
        for k in _SIGNING_FILES
        if k in a.metadata
    }
    later |= {manifest.path, _certificate(meta, manifest, files) or ""}
    later -= {metadata.TOSCA_META, meta.entry_definitions}
    found = {a.path for a in listed if a.hash or "signature" in a.metadata}
    return sorted(set(files) - found - later)


def _check_complete(
    manifest: _Manifest, meta: metadata.Meta, unsigned: Iterable[str]
) -> None:
    """Check that a manifest which lists files lists all of them.

    TOSCA.meta may list files, too. It and the definitions need no entry, as in
    many vendors' packages, unless the manifest is signed.

    :raises InvalidPackage: a file is not listed
    """
    if not manifest.digests:
        return
    found = {metadata.TOSCA_META}
    found |= {digest.artifact.path for digest in manifest.digests}
    found |= {digest.artifact.path for digest in meta.digests}
    for path in unsigned:
        if path not in found and not _is_definition(path):
            raise errors.InvalidPackage(
                f"{manifest.path}: {path} is in the package and not listed"
            )


def _find_manifest(archive: Archive, entry: str) -> str | None:
    """Find a manifest named like the entry definitions."""
    beside = posixpath.splitext(entry)[0] + ".mf"
    for path in (beside, posixpath.basename(beside)):
        if path in archive.files:
            return path
    return None


def _is_definition(path: str) -> bool:
    is_yaml = path.endswith((".yaml", ".yml"))
    return is_yaml and path.rpartition("/")[0] in {"", "Definitions"}


def _by_file(
    stated: Iterable[DeclaredDigest],
    files: Iterable[str],
) -> dict[str, list[DeclaredDigest]]:
    """Group digests by file.

    :raises InvalidPackage: a listed file is not in the package
    """
    found: dict[str, list[DeclaredDigest]] = collections.defaultdict(list)
    file_paths = set(files)
    for digest in stated:
        path = digest.artifact.path
        if digest.artifact.is_external:
            continue
        if path not in file_paths:
            raise errors.InvalidPackage(
                f"{digest.where}: {path} is not in the package",
            )
        found[path].append(digest)
    return found


def _artifacts(stated: Iterable[DeclaredDigest]) -> tuple[Artifact, ...]:
    """Return each listed file once; TOSCA.meta precedes the manifest."""
    found: dict[str, Artifact] = {}
    for digest in stated:
        previous = found.get(digest.artifact.path)
        if previous is None or previous.hash is None:
            found[digest.artifact.path] = digest.artifact
    return tuple(found.values())
