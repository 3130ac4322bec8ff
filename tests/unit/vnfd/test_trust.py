"""Which certificates are trusted."""

from pathlib import Path
from typing import Any

import fixtures
import testtools
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from tacker_cnf import errors
from tacker_cnf.vnfd import trust
from tests.fixtures import signing
from tests.fixtures.signing import DAY, NOW, Identity
from tests.unit.vnfd.cms_encoder import authority, vendor


def certificates(*identities: Identity) -> list[x509.Certificate]:
    return [identity.certificate for identity in identities]


class TestLoad(testtools.TestCase):
    def test_pem_and_der(self) -> None:
        both = certificates(vendor(), authority())
        pem = vendor().pem + b"a text\n" + authority().pem
        self.assertEqual(both, list(trust.load(pem)))
        der = vendor().certificate.public_bytes(Encoding.DER)
        self.assertEqual(both[:1], list(trust.load(der)))
        for data in (b"", b"x", trust.PEM, der[:-1]):
            self.assertRaises(ValueError, trust.load, data)

    def test_nothing_besides_certificates(self) -> None:
        pem, other = vendor().pem, authority().pem
        der = vendor().certificate.public_bytes(Encoding.DER)
        for data, expected in (
            (pem, True),
            (der, True),
            (pem + other, True),
            (b"\n " + pem + b"\r\n\n" + other + b"\n", True),
            (pem.replace(b"\n", b"\r\n"), True),
            (b"a" + pem, False),
            (pem + b"a", False),
            (pem + b"key: value\n" + other, False),
        ):
            self.assertIs(expected, trust.is_bare(data))


class TestRead(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)

    def test_a_file_has_any_name(self) -> None:
        path = self.folder / "trusted"
        path.write_bytes(vendor().pem)
        self.assertEqual(certificates(vendor()), list(trust.read(str(path))))

    def test_files_of_a_directory_in_order(self) -> None:
        for name, identity in (
            ("b.pem", vendor()),
            ("a.crt", authority()),
            ("c.cer", authority()),
            ("d.cert", vendor()),
        ):
            (self.folder / name).write_bytes(identity.pem)
        (self.folder / "README").write_text("no certificate")
        found = trust.read(str(self.folder))
        expected = certificates(authority(), vendor(), authority(), vendor())
        self.assertEqual(expected, list(found))

    def test_certificates_that_cannot_be_read(self) -> None:
        bad = self.folder / "bad.pem"
        bad.write_text("no certificate")
        no_file = "No such file or directory"
        no_certificate = "it contains no certificate in PEM or DER"
        for path, place, why in (
            (bad, bad, no_certificate),
            (self.folder, bad, no_certificate),
            (self.folder / "none", self.folder / "none", no_file),
        ):
            error = self.assertRaises(errors.VnfmError, trust.read, str(path))
            self.assertEqual(
                f"[catalogue] trusted_certificates: {place} cannot be read:"
                f" {why}.",
                str(error),
            )


class TestCheck(testtools.TestCase):
    def check(
        self,
        signer: Identity,
        *others: Identity,
        trusted: Any = None,
    ) -> None:
        anchors = [authority()] if trusted is None else trusted
        trust.check(
            signer.certificate,
            certificates(*others),
            certificates(*anchors),
            "its.cms",
        )

    def refused(
        self, message: str, signer: Identity, *others: Identity, **more: Any
    ) -> None:
        error = self.assertRaises(
            errors.InvalidPackage, self.check, signer, *others, **more
        )
        name = signer.certificate.subject.rfc4514_string()
        self.assertIn(
            f"its.cms: the certificate of '{name}' is not trusted: {message}",
            str(error),
        )

    def test_a_chain_to_a_trusted_authority(self) -> None:
        self.check(vendor())
        middle = signing.create_identity(
            "middle", authority(), is_authority=True
        )
        signer = signing.create_identity("branch", middle)
        self.check(signer, middle)
        self.check(signer, vendor(), middle)
        self.check(signer, trusted=[middle])
        self.refused("it is not among [catalogue]", signer)

    def test_a_trusted_signer(self) -> None:
        alone = signing.create_identity("alone")
        self.check(alone, trusted=[authority(), alone])
        self.refused("it is not among [catalogue]", alone)
        self.refused("it is not among [catalogue]", alone, alone)

    def test_no_trusted_certificate(self) -> None:
        self.refused(
            "[catalogue] trusted_certificates has no certificate",
            vendor(),
            authority(),
            trusted=(),
        )

    def test_an_authority_of_the_same_name(self) -> None:
        other = signing.create_identity("root", is_authority=True)
        self.refused(
            "it is not among [catalogue]",
            signing.create_identity("vendor", other),
            other,
        )

    def test_authorities(self) -> None:
        for options, message in (
            ({"is_authority": False}, "no chain"),
            (
                {"is_authority": True, "uses": {"digital_signature": True}},
                "no chain",
            ),
            ({"is_authority": True, "until": NOW - DAY}, "no chain"),
            ({"is_authority": True, "uses": {"key_cert_sign": True}}, None),
        ):
            middle = signing.create_identity("middle", authority(), **options)
            signer = signing.create_identity("branch", middle)
            if message:
                self.refused("it is not among", signer, middle)
            else:
                self.check(signer, middle)

    def test_the_time_of_a_certificate(self) -> None:
        def identity(since: Any, until: Any) -> Identity:
            key = vendor().key
            name = vendor().certificate.subject
            built = (
                x509.CertificateBuilder()
                .subject_name(name)
                .issuer_name(name)
                .public_key(key.public_key())
                .serial_number(1)
                .not_valid_before(since)
                .not_valid_after(until)
            )
            return Identity(built.sign(key, hashes.SHA256()), key)

        past, future = NOW - DAY, NOW + DAY
        valid = identity(past, future)
        self.check(valid, trusted=[valid])
        for invalid, message in (
            (identity(past - DAY, past), "not valid after "),
            (identity(future, future + DAY), "not valid before "),
        ):
            self.refused(message, invalid, trusted=[invalid])

    def test_the_key_of_a_signer(self) -> None:
        for bits, message in (
            (1024, "its key has 1024 bits"),
            (2047, "its key has 2047 bits"),
            (2048, None),
        ):
            key = signing.rsa_key(bits)
            signer = signing.create_identity("rsa", authority(), key=key)
            if message:
                self.refused(message, signer)
                self.refused(message, signer, trusted=[signer])
            else:
                self.check(signer)

    def test_the_use_of_a_key(self) -> None:
        signing_uses = {"digital_signature", "content_commitment"}
        for use in (*signing_uses, "key_encipherment", "key_cert_sign"):
            signer = signing.create_identity(
                "alone", authority(), uses={use: True}
            )
            for trusted in (None, [signer]):
                if use in signing_uses:
                    self.check(signer, trusted=trusted)
                else:
                    self.refused(
                        "its key is not for signing", signer, trusted=trusted
                    )
