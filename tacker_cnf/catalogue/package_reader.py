"""From a CSAR as it came to what is known of it."""

from pathlib import Path

import msgspec
from oslo_config import cfg

from tacker_cnf.vnfd import csar, descriptor, signatures
from tacker_cnf.vnfd.csar import Artifact, Csar
from tacker_cnf.vnfd.limits import Limits
from tacker_cnf.vnfd.model import Vnfd
from tacker_cnf.vnfd.signatures import (
    PackageSignature,
    SignaturePolicy,
    Signatures,
)


class ParsedPackage(msgspec.Struct, frozen=True, kw_only=True):
    """What a package is found to be."""

    vnfd: Vnfd
    artifacts: tuple[Artifact, ...]
    seal: PackageSignature | None


class PackageReader:
    """Checks packages by the configuration.

    :raises VnfmError: a trusted certificate cannot be read
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        options = conf.catalogue
        self._limits = Limits(
            max_unpacked_bytes=options.max_unpacked_bytes,
            max_files=options.max_files,
            max_ratio=options.max_ratio,
        )
        self._signatures = Signatures(
            SignaturePolicy(options.signatures), options.trusted_certificates
        )

    def read(self, archive: Path, tree: Path) -> ParsedPackage:
        """Unpack a package below a new directory, and check all of it.

        :raises InvalidPackage: says what is wrong with it
        """
        inner = archive.with_suffix(".inner")
        try:
            seal, unpacked = self._unpack(archive, inner, tree)
        finally:
            inner.unlink(missing_ok=True)
        seal = self._signatures.verify_tree(tree, unpacked) or seal
        self._signatures.check_required(seal)
        vnfd = descriptor.read(tree, unpacked.entry_definitions, self._limits)
        return ParsedPackage(
            vnfd=vnfd, artifacts=unpacked.artifacts, seal=seal
        )

    def _unpack(
        self, archive: Path, inner: Path, tree: Path
    ) -> tuple[PackageSignature | None, Csar]:
        """Unpack a package, with its envelope or without."""
        envelope = signatures.extract_envelope(archive, inner, self._limits)
        if envelope is None:
            return None, csar.unpack(archive, tree, self._limits)
        seal = self._signatures.verify_envelope(envelope, inner)
        return seal, csar.unpack(inner, tree, self._limits)
