"""Creates detached CMS signatures, also those that no tool would create."""

import base64
import functools
import hashlib
from collections.abc import Sequence
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import SubjectKeyIdentifier

from tests.fixtures import signing
from tests.fixtures.signing import Identity

DATA = "1.2.840.113549.1.7.1"
SIGNED_DATA = "1.2.840.113549.1.7.2"
CONTENT_TYPE = "1.2.840.113549.1.9.3"
MESSAGE_DIGEST = "1.2.840.113549.1.9.4"
SIGNING_TIME = "1.2.840.113549.1.9.5"
RSA, RSA_PSS = "1.2.840.113549.1.1.1", "1.2.840.113549.1.1.10"
ECDSA, ED25519 = "1.2.840.10045.2.1", "1.3.101.112"
SEQUENCE, SET, OCTETS = 0x30, 0x31, 0x04
DIGESTS = {
    "sha224": "2.16.840.1.101.3.4.2.4",
    "sha256": "2.16.840.1.101.3.4.2.1",
    "sha384": "2.16.840.1.101.3.4.2.2",
    "sha512": "2.16.840.1.101.3.4.2.3",
}
HASHES: dict[str, hashes.HashAlgorithm] = {
    "sha224": hashes.SHA224(),
    "sha256": hashes.SHA256(),
    "sha384": hashes.SHA384(),
    "sha512": hashes.SHA512(),
}


def der(tag: int, *parts: bytes) -> bytes:
    """Encode a value."""
    content = b"".join(parts)
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    size = len(content).to_bytes((len(content).bit_length() + 7) // 8)
    return bytes([tag, 0x80 | len(size)]) + size + content


def oid(dotted: str) -> bytes:
    """Encode an object identifier."""
    first, second, *rest = map(int, dotted.split("."))
    content = b""
    for arc in (40 * first + second, *rest):
        digits = [arc & 0x7F]
        while arc := arc >> 7:
            digits.insert(0, 0x80 | arc & 0x7F)
        content += bytes(digits)
    return der(0x06, content)


def algorithm(dotted: str) -> bytes:
    return der(SEQUENCE, oid(dotted))


def attribute(kind: str, *values: bytes) -> bytes:
    return der(SEQUENCE, oid(kind), der(SET, *values))


def usual_attributes(
    content: bytes, digest: str = "sha256", content_type: str = DATA
) -> list[bytes]:
    digested = hashlib.new(digest, content).digest()
    return [
        attribute(CONTENT_TYPE, oid(content_type)),
        attribute(SIGNING_TIME, der(0x17, b"261120120000Z")),
        attribute(MESSAGE_DIGEST, der(OCTETS, digested)),
    ]


def signer_info(
    content: bytes,
    identity: Identity,
    *,
    kind: str = ECDSA,
    digest: str = "sha256",
    attributes: Sequence[bytes] | None = None,
    by_key: bool = False,
    digest_oid: str | None = None,
    more: bytes = b"",
) -> bytes:
    """Sign a content.

    :param attributes: signed attributes; default: the usual ones; (): none
    :param by_key: name the certificate by its key, not issuer and number
    """
    if attributes is None:
        attributes = usual_attributes(content, digest)
    signed = der(SET, *attributes) if attributes else content
    signature = _sign(signed, identity.key, kind, digest)
    return der(
        SEQUENCE,
        der(0x02, b"\x03" if by_key else b"\x01"),
        _name_of(identity, by_key=by_key),
        algorithm(digest_oid or DIGESTS[digest]),
        der(0xA0, *attributes) if attributes else b"",
        algorithm(kind),
        der(OCTETS, signature),
        more,
    )


def _sign(data: bytes, key: Any, kind: str, digest: str) -> bytes:
    hashed = HASHES[digest]
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(data)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(data, ec.ECDSA(hashed))
    pad: Any = padding.PKCS1v15()
    if kind == RSA_PSS:
        pad = padding.PSS(padding.MGF1(hashed), hashed.digest_size)
    return bytes(key.sign(data, pad, hashed))


def _name_of(identity: Identity, *, by_key: bool) -> bytes:
    certificate = identity.certificate
    if by_key:
        extensions = certificate.extensions
        found = extensions.get_extension_for_class(SubjectKeyIdentifier)
        return der(0x80, found.value.digest)
    number = certificate.serial_number
    encoded = number.to_bytes(number.bit_length() // 8 + 1)
    issuer = certificate.issuer.public_bytes()
    return der(SEQUENCE, issuer, der(0x02, encoded))


def signed_data(
    *signers: bytes,
    certificates: Sequence[Identity] = (),
    content: bytes = b"",
    content_type: str = DATA,
    kind: str = SIGNED_DATA,
    more: bytes = b"",
) -> bytes:
    """Build a CMS signature in DER.

    :param content: what is signed, where it is included
    :param more: further entries among the certificates
    """
    included = der(0xA0, der(OCTETS, content)) if content else b""
    carried = b"".join(
        identity.certificate.public_bytes(Encoding.DER)
        for identity in certificates
    )
    return der(
        SEQUENCE,
        oid(kind),
        der(
            0xA0,
            der(
                SEQUENCE,
                der(0x02, b"\x01"),
                der(SET, algorithm(DIGESTS["sha256"])),
                der(SEQUENCE, oid(content_type), included),
                der(0xA0, more + carried) if more + carried else b"",
                der(SET, *signers),
            ),
        ),
    )


def pem(data: bytes, label: str = "CMS") -> bytes:
    text = base64.encodebytes(data).decode()
    return f"-----BEGIN {label}-----\n{text}-----END {label}-----\n".encode()


def sign(content: bytes, identity: Identity, **options: Any) -> bytes:
    """Sign a content; the signature includes the certificate."""
    signer = signer_info(content, identity, **options)
    return signed_data(signer, certificates=[identity])


@functools.cache
def authority() -> Identity:
    return signing.create_identity("root", is_authority=True)


@functools.cache
def vendor() -> Identity:
    return signing.create_identity("vendor", authority())


@functools.cache
def rsa_vendor() -> Identity:
    key = signing.rsa_key()
    return signing.create_identity("rsa", authority(), key=key)
