"""Detached signatures: what is accepted, and what is refused."""

import hashlib
from typing import Any

import testtools
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from tacker_cnf import errors
from tacker_cnf.vnfd import cms
from tests.fixtures import signing
from tests.fixtures.signing import Identity
from tests.unit.vnfd import cms_encoder
from tests.unit.vnfd.cms_encoder import (
    CONTENT_TYPE,
    ECDSA,
    ED25519,
    MESSAGE_DIGEST,
    OCTETS,
    RSA,
    RSA_PSS,
    SEQUENCE,
    attribute,
    der,
    oid,
    rsa_vendor,
    sign,
    signed_data,
    signer_info,
    usual_attributes,
    vendor,
)

TEXT = b"the content"
SHA1 = "1.3.14.3.2.26"
#: digest -> the algorithms that name it and sign with RSA, with ECDSA
OWN_DIGEST = {
    "sha224": ("1.2.840.113549.1.1.14", "1.2.840.10045.4.3.1"),
    "sha256": ("1.2.840.113549.1.1.11", "1.2.840.10045.4.3.2"),
    "sha384": ("1.2.840.113549.1.1.12", "1.2.840.10045.4.3.3"),
    "sha512": ("1.2.840.113549.1.1.13", "1.2.840.10045.4.3.4"),
}


def ed25519_vendor() -> Identity:
    key = ed25519.Ed25519PrivateKey.generate()
    return signing.create_identity("ed", cms_encoder.authority(), key=key)


def verify(
    data: bytes, *extra: Identity, contents: tuple[bytes, ...] = (TEXT,)
) -> tuple[x509.Certificate, ...]:
    def digests(algorithm: str) -> list[bytes]:
        return [hashlib.new(algorithm, c).digest() for c in contents]

    certificates = [identity.certificate for identity in extra]
    signed = cms.read(data, "its.cms")
    return cms.verify(signed, digests, certificates, "its.cms", "a file")


class CmsTest(testtools.TestCase):
    def accepted(self, data: bytes, *signers: Identity) -> None:
        expected = tuple(signer.certificate for signer in signers)
        self.assertEqual(expected, verify(data))

    def refused(self, message: str, data: bytes, *extra: Identity) -> None:
        error = self.assertRaises(errors.InvalidPackage, verify, data, *extra)
        self.assertIn(message, str(error))
        self.assertTrue(str(error).startswith("its.cms: "))


class TestAccepted(CmsTest):
    def test_each_algorithm(self) -> None:
        ed = ed25519_vendor()
        for digest, (rsa, ecdsa) in OWN_DIGEST.items():
            for signer, kind in (
                (rsa_vendor(), RSA),
                (rsa_vendor(), rsa),
                (rsa_vendor(), RSA_PSS),
                (vendor(), ECDSA),
                (vendor(), ecdsa),
                (ed, ED25519),
            ):
                data = sign(TEXT, signer, kind=kind, digest=digest)
                self.accepted(data, signer)

    def test_without_signed_attributes(self) -> None:
        for signer, kind in (
            (rsa_vendor(), RSA),
            (rsa_vendor(), RSA_PSS),
            (vendor(), ECDSA),
        ):
            data = sign(TEXT, signer, kind=kind, attributes=())
            self.accepted(data, signer)

    def test_encodings(self) -> None:
        data = sign(TEXT, vendor())
        for encoded in (
            data,
            cms_encoder.pem(data),
            cms_encoder.pem(data, "PKCS7"),
            b"\n " + cms_encoder.pem(data) + b"\n\n",
            cms_encoder.pem(data).replace(b"\n", b"\r\n"),
        ):
            self.accepted(encoded, vendor())

    def test_a_signer_named_by_the_key(self) -> None:
        other = signing.create_identity("other", cms_encoder.authority())
        signer = signer_info(TEXT, vendor(), by_key=True)
        for certificates in ([vendor()], [other, vendor()]):
            data = signed_data(signer, certificates=certificates)
            self.accepted(data, vendor())

    def test_the_right_certificate_of_several(self) -> None:
        other = signing.create_identity("other", cms_encoder.authority())
        signer = signer_info(TEXT, vendor())
        for certificates in ([vendor(), other], [other, vendor()]):
            data = signed_data(signer, certificates=certificates)
            self.accepted(data, vendor())

    def test_a_certificate_beside_the_signature(self) -> None:
        data = signed_data(signer_info(TEXT, vendor()))
        expected = (vendor().certificate,)
        self.assertEqual(expected, verify(data, rsa_vendor(), vendor()))

    def test_several_signers(self) -> None:
        signers = [vendor(), rsa_vendor()]
        infos = [
            signer_info(TEXT, vendor()),
            signer_info(TEXT, rsa_vendor(), kind=RSA),
        ]
        self.accepted(signed_data(*infos, certificates=signers), *signers)
        for many in (2, 8):
            data = signed_data(*infos[:1] * many, certificates=[vendor()])
            self.accepted(data, *[vendor()] * many)

    def test_content_in_one_of_several_forms(self) -> None:
        for attributes in (None, ()):
            data = sign(TEXT, vendor(), attributes=attributes)
            self.assertTrue(verify(data, contents=(TEXT, b"another")))
        data = sign(TEXT, vendor())
        self.assertTrue(verify(data, contents=(b"another", TEXT)))

    def test_unknown_parts_are_skipped(self) -> None:
        unsigned = der(0xA1, attribute("1.2.3", der(OCTETS, b"x")))
        data = sign(TEXT, vendor(), more=unsigned)
        self.accepted(data, vendor())
        # a certificate of another kind
        signer = signer_info(TEXT, vendor())
        data = signed_data(
            signer, certificates=[vendor()], more=der(0xA1, b"x")
        )
        self.accepted(data, vendor())

    def test_content_of_another_type(self) -> None:
        kind = "1.2.3.4"
        attributes = usual_attributes(TEXT, content_type=kind)
        signer = signer_info(TEXT, vendor(), attributes=attributes)
        data = signed_data(signer, certificates=[vendor()], content_type=kind)
        self.accepted(data, vendor())


class TestUnreadable(CmsTest):
    def test_damaged_data(self) -> None:
        data = sign(TEXT, vendor())
        text = cms_encoder.pem(data)
        for damaged in (
            b"",
            b"x",
            data[:-1],
            data + b"x",
            text.replace(b"END CMS", b"END PKCS7"),
            text.replace(b"CMS", b"CERTIFICATE"),
            b"x" + text,
            text.replace(b"-----\nM", b"-----\n*M"),
            der(SEQUENCE),
            der(SEQUENCE, oid("1.2.3")),
        ):
            self.refused("the signature cannot be read: ", damaged)
        self.refused(
            "the signature cannot be read: it is damaged. A detached CMS",
            der(SEQUENCE),
        )

    def test_other_types(self) -> None:
        signer = signer_info(TEXT, vendor())
        known: dict[str, Any] = {"certificates": [vendor()]}
        data = signed_data(signer, **known, kind=cms_encoder.DATA)
        self.refused("it is not a CMS signature", data)
        octets = der(SEQUENCE, oid(cms_encoder.SIGNED_DATA), der(4, b"x"))
        self.refused("it is not a CMS signature", octets)
        data = signed_data(signer, **known, content=TEXT)
        self.refused("it includes the signed content", data)

    def test_the_number_of_signers(self) -> None:
        signer = signer_info(TEXT, vendor())
        for number in (0, 9):
            data = signed_data(*[signer] * number, certificates=[vendor()])
            self.refused(f"it has {number} signers, not 1 to 8", data)

    def test_algorithms(self) -> None:
        data = sign(TEXT, vendor(), digest_oid=SHA1)
        self.refused(f"the algorithm {SHA1} is not supported", data)
        data = sign(TEXT, vendor(), kind="1.2.840.113549.1.1.5")
        self.refused("the algorithm 1.2.840.113549.1.1.5 is not", data)
        for mixed in OWN_DIGEST["sha512"]:
            data = sign(TEXT, rsa_vendor(), kind=mixed)
            self.refused("it uses two hash algorithms", data)

    def test_repeated_attributes(self) -> None:
        usual = usual_attributes(TEXT)
        data = sign(TEXT, vendor(), attributes=[*usual, usual[1]])
        self.refused("cannot be read: an attribute is repeated", data)

    def test_malformed_attributes(self) -> None:
        usual = usual_attributes(TEXT)
        digest = der(OCTETS, hashlib.sha256(TEXT).digest())
        for malformed in (
            attribute(MESSAGE_DIGEST),
            attribute(MESSAGE_DIGEST, digest, digest),
            attribute(CONTENT_TYPE),
            attribute(CONTENT_TYPE, der(OCTETS, b"x")),
            der(SEQUENCE, oid("1.2.3")),
        ):
            data = sign(TEXT, vendor(), attributes=[*usual[1:2], malformed])
            self.refused("the signature cannot be read: ", data)


class TestInvalid(CmsTest):
    def test_a_missing_certificate(self) -> None:
        twin = signing.create_identity(
            "vendor", cms_encoder.authority(), key=vendor().key
        )
        for by_key in (False, True):
            signer = signer_info(TEXT, vendor(), by_key=by_key)
            data = signed_data(signer, certificates=[rsa_vendor()])
            self.refused("the signer's certificate is not in", data)
        # another certificate of the same key has another number
        data = signed_data(signer_info(TEXT, vendor()), certificates=[twin])
        self.refused("the signer's certificate is not in", data)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(vendor().certificate.subject)
            .issuer_name(vendor().certificate.issuer)
            .public_key(vendor().key.public_key())
            .serial_number(1)
            .not_valid_before(signing.NOW)
            .not_valid_after(signing.NOW + signing.DAY)
            .sign(vendor().key, hashes.SHA256())
        )
        nameless = Identity(certificate, vendor().key)
        signer = signer_info(TEXT, vendor(), by_key=True)
        data = signed_data(signer, certificates=[nameless])
        self.refused("the signer's certificate is not in", data)

    def test_another_content(self) -> None:
        message = "the signature is of another content than a file"
        self.refused(message, sign(b"another", vendor()))
        usual = usual_attributes(TEXT)
        self.refused(message, sign(TEXT, vendor(), attributes=usual[:2]))
        # the digest is of another algorithm
        other = usual_attributes(TEXT, "sha512")
        self.refused(message, sign(TEXT, vendor(), attributes=other))

    def test_another_type_of_content(self) -> None:
        message = "the signature is of another type of content"
        usual = usual_attributes(TEXT)
        self.refused(message, sign(TEXT, vendor(), attributes=usual[1:]))
        other = usual_attributes(TEXT, content_type="1.2.3")
        self.refused(message, sign(TEXT, vendor(), attributes=other))
        signer = signer_info(TEXT, vendor(), attributes=())
        data = signed_data(
            signer, certificates=[vendor()], content_type="1.2.3"
        )
        self.refused("the signature has no signed attributes", data)

    def test_a_signature_that_does_not_match(self) -> None:
        message = "does not match the key of 'CN={}': it is damaged, or not of"
        key = ec.generate_private_key(ec.SECP256R1())
        forged = Identity(vendor().certificate, key)
        for options in ({}, {"attributes": ()}):
            data = sign(TEXT, forged, **options)
            self.refused(message.format("vendor"), data)
        data = sign(b"another", vendor(), attributes=())
        self.refused(message.format("vendor"), data)
        data = sign(TEXT, rsa_vendor(), kind=RSA, attributes=())
        self.refused(message.format("rsa"), data[:-1] + b"x")

    def test_a_key_of_another_type(self) -> None:
        ed = ed25519_vendor()
        cases: list[tuple[Identity, str]] = [
            (vendor(), RSA),
            (vendor(), RSA_PSS),
            (rsa_vendor(), ECDSA),
            (rsa_vendor(), OWN_DIGEST["sha256"][1]),
            (rsa_vendor(), ED25519),
            (vendor(), ED25519),
            (ed, ECDSA),
            (ed, RSA),
        ]
        for signer, kind in cases:
            data = sign(TEXT, signer, kind=kind)
            self.refused("the signature does not match the key of", data)
        # RSA-PSS and RSA differ
        for kind, other in ((RSA, RSA_PSS), (RSA_PSS, RSA)):
            info = signer_info(TEXT, rsa_vendor(), kind=kind).replace(
                cms_encoder.algorithm(kind), cms_encoder.algorithm(other)
            )
            data = signed_data(info, certificates=[rsa_vendor()])
            self.refused("the signature does not match the key of", data)
        # without attributes, there is no digest to sign
        data = sign(TEXT, ed, kind=ED25519, attributes=())
        self.refused("the signature does not match the key of", data)

    def test_each_signature_has_to_match(self) -> None:
        forged = Identity(vendor().certificate, rsa_vendor().key)
        infos: list[Any] = [
            signer_info(TEXT, vendor()),
            signer_info(TEXT, forged, kind=RSA),
        ]
        for signers in (infos, infos[::-1]):
            data = signed_data(*signers, certificates=[vendor()])
            self.refused("the signature does not match the key of", data)
