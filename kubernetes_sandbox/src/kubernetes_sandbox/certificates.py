"""The certificate authority of a cluster, made anew at each start."""

import datetime as dt
import ipaddress
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = dt.timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, both PEM."""

    certificate: str
    key: str


def _subject(common_name: str, organization: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        parts.append(
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)
        )
    return x509.Name(parts)


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


class Authority:
    """Signs the certificates of one cluster."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject("sandbox-ca")
        builder = self._builder(self._name, self._key.public_key())
        builder = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        ).add_extension(
            x509.KeyUsage(
                digital_signature=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=True,
                crl_sign=True,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        self._certificate = builder.sign(self._key, hashes.SHA256())

    @property
    def pem(self) -> str:
        """The authority's own certificate."""
        encoding = serialization.Encoding.PEM
        return self._certificate.public_bytes(encoding).decode()

    def server(self, hosts: tuple[str, ...]) -> Pair:
        """Sign a certificate for the API server."""
        names = x509.SubjectAlternativeName([_alternative(h) for h in hosts])
        return self._issue(
            _subject("kube-apiserver"), ExtendedKeyUsageOID.SERVER_AUTH, names
        )

    def client(self, user: str, group: str) -> Pair:
        """Sign a certificate for a user in a group."""
        usage = ExtendedKeyUsageOID.CLIENT_AUTH
        return self._issue(_subject(user, group), usage, None)

    def _issue(
        self,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        names: x509.SubjectAlternativeName | None,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key()).add_extension(
            x509.ExtendedKeyUsage([usage]), critical=False
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        encoding = serialization.Encoding.PEM
        return Pair(signed.public_bytes(encoding).decode(), _pem(key))

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        identifier = x509.SubjectKeyIdentifier.from_public_key(key)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(
            self._key.public_key()
        )
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(minutes=5))
            .not_valid_after(now + _VALID)
            .add_extension(identifier, critical=False)
            .add_extension(authority, critical=False)
        )
