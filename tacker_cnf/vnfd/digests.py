"""Digests that a package lists for its files, as ETSI SOL004 allows them."""

import hashlib
import re
from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

import msgspec

from tacker_cnf import errors

ALGORITHM: Final = re.compile(r"sha-?_?(224|256|384|512)", re.IGNORECASE)


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the package lists, or a URL, which is never downloaded."""

    path: str
    #: as in hashlib; None: the package lists no digest
    algorithm: str | None = None
    hash: str | None = None
    #: further attributes, such as content-type, by names in lower case
    metadata: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def is_external(self) -> bool:
        return "://" in self.path


class DeclaredDigest(NamedTuple):
    """A digest, and the file and line that list it."""

    artifact: Artifact
    where: str


class Hash(Protocol):
    """An object of hashlib."""

    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


class Check:
    """Computes the digests of one file from chunks of its content."""

    def __init__(self, stated: Iterable[DeclaredDigest]) -> None:
        self._stated = list(stated)
        names = {digest.artifact.algorithm for digest in self._stated}
        self._hashes: dict[str, Hash] = {
            name: hashlib.new(name) for name in names if name
        }

    def update(self, data: bytes) -> None:
        for hasher in self._hashes.values():
            hasher.update(data)

    def finish(self) -> None:
        """Compare the digests with the listed ones.

        :raises InvalidPackage: a digest differs
        """
        for artifact, where in self._stated:
            if artifact.algorithm is None:
                continue
            found = self._hashes[artifact.algorithm].hexdigest()
            if found != artifact.hash:
                raise errors.InvalidPackage(
                    f"{where}: the {artifact.algorithm} digest of"
                    f" {artifact.path} is {found}, not {artifact.hash}",
                )


def stated(
    attributes: dict[str, str], path: str, where: str
) -> DeclaredDigest:
    """Parse the attributes that a package lists for a file.

    :raises InvalidPackage: the digest is incomplete, or its algorithm unknown
    """
    algorithm, digest = attributes.get("algorithm"), attributes.get("hash")
    if algorithm is not None or digest is not None:
        algorithm = _algorithm(algorithm or "", path, where)
        digest = (digest or "").lower()
        if len(digest) != hashlib.new(algorithm).digest_size * 2:
            raise errors.InvalidPackage(
                f"{where}: the Hash of {path} is not a {algorithm} digest",
            )
    metadata = {
        name: value
        for name, value in attributes.items()
        if name not in {"name", "source", "algorithm", "hash"}
    }
    artifact = Artifact(
        path=path,
        algorithm=algorithm,
        hash=digest,
        metadata=metadata,
    )
    return DeclaredDigest(artifact, where)


def _algorithm(written: str, path: str, where: str) -> str:
    if not written:
        raise errors.InvalidPackage(
            f"{where}: the Hash of {path} has no Algorithm"
        )
    match = ALGORITHM.fullmatch(written)
    if match is None:
        raise errors.InvalidPackage(
            f"{where}: the Algorithm of {path} is {written!r:.80}, not one of"
            " SHA-224, SHA-256, SHA-384 and SHA-512",
        )
    return f"sha{match[1]}"
