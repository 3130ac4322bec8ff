"""Detached signatures in CMS (IETF RFC 5652), as SOL004 uses them.

The cryptography library creates such signatures and reads their certificates,
but it does not verify them.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from tacker_cnf import errors
from tacker_cnf.vnfd import der

T = TypeVar("T")
#: returns the accepted digests of the content for a hash algorithm
Digests = Callable[[str], Collection[bytes]]

PEM: Final = re.compile(
    rb"\s*-----BEGIN (CMS|PKCS7)-----(.*)-----END \1-----\s*", re.DOTALL
)
MAX_SIGNERS: Final = 8
SIGNED_DATA: Final = "1.2.840.113549.1.7.2"
DATA: Final = "1.2.840.113549.1.7.1"
CONTENT_TYPE: Final = "1.2.840.113549.1.9.3"
MESSAGE_DIGEST: Final = "1.2.840.113549.1.9.4"
HASHES: Final[dict[str, hashes.HashAlgorithm]] = {
    "sha224": hashes.SHA224(),
    "sha256": hashes.SHA256(),
    "sha384": hashes.SHA384(),
    "sha512": hashes.SHA512(),
}
DIGESTS: Final = {
    "2.16.840.1.101.3.4.2.4": "sha224",
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
}
#: OID -> the signature scheme, and its digest if the OID implies one
SIGNATURE_ALGORITHMS: Final[dict[str, tuple[str, str | None]]] = {
    "1.2.840.113549.1.1.1": ("rsa", None),
    "1.2.840.113549.1.1.14": ("rsa", "sha224"),
    "1.2.840.113549.1.1.11": ("rsa", "sha256"),
    "1.2.840.113549.1.1.12": ("rsa", "sha384"),
    "1.2.840.113549.1.1.13": ("rsa", "sha512"),
    "1.2.840.113549.1.1.10": ("rsa-pss", None),
    "1.2.840.10045.2.1": ("ecdsa", None),
    "1.2.840.10045.4.3.1": ("ecdsa", "sha224"),
    "1.2.840.10045.4.3.2": ("ecdsa", "sha256"),
    "1.2.840.10045.4.3.3": ("ecdsa", "sha384"),
    "1.2.840.10045.4.3.4": ("ecdsa", "sha512"),
    "1.3.101.112": ("ed25519", None),
}


class SignerInfo(NamedTuple):
    """The fields of RFC 5652, 5.3, that are needed."""

    #: issuer and serial number as encoded in the certificate
    issuer_and_serial: bytes
    subject_key_id: bytes
    digest: str
    signature_algorithm: str
    #: the signed attributes as encoded for the signature; empty: none
    attributes: bytes
    signature: bytes


class SignedData(NamedTuple):
    """The fields of RFC 5652, 5.1, that are needed."""

    content_type: str
    certificates: Sequence[x509.Certificate]
    signers: Sequence[SignerInfo]


def read(data: bytes, where: str) -> SignedData:
    """Parse a detached signature, PEM or DER.

    :raises InvalidPackage: it is malformed, or of an unsupported type
    """
    try:
        match = PEM.fullmatch(data)
        if match:
            data = base64.b64decode(b"".join(match[2].split()), validate=True)
        return _signed_data(data)
    except (ValueError, IndexError, UnsupportedAlgorithm) as error:
        raise _unreadable(where, error) from None


def verify(
    signed: SignedData,
    digests: Digests,
    extra_certificates: Sequence[x509.Certificate],
    where: str,
    what: str,
) -> tuple[x509.Certificate, ...]:
    """Verify every signature; return the signers' certificates.

    This does not check whether the certificates are trusted.

    :param extra_certificates: certificates that are not in the signature
    :param where: the file of the signature
    :param what: the name of the signed content, for errors

    :raises InvalidPackage: a signature is not of this content, or the signer's
        certificate is missing
    """
    candidates = (*signed.certificates, *extra_certificates)
    return tuple(
        _verify(signer, signed.content_type, digests, candidates, where, what)
        for signer in signed.signers
    )


def _signed_data(data: bytes) -> SignedData:
    kind, content = der.values(der.read_one(data, der.SEQUENCE))
    if _oid(kind) != SIGNED_DATA or content.tag != der.CONTEXT[0]:
        raise der.Unreadable("it is not a CMS signature")
    _, _, inside, *rest = der.values(
        der.read_one(content.content, der.SEQUENCE)
    )
    carried = der.values(inside.content)
    if len(carried) != 1:
        raise der.Unreadable(
            "it includes the signed content; sign without it (openssl:"
            " without -nodetach)"
        )
    certificates = [
        certificate
        for value in rest
        if value.tag == der.CONTEXT[0]
        for certificate in _certificates(value.content)
    ]
    signers = [
        _signer(signer)
        for value in rest
        if value.tag == der.SET
        for signer in der.values(value.content)
    ]
    if not 1 <= len(signers) <= MAX_SIGNERS:
        raise der.Unreadable(
            f"it has {len(signers)} signers, not 1 to {MAX_SIGNERS}"
        )
    return SignedData(_oid(carried[0]), certificates, signers)


def _certificates(content: bytes) -> Iterator[x509.Certificate]:
    for value in der.values(content):
        if value.tag == der.SEQUENCE:
            yield x509.load_der_x509_certificate(value.whole)


def _signer(value: der.Value) -> SignerInfo:
    _, signer_id, digest, *rest = der.values(value.content)
    attributes = b""
    if rest[0].tag == der.CONTEXT[0]:
        # the signature covers the encoding as a SET
        attributes = bytes([der.SET]) + rest.pop(0).whole[1:]
    signature_algorithm, signature = rest[:2]
    digest_name = _find_algorithm(DIGESTS, digest)
    name, own = _find_algorithm(SIGNATURE_ALGORITHMS, signature_algorithm)
    if own not in {None, digest_name}:
        raise der.Unreadable("it uses two hash algorithms")
    by_key = signer_id.tag == der.CONTEXT_PLAIN
    return SignerInfo(
        issuer_and_serial=b"" if by_key else signer_id.content,
        subject_key_id=signer_id.content if by_key else b"",
        digest=digest_name,
        signature_algorithm=name,
        attributes=attributes,
        signature=signature.content,
    )


def _oid(value: der.Value) -> str:
    return der.dotted(der.read_one(value.whole, der.OBJECT_ID))


def _find_algorithm(table: Mapping[str, T], algorithm: der.Value) -> T:
    oid = _oid(der.values(algorithm.content)[0])
    if oid not in table:
        raise der.Unreadable(
            f"the algorithm {oid} is not supported; SHA-224 to SHA-512 are,"
            " with RSA, ECDSA and Ed25519"
        )
    return table[oid]


def _verify(
    signer: SignerInfo,
    content_type: str,
    digests: Digests,
    candidates: Sequence[x509.Certificate],
    where: str,
    what: str,
) -> x509.Certificate:
    certificate = _certificate_of(signer, candidates, where)
    digest = _signed_digest(signer, content_type, digests, where, what)
    try:
        _check(certificate, signer, digest)
    except (InvalidSignature, ValueError, UnsupportedAlgorithm):
        raise errors.InvalidPackage(
            f"{where}: the signature does not match the key of"
            f" {certificate.subject.rfc4514_string()!r:.200}: it is damaged, or"
            f" not of {what}"
        ) from None
    return certificate


def _certificate_of(
    signer: SignerInfo, candidates: Sequence[x509.Certificate], where: str
) -> x509.Certificate:
    for certificate in candidates:
        if _is_signed_by(signer, certificate):
            return certificate
    raise errors.InvalidPackage(
        f"{where}: the signer's certificate is not in the package; add it, or"
        " include it in the signature (openssl: without -nocerts)"
    )


def _is_signed_by(signer: SignerInfo, certificate: x509.Certificate) -> bool:
    if signer.subject_key_id:
        try:
            found = certificate.extensions.get_extension_for_class(
                x509.SubjectKeyIdentifier
            )
        except (x509.ExtensionNotFound, ValueError):
            return False
        return found.value.digest == signer.subject_key_id
    inside = der.read_one(certificate.tbs_certificate_bytes, der.SEQUENCE)
    fields = der.values(inside)
    if fields[0].tag == der.CONTEXT[0]:  # the version
        fields.pop(0)
    serial, _, issuer = fields[:3]
    return issuer.whole + serial.whole == signer.issuer_and_serial


def _signed_digest(
    signer: SignerInfo,
    content_type: str,
    digests: Digests,
    where: str,
    what: str,
) -> bytes:
    """Return the digest of what was signed: of the signed attributes, which
    contain the digest of the content, or of the content itself.
    """
    expected = digests(signer.digest)
    if not signer.attributes:
        if content_type != DATA:
            raise errors.InvalidPackage(
                f"{where}: the signature has no signed attributes"
            )
        return next(iter(expected))
    attributes = _attributes(signer.attributes, where)
    if attributes.get(MESSAGE_DIGEST) not in expected:
        raise errors.InvalidPackage(
            f"{where}: the signature is of another content than {what}, which"
            " was changed after it was signed, or was not signed as it is"
            " (openssl: -binary)"
        )
    if attributes.get(CONTENT_TYPE) != content_type.encode():
        raise errors.InvalidPackage(
            f"{where}: the signature is of another type of content"
        )
    return hashlib.new(signer.digest, signer.attributes).digest()


def _attributes(signed: bytes, where: str) -> dict[str, bytes]:
    try:
        return dict(_iter_attributes(signed))
    except (ValueError, IndexError) as error:
        raise _unreadable(where, error) from None


def _unreadable(where: str, error: Exception) -> errors.InvalidPackage:
    is_der_error = isinstance(error, der.Unreadable)
    why = str(error) if is_der_error else "it is damaged"
    return errors.InvalidPackage(
        f"{where}: the signature cannot be read: {why}. A detached CMS"
        " signature (RFC 5652) is expected, in PEM, or in DER without -stream."
    )


def _iter_attributes(signed: bytes) -> Iterator[tuple[str, bytes]]:
    seen = set()
    for attribute in der.values(der.read_one(signed, der.SET)):
        kind, content = der.values(attribute.content)
        name = _oid(kind)
        if name in seen:
            raise der.Unreadable("an attribute is repeated")
        seen.add(name)
        if name == MESSAGE_DIGEST:
            yield name, der.read_one(content.content, der.OCTETS)
        elif name == CONTENT_TYPE:
            yield name, _oid(der.values(content.content)[0]).encode()


def _check(
    certificate: x509.Certificate, signer: SignerInfo, digest: bytes
) -> None:
    """Verify one signature.

    :raises InvalidSignature: it does not match
    :raises ValueError: the key is of another type than the signature
    """
    key = certificate.public_key()
    hash_algorithm = HASHES[signer.digest]
    hashed = Prehashed(hash_algorithm)
    if signer.signature_algorithm == "rsa" and isinstance(
        key, rsa.RSAPublicKey
    ):
        key.verify(signer.signature, digest, padding.PKCS1v15(), hashed)
    elif signer.signature_algorithm == "rsa-pss" and isinstance(
        key, rsa.RSAPublicKey
    ):
        mask = padding.PSS(padding.MGF1(hash_algorithm), padding.PSS.AUTO)
        key.verify(signer.signature, digest, mask, hashed)
    elif signer.signature_algorithm == "ecdsa" and isinstance(
        key, ec.EllipticCurvePublicKey
    ):
        key.verify(signer.signature, digest, ec.ECDSA(hashed))
    elif (
        signer.signature_algorithm == "ed25519"
        and signer.attributes
        and isinstance(key, ed25519.Ed25519PublicKey)
    ):
        key.verify(signer.signature, signer.attributes)
    else:
        raise ValueError("the key is of another type")
