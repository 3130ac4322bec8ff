"""Unpack, verify and parse a CSAR."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from oslo_config import cfg

from tacker_cnf.catalogue import reference_imports
from tacker_cnf.vnfd import (
    code_files,
    csar,
    descriptor,
    signatures,
    tree_digest,
)
from tacker_cnf.vnfd.csar import Artifact, Csar
from tacker_cnf.vnfd.limits import Limits
from tacker_cnf.vnfd.model import Vnfd
from tacker_cnf.vnfd.signatures import (
    PackageSignature,
    SignaturePolicy,
    Signatures,
)
from tacker_cnf.vnfd.values import Warnings

#: warnings that the record of a package has at most
MAX_WARNINGS: Final = 50
#: of each warning
MAX_WARNING_CHARACTERS: Final = 500


class ParsedPackage(msgspec.Struct, frozen=True, kw_only=True):
    """The VNFD, artifacts and signature of a package."""

    vnfd: Vnfd
    #: its files that this service can run
    code: tuple[str, ...]
    artifacts: tuple[Artifact, ...]
    signature: PackageSignature | None
    #: what it does not conform to, and the onboarding tolerates
    warnings: Warnings = ()


class PackageReader:
    """Reads packages with the limits and signature policy of the
    configuration.

    :raises VnfmError: a trusted certificate cannot be read
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        options = conf.catalogue
        self._replaces = conf.scripts.replace_reference_drivers
        self._limits = Limits(
            max_unpacked_bytes=options.max_unpacked_bytes,
            max_files=options.max_files,
            max_ratio=options.max_ratio,
            max_package_ratio=options.max_package_ratio,
            min_free_bytes=options.min_free_bytes,
        )
        self._signatures = Signatures(
            SignaturePolicy(options.signatures), options.trusted_certificates
        )

    def read(self, archive: Path, tree: Path) -> ParsedPackage:
        """Unpack a package to a new directory, verify it, and parse its VNFD.

        :raises InvalidPackage: the CSAR, its signature or its VNFD is not
            valid
        :raises InsufficientStorage: the disk has no space for it
        """
        inner = archive.with_suffix(".inner")
        try:
            signature, unpacked = self._unpack(archive, inner, tree)
        finally:
            inner.unlink(missing_ok=True)
        signature = self._signatures.verify_tree(tree, unpacked) or signature
        self._signatures.check_required(signature)
        vnfd, warnings = descriptor.read(
            tree, unpacked.entry_definitions, self._limits
        )
        vnfd = code_files.with_listed(vnfd, unpacked.artifacts)
        vnfd = msgspec.structs.replace(
            vnfd, tree_digest=tree_digest.compute(tree)
        )
        code = code_files.find_code(vnfd, tree)
        warnings += reference_imports.check(
            vnfd, code, tree, replaces=self._replaces
        )
        return ParsedPackage(
            vnfd=vnfd,
            code=code,
            artifacts=unpacked.artifacts,
            signature=signature,
            warnings=_bounded(warnings),
        )

    def _unpack(
        self, archive: Path, inner: Path, tree: Path
    ) -> tuple[PackageSignature | None, Csar]:
        """Unpack a package, from its signed envelope if it has one."""
        envelope = signatures.extract_envelope(archive, inner, self._limits)
        if envelope is None:
            return None, csar.unpack(archive, tree, self._limits)
        signature = self._signatures.verify_envelope(envelope, inner)
        return signature, csar.unpack(
            inner, tree, self._limits, archive.stat().st_size
        )


def _bounded(warnings: Iterable[str]) -> Warnings:
    """Return each warning once, in one line, and not too many."""
    different = [
        " ".join(warning.split())[:MAX_WARNING_CHARACTERS]
        for warning in dict.fromkeys(warnings)
    ]
    if len(different) <= MAX_WARNINGS:
        return tuple(different)
    rest = len(different) - MAX_WARNINGS + 1
    return (*different[: MAX_WARNINGS - 1], f"and {rest} more warnings")
