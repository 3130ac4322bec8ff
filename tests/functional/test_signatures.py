"""Signed packages (SOL004 clause 5): acceptance and refusals."""

from pathlib import Path
from typing import Any, ClassVar

import fixtures

from tacker_cnf import errors
from tacker_cnf.cmd import compose
from tests.fixtures import signing
from tests.fixtures.signing import DAY, NOW, Identity, Signer
from tests.fixtures.vnfm import Csar, Vnfm
from tests.functional import test_packages
from tests.functional.test_packages import META, POD, TOP, build_zip

MANIFEST = "five_kinds.mf"
CERTIFICATE = "five_kinds.cert"
NAMED = (
    f"Entry-Definitions: {TOP}\nETSI-Entry-Manifest: {MANIFEST}\n"
).encode()


class SignatureTest(test_packages.PackageTest):
    signatures_mode: ClassVar[str] = "checked"

    def setUp(self) -> None:
        # replaces the set-up of packages, which has no certificates
        super().setUp()
        self.signer = self.useFixture(Signer())
        self.authority = signing.create_identity("root", is_authority=True)
        self.vendor = signing.create_identity("vendor", self.authority)
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.trusted = folder / "trusted"
        self.trusted.mkdir()
        (self.trusted / "root.pem").write_bytes(self.authority.pem)
        (self.trusted / "README").write_text("no certificate")
        self.serve(
            signatures=self.signatures_mode,
            trusted_certificates=str(self.trusted),
        )
        meta = self.files[META].replace(
            f"Entry-Definitions: {TOP}\n".encode(), NAMED
        )
        self.files[META] = meta.split(b"\n\n")[0] + b"\n"

    def serve(self, **options: Any) -> None:
        self.vnfm = self.useFixture(Vnfm(catalogue=options))
        self.call = self.vnfm.call

    def sign_option_1(
        self,
        signer: Identity | None = None,
        *options: str,
        files: dict[str, bytes] | None = None,
    ) -> dict[str, bytes]:
        """Sign a package by option 1."""
        files = files or self.files
        manifest = signing.build_manifest(files, MANIFEST)
        signed = self.signer.sign(manifest, signer or self.vendor, *options)
        return files | {MANIFEST: manifest + signed}

    def sign_option_2(
        self,
        signer: Identity | None = None,
        *options: str,
        **more: bytes | None,
    ) -> bytes:
        """Sign a package by option 2."""
        signed = self.signer.sign(self.good, signer or self.vendor, *options)
        files = {"vnf.csar": self.good, "vnf.cms": signed}
        return build_zip(
            {**files, **{k.replace("_", "."): v for k, v in more.items()}}
        )

    def assert_onboarded(self, content: bytes) -> Any:
        """Onboard a package, read it and delete it; return what was read."""
        path = self.onboard_content(content)
        shown = self.call("GET", path).json
        downloaded = self.call("GET", f"{path}/package_content").content
        self.assertEqual(content, downloaded)
        self.disable(path)
        self.assertEqual(204, self.call("DELETE", path).status)
        self.assertEqual(set(), self.list_contents())
        return shown

    def refused(self, content: bytes, message: str) -> None:
        path = self.create_package()
        self.assert_problem(400, self.upload(path, content), message)
        self.assertEqual(set(), self.list_contents())
        shown = self.call("GET", path).json
        self.assertEqual("CREATED", shown["onboardingState"])

    def signed_by(self, signer: Identity, option: str, content: bytes) -> None:
        shown = self.assert_onboarded(content)
        self.assertEqual(option, shown["packageSecurityOption"])
        self.assertEqual(signer.pem.decode(), shown["signingCertificate"])


class TestOption1(SignatureTest):
    def test_a_signed_manifest(self) -> None:
        self.signed_by(
            self.vendor, "OPTION_1", build_zip(self.sign_option_1())
        )

    def test_ways_to_sign(self) -> None:
        rsa = signing.create_identity(
            "rsa", self.authority, key=signing.rsa_key()
        )
        pss = ("-keyopt", "rsa_padding_mode:pss", "-md", "sha384", "-binary")
        for signer, options in (
            (self.vendor, ("-binary", "-md", "sha512")),
            (self.vendor, ("-binary", "-md", "sha224", "-keyid")),
            (self.vendor, ("-binary", "-noattr")),
            (self.vendor, ("-md", "sha256")),  # lines ended by CR and LF
            (rsa, ("-binary",)),
            (rsa, ("-binary", "-noattr", "-md", "sha384")),
            (rsa, pss),
        ):
            self.signed_by(
                signer,
                "OPTION_1",
                build_zip(self.sign_option_1(signer, *options)),
            )

    def test_the_certificate_beside_it(self) -> None:
        alone = ("-binary", "-nocerts")
        files = self.sign_option_1(None, *alone)
        self.refused(
            build_zip(files), "signer's certificate is not in the package"
        )
        files[CERTIFICATE] = self.vendor.pem
        self.signed_by(self.vendor, "OPTION_1", build_zip(files))
        metadata = NAMED + b"ETSI-Entry-Certificate: its.cert\n"
        meta = self.files[META].replace(NAMED, metadata)
        files = self.sign_option_1(
            None, *alone, files=self.files | {META: meta}
        )
        self.refused(build_zip(files), "its.cert is not in the package")
        files["its.cert"] = self.vendor.pem
        self.signed_by(self.vendor, "OPTION_1", build_zip(files))
        files["its.cert"] = b"no certificate"
        self.refused(build_zip(files), "its.cert: a certificate")

    def test_an_authority_in_between(self) -> None:
        middle = signing.create_identity(
            "middle", self.authority, is_authority=True
        )
        signer = signing.create_identity("branch", middle)
        files = self.sign_option_1(signer)
        self.refused(build_zip(files), "'CN=branch' is not trusted")
        files[CERTIFICATE] = middle.pem
        self.signed_by(signer, "OPTION_1", build_zip(files))

    def test_a_signer_trusted_by_its_certificate(self) -> None:
        signer = signing.create_identity("alone")
        self.refused(
            build_zip(self.sign_option_1(signer)), "'CN=alone' is not trusted"
        )
        (self.trusted / "alone.crt").write_bytes(signer.pem)
        self.signed_by(
            signer, "OPTION_1", build_zip(self.sign_option_1(signer))
        )

    def test_a_trusted_signer_with_another_key(
        self,
    ) -> None:
        """The key usage of a trusted signer's certificate is checked, too."""
        for uses, message in (
            ({"key_encipherment": True}, "keyUsage has neither"),
            ({"digital_signature": True}, None),
            ({"content_commitment": True}, None),
        ):
            signer = signing.create_identity("alone", uses=uses)
            (self.trusted / "alone.crt").write_bytes(signer.pem)
            content = build_zip(self.sign_option_1(signer))
            if message:
                self.refused(content, message)
            else:
                self.signed_by(signer, "OPTION_1", content)

    def test_untrusted_signers(self) -> None:
        untrusted = signing.create_identity("root", is_authority=True)
        expired = signing.create_identity(
            "old", self.authority, until=NOW - DAY
        )
        no_authority = signing.create_identity("sub", self.vendor)
        other_use = signing.create_identity(
            "server", self.authority, uses={"key_encipherment": True}
        )
        weak = signing.create_identity(
            "weak", self.authority, key=signing.rsa_key(1024)
        )
        for signer, message in (
            (
                signing.create_identity("vendor", untrusted),
                "'CN=vendor' is not",
            ),
            (expired, "not valid after"),
            (no_authority, "'CN=sub' is not trusted"),
            (other_use, "not for signing"),
            (weak, "its key has 1024 bits"),
        ):
            files = self.sign_option_1(signer) | {CERTIFICATE: self.vendor.pem}
            self.refused(build_zip(files), message)

    def test_changes_after_signing(self) -> None:
        files = self.sign_option_1()
        manifest = files[MANIFEST]
        begin = manifest.index(b"-----BEGIN")
        changed = files[POD] + b"# more\n"
        again = signing.build_manifest(self.files | {POD: changed}, MANIFEST)
        forged = files | {POD: changed, MANIFEST: again + manifest[begin:]}
        for changed_files, message in (
            (files | {POD: changed}, f"the sha256 digest of {POD}"),
            (forged, "the signature is of another content"),
            (files | {"Files/new": b"x"}, "Files/new is in the package and"),
            (files | {"new.yaml": b"x"}, "the signature does not cover it"),
            (files | {MANIFEST: manifest + b"Source: x\n"}, "cannot be read"),
            (files | {MANIFEST: manifest[: begin + 60]}, "cannot be read"),
            (files | {MANIFEST: b"\n" + manifest}, "of another content"),
        ):
            self.refused(build_zip(changed_files), message)

    def test_a_signature_that_does_not_match(self) -> None:
        other = signing.create_identity("vendor", self.authority)
        other = Identity(self.vendor.certificate, other.key)
        signed = self.signer.sign(b"x", self.vendor)
        manifest = signing.build_manifest(self.files, MANIFEST)
        files = self.files | {MANIFEST: manifest + signed}
        self.refused(build_zip(files), "of another content")

    def test_packages_without_a_signature_are_accepted(self) -> None:
        shown = self.assert_onboarded(self.good)
        self.assertNotIn("packageSecurityOption", shown)
        manifest = signing.build_manifest(self.files, MANIFEST)
        shown = self.assert_onboarded(
            build_zip(self.files | {MANIFEST: manifest})
        )
        self.assertNotIn("packageSecurityOption", shown)

    def test_a_manifest_lists_every_file(self) -> None:
        manifest = signing.build_manifest(self.files, MANIFEST)
        files = self.files | {MANIFEST: manifest, "Files/new": b"x"}
        message = f"{MANIFEST}: Files/new is in the package and not listed"
        self.refused(build_zip(files), message)

    def sign_file(self, pod: bytes, *more: bytes) -> dict[str, bytes]:
        """Sign a single file of a package."""
        block = b"\nSource: %s\nSignature: pod.cms\n" % POD.encode()
        manifest = signing.build_manifest(self.files, MANIFEST)
        first = manifest.index(f"Source: {POD}".encode())
        end = manifest.find(b"\n\n", first)
        manifest = manifest[:first] + manifest[end:] + block + b"".join(more)
        signed = self.signer.sign(manifest, self.vendor)
        own = self.signer.sign(pod, self.vendor)
        return self.files | {
            MANIFEST: manifest + signed,
            "pod.cms": own,
            "pod.cert": self.vendor.pem,
        }

    def test_signatures_of_single_files(self) -> None:
        metadata = b"Certificate: pod.cert\n"
        pod = self.files[POD]
        self.assert_onboarded(build_zip(self.sign_file(pod, metadata)))
        files = self.sign_file(pod + b" ", metadata)
        self.refused(build_zip(files), "pod.cms: the signature is of another")
        files = self.sign_file(pod, metadata) | {"pod.cms": b"no signature"}
        self.refused(build_zip(files), "pod.cms: the signature cannot be read")
        for name in ("pod.cms", "pod.cert"):
            files = self.sign_file(pod, metadata)
            del files[name]
            self.refused(
                build_zip(files),
                f"{name}: the manifest names it as a signature",
            )
        outside = b"Certificate: ../../../secrets.key\n"
        files = self.sign_file(pod, outside)
        del files["pod.cert"]
        self.refused(build_zip(files), "the manifest names it as a signature")


class TestOption2(SignatureTest):
    def test_a_package_beside_its_signature(self) -> None:
        for options in (
            ("-binary",),
            ("-binary", "-outform", "DER"),
            ("-binary", "-noattr"),
        ):
            self.signed_by(
                self.vendor,
                "OPTION_2",
                self.sign_option_2(self.vendor, *options),
            )

    def test_its_files_can_be_downloaded(self) -> None:
        path = self.onboard_content(self.sign_option_2())
        pod = self.call("GET", f"{path}/artifacts/{POD}").content
        self.assertEqual(test_packages.zip_files(self.good)[POD], pod)

    def test_the_certificate_beside_it(self) -> None:
        alone = ("-binary", "-nocerts")
        content = self.sign_option_2(None, *alone, vnf_cert=self.vendor.pem)
        self.signed_by(self.vendor, "OPTION_2", content)
        self.refused(
            self.sign_option_2(None, *alone), "signer's certificate is not"
        )
        content = self.sign_option_2(None, *alone, vnf_cert=b"x")
        self.refused(content, "a certificate next to it cannot be read")

    def test_invalid_archives(self) -> None:
        other = self.useFixture(Csar()).read()
        for content, message in (
            (self.sign_option_2(vnf_csar=other), "of another content"),
            (self.sign_option_2(vnf_cms=b"x"), "cannot be read"),
            (self.sign_option_2(vnf_cms=None), "0 signatures"),
            (self.sign_option_2(other_cms=b"x"), "2 signatures"),
            (
                self.sign_option_2(signing.create_identity("x")),
                "'CN=x' is not trusted",
            ),
            (
                self.sign_option_2(None, "-binary", "-nodetach"),
                "includes the signed content",
            ),
            (self.sign_option_2(None, "-binary", "-stream"), "cannot be read"),
            (
                self.sign_option_2(None, "-binary", "-md", "sha1"),
                "is not supported",
            ),
        ):
            self.refused(content, message)

    def test_a_signed_file_that_is_no_package(self) -> None:
        signed = self.signer.sign(b"x", self.vendor)
        content = build_zip({"vnf.csar": b"x", "vnf.cms": signed})
        self.refused(content, "cannot be read as zip")
        content = build_zip({"a/vnf.csar": self.good, "vnf.cms": signed})
        self.refused(content, META)


class TestRequired(SignatureTest):
    signatures_mode = "required"

    def test_only_signed_packages_are_accepted(self) -> None:
        self.refused(self.good, "the package is not signed")
        manifest = signing.build_manifest(self.files, MANIFEST)
        files = self.files | {MANIFEST: manifest}
        self.refused(build_zip(files), "the package is not signed")
        self.signed_by(
            self.vendor, "OPTION_1", build_zip(self.sign_option_1())
        )
        self.signed_by(self.vendor, "OPTION_2", self.sign_option_2())

    def test_definitions_declared_as_the_certificate(self) -> None:
        meta = self.files.pop(META)
        manifest = signing.build_manifest(self.files, MANIFEST)
        signed = manifest + self.signer.sign(manifest, self.vendor)
        pem = b'description: "\n' + self.vendor.pem + b'"'
        definitions = self.files[TOP] + b"\n# " + pem
        other = NAMED.replace(TOP.encode(), b"evil.yaml")
        other += b"ETSI-Entry-Certificate: evil.yaml\n"
        files = self.files | {MANIFEST: signed, "evil.yaml": definitions}
        files[META] = meta.replace(NAMED, other)
        self.refused(build_zip(files), "evil.yaml: it contains more than")
        message = "is in the package, and the signature does not cover it"
        files["evil.yaml"] = self.vendor.pem
        self.refused(build_zip(files), f"{META} {message}")
        del files["evil.yaml"]
        files[META] = meta
        self.refused(build_zip(files), f"{META} {message}")

    def test_the_entry_is_signed_whatever_it_is_declared_as(self) -> None:
        metadata = NAMED + f"ETSI-Entry-Certificate: {TOP}\n".encode()
        meta = self.files[META].replace(NAMED, metadata)
        files = self.files | {META: meta}
        entry = files.pop(TOP)
        files = self.sign_option_1(files=files) | {TOP: self.vendor.pem}
        message = (
            f"{TOP} is in the package, and the signature does not cover it"
        )
        self.refused(build_zip(files), message)
        self.refused(build_zip(files | {TOP: entry}), f"{TOP}: a certificate")

    def test_text_around_a_certificate(self) -> None:
        for text in (
            self.vendor.pem + b"key: value\n",
            b"a" + self.vendor.pem,
        ):
            files = self.sign_option_1() | {CERTIFICATE: text}
            self.refused(
                build_zip(files), f"{CERTIFICATE}: it contains more than"
            )
        certificates = b"\n" + self.vendor.pem + b"\r\n\n" + self.authority.pem
        files = self.sign_option_1() | {CERTIFICATE: certificates}
        self.signed_by(self.vendor, "OPTION_1", build_zip(files))

    def test_a_package_signed_twice(self) -> None:
        self.good = build_zip(self.sign_option_1())
        self.signed_by(self.vendor, "OPTION_1", self.sign_option_2())


class TestDisabled(SignatureTest):
    signatures_mode = "off"

    def test_signatures_are_not_verified(self) -> None:
        untrusted = signing.create_identity("untrusted")
        for content in (
            build_zip(self.sign_option_1(untrusted)),
            self.sign_option_2(untrusted),
        ):
            shown = self.assert_onboarded(content)
            self.assertNotIn("packageSecurityOption", shown)

    def test_digests_are_verified(self) -> None:
        files = self.sign_option_1() | {POD: b"x"}
        self.refused(build_zip(files), f"the sha256 digest of {POD}")


class TestTrusted(SignatureTest):
    """Trusted certificates: when they are read, and what if that fails."""

    def test_no_trusted_certificate_where_signatures_are_checked(self) -> None:
        log = self.useFixture(fixtures.FakeLogger())
        self.serve(signatures="checked")
        self.assertIn("every signed VNF package will be rejected", log.output)
        message = "[catalogue] trusted_certificates has no certificate"
        self.refused(self.sign_option_2(), message)
        self.assert_onboarded(self.good)

    def assert_start_fails(self, message: str, **options: Any) -> None:
        conf = self.vnfm.conf
        for name, value in options.items():
            conf.set_override(name, value, "catalogue")
        error = self.assertRaises(errors.VnfmError, compose.parts, conf)
        self.assertIn(message, str(error))

    def test_no_trusted_certificate_where_signatures_are_required(
        self,
    ) -> None:
        message = "signatures is required, and trusted_certificates has none"
        self.assert_start_fails(
            message, signatures="required", trusted_certificates=None
        )
        (self.trusted / "root.pem").unlink()
        trusted = str(self.trusted)
        self.assert_start_fails(
            message, signatures="required", trusted_certificates=trusted
        )

    def test_certificates_that_cannot_be_read_at_the_start(self) -> None:
        invalid = self.trusted / "bad.pem"
        invalid.write_text("no certificate")
        for place, message in (
            (
                self.trusted,
                f"{invalid} cannot be read: it contains no certificate",
            ),
            (invalid, f"{invalid} cannot be read: it contains no certificate"),
            (invalid / "x", "cannot be read: Not a directory"),
            (Path("/nowhere"), "/nowhere cannot be read: No such file"),
        ):
            self.assert_start_fails(message, trusted_certificates=str(place))

    def test_certificates_that_cannot_be_read_later(self) -> None:
        log = self.useFixture(fixtures.FakeLogger())
        invalid = self.trusted / "bad.pem"
        invalid.write_text("no certificate")
        path = self.create_package()
        response = self.upload(path, self.sign_option_2())
        self.assert_problem(503, response, "see the log of this service")
        self.assertNotIn(str(self.trusted), response.detail)
        self.assertIn(f"{invalid} cannot be read", log.output)
        self.assert_onboarded(self.good)  # it has no signature to verify
        invalid.unlink()
        self.assert_onboarded(self.sign_option_2())
