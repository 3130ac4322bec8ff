"""The signatures of a package, as the configuration requires them."""

from pathlib import Path
from typing import Any

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.sol.vnf_package import PackageSecurityOption
from tacker_cnf.vnfd import signatures
from tacker_cnf.vnfd.csar import Artifact, Csar
from tacker_cnf.vnfd.limits import MIB, Limits
from tacker_cnf.vnfd.signatures import (
    Envelope,
    PackageSignature,
    SignaturePolicy,
    Signatures,
)
from tests.fixtures import signing
from tests.unit.vnfd import packages
from tests.unit.vnfd.cms_encoder import (
    authority,
    pem,
    rsa_vendor,
    sign,
    signed_data,
    signer_info,
    vendor,
)

CHECKED, REQUIRED = SignaturePolicy.CHECKED, SignaturePolicy.REQUIRED
OFF = SignaturePolicy.OFF
PACKAGE = b"a package"
MANIFEST = b"metadata:\n  vnf_product_name: any\n\nSource: a\n"


class SignatureTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.trusted = self.folder / "root.pem"
        self.trusted.write_bytes(authority().pem)
        self.tree = self.folder / "tree"
        self.tree.mkdir()
        self.checked = self.policy(CHECKED)

    def policy(self, policy: SignaturePolicy) -> Signatures:
        return Signatures(policy, str(self.trusted))


class TestPolicy(SignatureTest):
    def test_certificates_are_needed_where_signatures_are_required(
        self,
    ) -> None:
        empty = self.folder / "empty"
        empty.mkdir()
        for trusted in (None, str(empty)):
            error = self.assertRaises(
                errors.VnfmError, Signatures, REQUIRED, trusted
            )
            self.assertIn("trusted_certificates has none", str(error))
            log = self.useFixture(fixtures.FakeLogger())
            Signatures(CHECKED, trusted)
            self.assertIn("Trusted certificates missing", log.output)
        log = self.useFixture(fixtures.FakeLogger())
        Signatures(OFF, None)
        self.policy(CHECKED)
        self.policy(REQUIRED)
        self.assertEqual("", log.output)

    def test_certificates_have_to_be_readable(self) -> None:
        self.trusted.write_text("x")
        for policy in (CHECKED, REQUIRED):
            self.assertRaises(errors.VnfmError, self.policy, policy)
        self.policy(OFF)

    def test_unsigned_packages(self) -> None:
        seal = PackageSignature(
            option=PackageSecurityOption.OPTION_1, certificate="x"
        )
        for policy in (OFF, CHECKED, REQUIRED):
            self.policy(policy).check_required(seal)
        for policy in (OFF, CHECKED):
            self.policy(policy).check_required(None)
        error = self.assertRaises(
            errors.InvalidPackage, self.policy(REQUIRED).check_required, None
        )
        self.assertIn("the package is not signed", str(error))


class TestEnvelope(SignatureTest):
    def verify(
        self,
        signature: bytes,
        *beside: bytes,
        policy: SignaturePolicy = CHECKED,
        checked: Signatures | None = None,
    ) -> PackageSignature | None:
        path = self.folder / "package"
        path.write_bytes(PACKAGE)
        envelope = Envelope(
            name="vnf.csar",
            signature=signature,
            signature_name="vnf.cms",
            certificates=beside,
        )
        checked = checked or self.policy(policy)
        return checked.verify_envelope(envelope, path)

    def refused(self, message: str, *arguments: Any) -> None:
        error = self.assertRaises(
            errors.InvalidPackage, self.verify, *arguments
        )
        self.assertIn(message, str(error))

    def test_the_signer_is_returned(self) -> None:
        expected = PackageSignature(
            option=PackageSecurityOption.OPTION_2,
            certificate=vendor().pem.decode(),
        )
        signature = sign(PACKAGE, vendor())
        for policy in (CHECKED, REQUIRED):
            found = self.verify(signature, policy=policy)
            self.assertEqual(expected, found)
        self.assertIsNone(self.verify(signature, policy=OFF))
        self.assertIsNone(self.verify(b"x", b"x", policy=OFF))

    def test_certificates_beside_it(self) -> None:
        middle = signing.create_identity(
            "middle", authority(), is_authority=True
        )
        branch = signing.create_identity("branch", middle)
        alone = signed_data(signer_info(PACKAGE, branch))
        chain = branch.pem + middle.pem
        for signature, beside in (
            (alone, (chain,)),
            (alone, (branch.pem, middle.pem)),
            (sign(PACKAGE, branch), (middle.pem,)),
        ):
            self.assertIsNotNone(self.verify(signature, *beside))
        info = signer_info(PACKAGE, branch)
        inside = signed_data(info, certificates=[branch, middle])
        self.assertIsNotNone(self.verify(inside))
        self.refused("signer's certificate is not", alone, middle.pem)
        self.refused("'CN=branch' is not trusted", alone, branch.pem)
        self.refused(
            "vnf.cms: a certificate next to it cannot be read", alone, b"x"
        )

    def test_each_signer_has_to_be_trusted(self) -> None:
        untrusted = signing.create_identity("untrusted")
        for signers in ([vendor(), untrusted], [untrusted, vendor()]):
            infos = [signer_info(PACKAGE, signer) for signer in signers]
            signature = signed_data(*infos, certificates=signers)
            self.refused("'CN=untrusted' is not trusted", signature)

    def test_the_first_of_two_signers_is_returned(self) -> None:
        other = signing.create_identity("other", authority())
        infos = [signer_info(PACKAGE, signer) for signer in (other, vendor())]
        found = self.verify(
            signed_data(*infos, certificates=[vendor(), other])
        )
        assert found
        self.assertEqual(other.pem.decode(), found.certificate)

    def test_another_content(self) -> None:
        self.refused(
            "vnf.cms: the signature is of another content than vnf.csar",
            sign(b"another", vendor()),
        )

    def test_trusted_certificates_are_read_again(self) -> None:
        checked = self.policy(CHECKED)
        signature = sign(PACKAGE, vendor())
        log = self.useFixture(fixtures.FakeLogger())
        self.trusted.write_text("x")
        error = self.assertRaises(
            errors.Unavailable, self.verify, signature, checked=checked
        )
        self.assertNotIn(str(self.trusted), str(error))
        self.assertIn(f"{self.trusted} cannot be read", log.output)
        self.trusted.write_bytes(rsa_vendor().pem)
        self.assertRaises(
            errors.InvalidPackage, self.verify, signature, checked=checked
        )
        self.trusted.write_bytes(vendor().pem)
        self.assertIsNotNone(self.verify(signature, checked=checked))


class TestTree(SignatureTest):
    def write(self, **files: bytes) -> None:
        for name, data in files.items():
            path = self.tree / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)

    def verify(
        self, policy: SignaturePolicy = CHECKED, **fields: Any
    ) -> PackageSignature | None:
        opened = Csar(entry_definitions="a.yaml", **fields)
        return self.policy(policy).verify_tree(self.tree, opened)

    def refused(self, message: str, **fields: Any) -> None:
        error = self.assertRaises(errors.InvalidPackage, self.verify, **fields)
        self.assertIn(message, str(error))

    def test_a_signed_manifest(self) -> None:
        expected = PackageSignature(
            option=PackageSecurityOption.OPTION_1,
            certificate=vendor().pem.decode(),
        )
        for body in (MANIFEST, MANIFEST.replace(b"\n", b"\r\n")):
            # S/MIME signs a text with CRLF
            for signed in (body, MANIFEST.replace(b"\n", b"\r\n")):
                signature = pem(sign(signed, vendor()))
                self.write(a_mf=body + signature)
                self.assertEqual(expected, self.verify(manifest="a.mf"))
        self.assertIsNone(self.verify(OFF, manifest="a.mf"))

    def test_an_unsigned_manifest(self) -> None:
        self.write(a_mf=MANIFEST)
        self.assertIsNone(self.verify(manifest="a.mf"))
        self.assertIsNone(self.verify(manifest="a.mf", unsigned=("b",)))
        self.assertIsNone(self.verify())

    def test_a_changed_manifest(self) -> None:
        signature = pem(sign(MANIFEST, vendor()))
        for body in (b"\n" + MANIFEST, MANIFEST + b"\n", MANIFEST[1:]):
            self.write(a_mf=body + signature)
            message = "a.mf: the signature is of another content than the text"
            self.refused(message, manifest="a.mf")
        for text in (signature + b"Source: b\n", signature[:60]):
            self.write(a_mf=MANIFEST + text)
            self.refused("a.mf: the signature cannot be", manifest="a.mf")

    def test_files_that_the_signature_does_not_cover(self) -> None:
        self.write(a_mf=MANIFEST + pem(sign(MANIFEST, vendor())))
        self.refused(
            "a.mf: b is in the package, and the signature does not cover it",
            manifest="a.mf",
            unsigned=("b", "c"),
        )

    def test_the_certificate_of_the_manifest(self) -> None:
        signature = pem(signed_data(signer_info(MANIFEST, vendor())))
        self.write(a_mf=MANIFEST + signature, a_cert=vendor().pem)
        self.assertTrue(self.verify(manifest="a.mf", certificate="a.cert"))
        self.refused("signer's certificate is not", manifest="a.mf")
        more = vendor().pem + b"a text"
        for data, message in (
            (b"x", "a.cert: a certificate next to it cannot be read"),
            (more, "a.cert: it contains more than certificates"),
        ):
            self.write(a_cert=data)
            self.refused(message, manifest="a.mf", certificate="a.cert")

    def signed(self, **metadata: str) -> dict[str, Any]:
        attributes = {"signature": "b.cms"} | metadata
        return {"signed": (Artifact(path="b", metadata=attributes),)}

    def test_a_signed_file(self) -> None:
        self.write(b=PACKAGE, b_cms=sign(PACKAGE, vendor()))
        self.assertIsNone(self.verify(**self.signed()))
        self.write(b=b"another")
        message = "b.cms: the signature is of another content than b"
        self.refused(message, **self.signed())
        self.assertIsNone(self.verify(OFF, **self.signed()))

    def test_the_certificate_of_a_file(self) -> None:
        alone = signed_data(signer_info(PACKAGE, vendor()))
        self.write(b=PACKAGE, b_cms=alone, b_cert=vendor().pem)
        own = self.signed(certificate="b.cert")
        self.assertIsNone(self.verify(**own))
        # or that of the manifest
        self.assertIsNone(self.verify(**self.signed(), certificate="b.cert"))
        self.refused("signer's certificate is not", **self.signed())
        self.write(c_cert=rsa_vendor().pem)
        other = self.signed(certificate="c.cert")
        message = "signer's certificate is not"
        self.refused(message, **other, certificate="b.cert")

    def test_files_that_cannot_be_read(self) -> None:
        self.write(b=PACKAGE, b_cms=sign(PACKAGE, vendor()), b_cert=b"x")
        (self.tree / "folder").mkdir()
        (self.folder / "outside").write_bytes(vendor().pem)
        message = "the manifest names it as a signature or certificate, and"
        for name in ("none", "folder", "../outside"):
            found = f"{name}: {message}"
            self.refused(found, **self.signed(signature=name))
            self.refused(found, **self.signed(certificate=name))
        self.write(large=bytes(4 * MIB + 1))
        self.refused(f"large: {message}", **self.signed(signature="large"))
        self.write(large=bytes(4 * MIB))
        self.refused("cannot be read:", **self.signed(signature="large"))


class TestExtractEnvelope(SignatureTest):
    def extract(self, *names: str) -> Envelope | None:
        archive = self.folder / "archive.zip"
        packages.write_zip(archive, {name: f"in {name}" for name in names})
        (self.folder / "package").unlink(missing_ok=True)
        return signatures.extract_envelope(
            archive, self.folder / "package", Limits()
        )

    def test_a_package_and_its_signature(self) -> None:
        for name, signature in (
            ("vnf.csar", "vnf.cms"),
            ("vnf.zip", "other.p7s"),
            ("VNF.CSAR", "VNF.CMS"),
        ):
            found = self.extract("a.cert", name, signature, "b.PEM")
            expected = Envelope(
                name=name,
                signature=f"in {signature}".encode(),
                signature_name=signature,
                certificates=(b"in a.cert", b"in b.PEM"),
            )
            self.assertEqual(expected, found)
            package = (self.folder / "package").read_text()
            self.assertEqual(f"in {name}", package)

    def test_other_archives_are_no_envelopes(self) -> None:
        for names in (
            ("vnf.cms",),
            ("vnf.csar", "other.csar", "vnf.cms"),
            ("vnf.csar", "vnf.cms", "README"),
            ("vnf.csar", "vnf.cms", "vnf.mf"),
            ("a/vnf.csar", "vnf.cms"),
            ("vnf.csar", "a/vnf.cms"),
        ):
            self.assertIsNone(self.extract(*names))
            self.assertFalse((self.folder / "package").exists())

    def test_exactly_one_signature(self) -> None:
        for names, number in (
            (("vnf.csar",), 0),
            (("vnf.csar", "a.cert"), 0),
            (("vnf.csar", "a.cms", "b.p7s"), 2),
        ):
            error = self.assertRaises(
                errors.InvalidPackage, self.extract, *names
            )
            self.assertIn(f"contains vnf.csar and {number} sig", str(error))
