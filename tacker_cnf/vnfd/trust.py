"""Check certificates against the trusted ones (X.509, IETF RFC 5280)."""

import datetime
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509 import verification
from cryptography.x509.verification import Criticality, ExtensionPolicy

from tacker_cnf import errors

PEM: Final = b"-----BEGIN CERTIFICATE-----"
SUFFIXES: Final = frozenset({".pem", ".crt", ".cer", ".cert"})

#: minimum size of RSA keys, also of authorities
MIN_RSA_BITS: Final = 2048

_BARE: Final = re.compile(
    rb"\s*(?:-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+"
    rb"-----END CERTIFICATE-----\s*)+"
)

Certificates = Sequence[x509.Certificate]


def load(data: bytes) -> Certificates:
    """Read certificates, PEM or DER.

    :raises ValueError: there are none
    """
    if PEM in data:
        return x509.load_pem_x509_certificates(data)
    return (x509.load_der_x509_certificate(data),)


def is_bare(data: bytes) -> bool:
    """Check that data contain nothing besides the certificates of load().

    PEM ignores the text between its blocks; DER cannot contain any.
    """
    return PEM not in data or _BARE.fullmatch(data) is not None


def read(path: str) -> Certificates:
    """Read the certificates of a file, or of the files of a directory.

    :raises VnfmError: one cannot be read
    """
    place = Path(path)
    try:
        files = sorted(place.iterdir()) if place.is_dir() else [place]
    except OSError as error:
        raise _unreadable(place, error) from None
    return tuple(
        certificate
        for file in files
        if file == place or file.suffix in SUFFIXES
        for certificate in _of_file(file)
    )


def _of_file(file: Path) -> Certificates:
    try:
        return load(file.read_bytes())
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None


def _unreadable(place: Path, error: Exception) -> errors.VnfmError:
    if isinstance(error, OSError):
        why = error.strerror or str(error)
    else:
        why = "it contains no certificate in PEM or DER"
    return errors.VnfmError(
        f"[catalogue] trusted_certificates: {place} cannot be read: {why}."
    )


def check(
    signer: x509.Certificate,
    others: Certificates,
    trusted: Certificates,
    where: str,
) -> None:
    """Check that a certificate is valid today, and is trusted or has a chain
    to a trusted one.

    :param others: certificates for the chain

    :raises InvalidPackage: it is not
    """
    now = datetime.datetime.now(datetime.UTC)
    name = signer.subject.rfc4514_string()
    fault = (
        _fault_of_time(signer, now)
        or _fault_of_key(signer)
        or _fault_of_use(signer)
    )
    if not fault and signer not in trusted:
        fault = _fault_of_chain(signer, others, trusted, now)
    if fault:
        raise errors.InvalidPackage(
            f"{where}: the certificate of {name!r:.200} is not trusted:"
            f" {fault}"
        )


def _fault_of_time(
    certificate: x509.Certificate, now: datetime.datetime
) -> str | None:
    if now < certificate.not_valid_before_utc:
        return f"not valid before {certificate.not_valid_before_utc}"
    if now > certificate.not_valid_after_utc:
        return f"not valid after {certificate.not_valid_after_utc}"
    return None


def _fault_of_key(certificate: x509.Certificate) -> str | None:
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < MIN_RSA_BITS:
        return f"its key has {key.key_size} bits"
    return None


def _fault_of_use(certificate: x509.Certificate) -> str | None:
    """Check that the key is for signatures, if keyUsage is present."""
    try:
        use = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    except x509.ExtensionNotFound:
        return None
    except ValueError:
        return "its extensions cannot be read"
    if use.value.digital_signature or use.value.content_commitment:
        return None
    return (
        "its key is not for signing (keyUsage has neither digitalSignature nor"
        " nonRepudiation)"
    )


def _fault_of_chain(
    signer: x509.Certificate,
    others: Certificates,
    trusted: Certificates,
    now: datetime.datetime,
) -> str | None:
    if not trusted:
        return "[catalogue] trusted_certificates has no certificate"
    verifier = (
        verification.PolicyBuilder()
        .store(verification.Store(list(trusted)))
        .time(now)
        .extension_policies(ca_policy=_AUTHORITY, ee_policy=_SIGNER)
        .build_client_verifier()
    )
    try:
        verifier.verify(signer, list(others))
    except (verification.VerificationError, ValueError) as error:
        return (
            "it is not among [catalogue] trusted_certificates, and no chain"
            f" of the certificates in the package leads to one ({error})"
        )
    return None


def _check_authority(
    _policy: verification.Policy,
    _certificate: x509.Certificate,
    constraints: x509.BasicConstraints,
) -> None:
    if not constraints.ca:
        raise ValueError("it is not a CA certificate")


def _check_authority_use(
    _policy: verification.Policy,
    _certificate: x509.Certificate,
    use: x509.KeyUsage | None,
) -> None:
    if use and not use.key_cert_sign:
        raise ValueError("its key is not for signing certificates")


_AUTHORITY: Final = (
    ExtensionPolicy.permit_all()
    .require_present(
        x509.BasicConstraints, Criticality.AGNOSTIC, _check_authority
    )
    .may_be_present(x509.KeyUsage, Criticality.AGNOSTIC, _check_authority_use)
)
#: signers may have any names and purposes, unlike web servers
_SIGNER: Final = ExtensionPolicy.permit_all()
