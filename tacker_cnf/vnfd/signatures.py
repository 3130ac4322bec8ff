"""Verify the signatures of packages (SOL004 5), as the configuration requires.

Option 1: the manifest, which has the digests of all files, ends with its
signature. Option 2: the package is in a ZIP archive with its signature.
"""

import enum
import hashlib
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from cryptography.hazmat.primitives.serialization import Encoding
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.sol.vnf_package import PackageSecurityOption
from tacker_cnf.vnfd import cms, metadata, trust
from tacker_cnf.vnfd.archive import Archive
from tacker_cnf.vnfd.csar import Csar
from tacker_cnf.vnfd.limits import MIB, Limits

LOG = log.getLogger(__name__)

PACKAGES: Final = frozenset({".csar", ".zip"})
SIGNATURES: Final = frozenset({".cms", ".p7s"})
_BEGIN: Final = re.compile(metadata.SIGNATURE.pattern.encode(), re.MULTILINE)


class SignaturePolicy(enum.StrEnum):
    """Whether packages have to be signed."""

    REQUIRED = "required"
    CHECKED = "checked"
    OFF = "off"


class PackageSignature(msgspec.Struct, frozen=True, kw_only=True):
    """The option and the signer of a package's signature."""

    option: PackageSecurityOption
    #: PEM
    certificate: str


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """A package in an archive with its signature (SOL004 5.1, option 2)."""

    name: str
    signature: bytes
    signature_name: str
    certificates: tuple[bytes, ...] = ()


class Signatures:
    """Verifies signatures, as far as the policy requires.

    :param trusted: file or directory of certificates (PEM or DER)

    :raises VnfmError: a certificate cannot be read, or no certificate is
        trusted and signatures are required
    """

    def __init__(self, policy: SignaturePolicy, trusted: str | None) -> None:
        self._policy = policy
        self._trusted = trusted
        if policy == SignaturePolicy.OFF or self._read():
            return
        if policy == SignaturePolicy.REQUIRED:
            raise errors.VnfmError(
                "[catalogue] signatures is required, and trusted_certificates"
                " has none, so that every package would be rejected. Add the"
                " certificates of the signers or authorities to trust."
            )
        LOG.warning(
            "Trusted certificates missing: every signed VNF package will be "
            "rejected ([catalogue] signatures is checked)"
        )

    def _read(self) -> trust.Certificates:
        return trust.read(self._trusted) if self._trusted else ()

    def _certificates(self) -> trust.Certificates:
        """Read the certificates again, as they may have changed.

        :raises Unavailable: they cannot be read
        """
        try:
            return self._read()
        except errors.VnfmError as error:
            LOG.error("Trusted certificates not read: error=%s", error)  # noqa: TRY400
            raise errors.Unavailable(
                "[catalogue] trusted_certificates cannot be read at the "
                "moment, so that no signature can be verified; see the log "
                "of this service for the cause."
            ) from None

    def verify_envelope(
        self, envelope: Envelope, package: Path
    ) -> PackageSignature | None:
        """Verify the signature of a package in an envelope.

        :raises InvalidPackage: the signature is invalid
        """
        if self._policy == SignaturePolicy.OFF:
            return None

        def digests(algorithm: str) -> tuple[bytes, ...]:
            return (_digest(package, algorithm),)

        where = envelope.signature_name
        extra_certificates = _load_certificates(envelope.certificates, where)
        name = envelope.name
        signer = self._verify(
            envelope.signature, digests, extra_certificates, where, name
        )
        return PackageSignature(
            option=PackageSecurityOption.OPTION_2, certificate=signer
        )

    def verify_tree(self, tree: Path, opened: Csar) -> PackageSignature | None:
        """Verify the signatures of the manifest and of single files.

        :raises InvalidPackage: one is invalid
        """
        if self._policy == SignaturePolicy.OFF:
            return None
        extra_certificates = _read_certificates(tree, opened.certificate)
        for artifact in opened.signed:
            attributes = artifact.metadata
            own = (
                _read_certificates(tree, attributes.get("certificate"))
                or extra_certificates
            )
            self._verify_artifact(
                tree, artifact.path, attributes["signature"], own
            )
        return self._verify_manifest(tree, opened, extra_certificates)

    def _verify_manifest(
        self, tree: Path, opened: Csar, extra_certificates: trust.Certificates
    ) -> PackageSignature | None:
        name = opened.manifest
        whole = (tree / name).read_bytes() if name else b""
        begin = _BEGIN.search(whole)
        if not name or not begin:
            return None
        body = whole[: begin.start()]
        # S/MIME signs a text with CRLF line ends
        bodies = (body, re.sub(rb"\r?\n", b"\r\n", body))

        def digests(algorithm: str) -> tuple[bytes, ...]:
            return tuple(hashlib.new(algorithm, b).digest() for b in bodies)

        signature = whole[begin.start() :]
        signer = self._verify(
            signature,
            digests,
            extra_certificates,
            name,
            "the text before it",
        )
        if opened.unsigned:
            raise errors.InvalidPackage(
                f"{name}: {opened.unsigned[0]} is in the package, and the"
                " signature does not cover it; list it with its digest, and"
                " sign again"
            )
        return PackageSignature(
            option=PackageSecurityOption.OPTION_1, certificate=signer
        )

    def _verify_artifact(
        self, tree: Path, name: str, signature: str, own: trust.Certificates
    ) -> None:
        def digests(algorithm: str) -> tuple[bytes, ...]:
            return (_digest(tree / name, algorithm),)

        self._verify(
            _read_file(tree, signature), digests, own, signature, name
        )

    def _verify(
        self,
        signature: bytes,
        digests: cms.Digests,
        extra_certificates: trust.Certificates,
        where: str,
        what: str,
    ) -> str:
        """Verify one signature; return the signer's certificate in PEM.

        :param where: the file of the signature
        :param what: the name of the signed content, for errors
        """
        signed = cms.read(signature, where)
        signers = cms.verify(signed, digests, extra_certificates, where, what)
        others = (*signed.certificates, *extra_certificates)
        trusted = self._certificates()
        for signer in signers:
            trust.check(signer, others, trusted, where)
        return signers[0].public_bytes(Encoding.PEM).decode()

    def check_required(self, seal: PackageSignature | None) -> None:
        """Reject an unsigned package if the policy requires a signature.

        :raises InvalidPackage: it is not signed
        """
        if seal is None and self._policy == SignaturePolicy.REQUIRED:
            raise errors.InvalidPackage(
                "the package is not signed, and [catalogue] signatures is"
                " required: sign its manifest, or the package as a whole"
            )


def extract_envelope(
    archive: Path, into: Path, limits: Limits
) -> Envelope | None:
    """Extract the package from its envelope; None: it has none.

    :param into: the file to write the package to

    :raises InvalidPackage: the envelope is unreadable or has no signature
    """
    with Archive(archive, limits) as opened:
        kinds = {
            name: posixpath.splitext(name)[1].lower() for name in opened.files
        }
        names = [name for name in kinds if kinds[name] in PACKAGES]
        others = set(kinds.values()) - PACKAGES - SIGNATURES - trust.SUFFIXES
        if len(names) != 1 or others or any("/" in name for name in kinds):
            return None
        signatures = [name for name in kinds if kinds[name] in SIGNATURES]
        if len(signatures) != 1:
            raise errors.InvalidPackage(
                f"the archive contains {names[0]} and {len(signatures)}"
                " signatures of it (.cms, .p7s), not one"
            )
        opened.extract(names[0], into)
        return Envelope(
            name=names[0],
            signature=opened.read_small(signatures[0]),
            signature_name=signatures[0],
            certificates=tuple(
                opened.read_small(name)
                for name in kinds
                if kinds[name] in trust.SUFFIXES
            ),
        )


def _digest(path: Path, algorithm: str) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).digest()


def _read_certificates(tree: Path, name: str | None) -> trust.Certificates:
    """Read a file of certificates, which itself need not be signed.

    :raises InvalidPackage: it contains other content, which is not signed
    """
    if not name:
        return ()
    data = _read_file(tree, name)
    found = _load_certificates([data], name)
    if not trust.is_bare(data):
        raise errors.InvalidPackage(
            f"{name}: it contains more than certificates; remove the text"
            " around the PEM blocks"
        )
    return found


def _load_certificates(
    files: Iterable[bytes], where: str
) -> trust.Certificates:
    try:
        return tuple(cert for data in files for cert in trust.load(data))
    except ValueError:
        raise errors.InvalidPackage(
            f"{where}: a certificate next to it cannot be read; PEM or DER is"
            " expected"
        ) from None


def _read_file(tree: Path, name: str) -> bytes:
    """Read a file that the manifest names as a signature or certificate.

    :raises InvalidPackage: it is missing or too large
    """
    path = tree / name
    inside = path.resolve().is_relative_to(tree.resolve())
    if not inside or not path.is_file() or path.stat().st_size > 4 * MIB:
        raise errors.InvalidPackage(
            f"{name}: the manifest names it as a signature or certificate, and"
            " it is not in the package, or larger than 4 MiB"
        )
    return path.read_bytes()
