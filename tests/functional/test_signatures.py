"""Signed packages (SOL004 5): what is taken, what is refused, and why."""

from pathlib import Path
from typing import Any, ClassVar

import fixtures

from tacker_cnf import errors
from tacker_cnf.cmd import compose
from tests.fixtures import signing
from tests.fixtures.signing import DAY, NOW, Identity, Signer
from tests.fixtures.vnfm import Csar, Vnfm
from tests.functional import test_packages
from tests.functional.test_packages import META, POD, TOP, packed

MANIFEST = "five_kinds.mf"
CERTIFICATE = "five_kinds.cert"
NAMED = (
    f"Entry-Definitions: {TOP}\nETSI-Entry-Manifest: {MANIFEST}\n"
).encode()


class SignatureTest(test_packages.PackageTest):
    demand: ClassVar[str] = "checked"

    def setUp(self) -> None:
        # shadows the set-up of packages, which knows no certificates
        super().setUp()
        self.signer = self.useFixture(Signer())
        self.authority = signing.identity("root", is_authority=True)
        self.vendor = signing.identity("vendor", self.authority)
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.trusted = folder / "trusted"
        self.trusted.mkdir()
        (self.trusted / "root.pem").write_bytes(self.authority.pem)
        (self.trusted / "README").write_text("no certificate")
        self.serve(
            signatures=self.demand, trusted_certificates=str(self.trusted)
        )
        meta = self.files[META].replace(
            f"Entry-Definitions: {TOP}\n".encode(), NAMED
        )
        self.files[META] = meta.split(b"\n\n")[0] + b"\n"

    def serve(self, **options: Any) -> None:
        self.vnfm = self.useFixture(Vnfm(catalogue=options))
        self.call = self.vnfm.call

    def one(
        self,
        who: Identity | None = None,
        *options: str,
        files: dict[str, bytes] | None = None,
    ) -> dict[str, bytes]:
        """Sign a package by option 1."""
        files = files or self.files
        manifest = signing.manifest_of(files, MANIFEST)
        signed = self.signer.sign(manifest, who or self.vendor, *options)
        return files | {MANIFEST: manifest + signed}

    def two(
        self,
        who: Identity | None = None,
        *options: str,
        **more: bytes | None,
    ) -> bytes:
        """Sign a package by option 2."""
        signed = self.signer.sign(self.good, who or self.vendor, *options)
        files = {"vnf.csar": self.good, "vnf.cms": signed}
        return packed(
            {**files, **{k.replace("_", "."): v for k, v in more.items()}}
        )

    def taken(self, content: bytes) -> Any:
        """Onboard a package; show it; then make it go."""
        path = self.onboarded(content)
        shown = self.call("GET", path).json
        got = self.call("GET", f"{path}/package_content").content
        self.assertEqual(content, got)
        self.disable(path)
        self.assertEqual(204, self.call("DELETE", path).status)
        self.assertEqual(set(), self.kept())
        return shown

    def refused(self, content: bytes, told: str) -> None:
        path = self.made()
        self.assert_problem(400, self.upload(path, content), told)
        self.assertEqual(set(), self.kept())
        shown = self.call("GET", path).json
        self.assertEqual("CREATED", shown["onboardingState"])

    def signed_by(self, who: Identity, option: str, content: bytes) -> None:
        shown = self.taken(content)
        self.assertEqual(option, shown["packageSecurityOption"])
        self.assertEqual(who.pem.decode(), shown["signingCertificate"])


class TestOption1(SignatureTest):
    def test_a_manifest_with_its_signature(self) -> None:
        self.signed_by(self.vendor, "OPTION_1", packed(self.one()))

    def test_ways_to_sign(self) -> None:
        rsa = signing.identity("rsa", self.authority, key=signing.rsa_key())
        pss = ("-keyopt", "rsa_padding_mode:pss", "-md", "sha384", "-binary")
        for who, options in (
            (self.vendor, ("-binary", "-md", "sha512")),
            (self.vendor, ("-binary", "-md", "sha224", "-keyid")),
            (self.vendor, ("-binary", "-noattr")),
            (self.vendor, ("-md", "sha256")),  # lines ended by CR and LF
            (rsa, ("-binary",)),
            (rsa, ("-binary", "-noattr", "-md", "sha384")),
            (rsa, pss),
        ):
            self.signed_by(who, "OPTION_1", packed(self.one(who, *options)))

    def test_the_certificate_beside_it(self) -> None:
        alone = ("-binary", "-nocerts")
        files = self.one(None, *alone)
        self.refused(packed(files), "of who signed is not in the package")
        files[CERTIFICATE] = self.vendor.pem
        self.signed_by(self.vendor, "OPTION_1", packed(files))
        named = NAMED + b"ETSI-Entry-Certificate: its.cert\n"
        meta = self.files[META].replace(NAMED, named)
        files = self.one(None, *alone, files=self.files | {META: meta})
        self.refused(packed(files), "its.cert is not in the package")
        files["its.cert"] = self.vendor.pem
        self.signed_by(self.vendor, "OPTION_1", packed(files))
        files["its.cert"] = b"no certificate"
        self.refused(packed(files), "its.cert: a certificate")

    def test_an_authority_in_between(self) -> None:
        middle = signing.identity("middle", self.authority, is_authority=True)
        who = signing.identity("branch", middle)
        files = self.one(who)
        self.refused(packed(files), "'CN=branch' is not trusted")
        files[CERTIFICATE] = middle.pem
        self.signed_by(who, "OPTION_1", packed(files))

    def test_one_who_is_trusted_by_name(self) -> None:
        who = signing.identity("alone")
        self.refused(packed(self.one(who)), "'CN=alone' is not trusted")
        (self.trusted / "alone.crt").write_bytes(who.pem)
        self.signed_by(who, "OPTION_1", packed(self.one(who)))

    def test_one_who_is_trusted_by_name_and_signs_with_another_key(
        self,
    ) -> None:
        """What a certificate says of its key counts there as well."""
        for uses, told in (
            ({"key_encipherment": True}, "keyUsage has neither"),
            ({"digital_signature": True}, None),
            ({"content_commitment": True}, None),
        ):
            who = signing.identity("alone", uses=uses)
            (self.trusted / "alone.crt").write_bytes(who.pem)
            content = packed(self.one(who))
            if told:
                self.refused(content, told)
            else:
                self.signed_by(who, "OPTION_1", content)

    def test_people_who_are_not_trusted(self) -> None:
        stranger = signing.identity("root", is_authority=True)
        expired = signing.identity("old", self.authority, until=NOW - DAY)
        no_authority = signing.identity("sub", self.vendor)
        other_use = signing.identity(
            "server", self.authority, uses={"key_encipherment": True}
        )
        weak = signing.identity(
            "weak", self.authority, key=signing.rsa_key(1024)
        )
        for who, told in (
            (signing.identity("vendor", stranger), "'CN=vendor' is not"),
            (expired, "not valid after"),
            (no_authority, "'CN=sub' is not trusted"),
            (other_use, "not for signing"),
            (weak, "its key has 1024 bits"),
        ):
            files = self.one(who) | {CERTIFICATE: self.vendor.pem}
            self.refused(packed(files), told)

    def test_what_was_changed_afterwards(self) -> None:
        files = self.one()
        right = files[MANIFEST]
        begin = right.index(b"-----BEGIN")
        changed = files[POD] + b"# more\n"
        again = signing.manifest_of(self.files | {POD: changed}, MANIFEST)
        forged = files | {POD: changed, MANIFEST: again + right[begin:]}
        for wrong, told in (
            (files | {POD: changed}, f"the sha256 digest of {POD}"),
            (forged, "the signature is of another content"),
            (files | {"Files/new": b"x"}, "Files/new is in the package and"),
            (files | {"new.yaml": b"x"}, "the signature is not of it"),
            (files | {MANIFEST: right + b"Source: x\n"}, "cannot be read"),
            (files | {MANIFEST: right[: begin + 60]}, "cannot be read"),
            (files | {MANIFEST: b"\n" + right}, "of another content"),
        ):
            self.refused(packed(wrong), told)

    def test_a_signature_that_does_not_match(self) -> None:
        other = signing.identity("vendor", self.authority)
        other = Identity(self.vendor.certificate, other.key)
        signed = self.signer.sign(b"x", self.vendor)
        manifest = signing.manifest_of(self.files, MANIFEST)
        files = self.files | {MANIFEST: manifest + signed}
        self.refused(packed(files), "of another content")

    def test_packages_without_signature_are_taken(self) -> None:
        shown = self.taken(self.good)
        self.assertNotIn("packageSecurityOption", shown)
        manifest = signing.manifest_of(self.files, MANIFEST)
        shown = self.taken(packed(self.files | {MANIFEST: manifest}))
        self.assertNotIn("packageSecurityOption", shown)

    def test_a_manifest_lists_every_file(self) -> None:
        manifest = signing.manifest_of(self.files, MANIFEST)
        files = self.files | {MANIFEST: manifest, "Files/new": b"x"}
        told = f"{MANIFEST}: Files/new is in the package and not listed"
        self.refused(packed(files), told)

    def with_own(self, pod: bytes, *more: bytes) -> dict[str, bytes]:
        """Sign one file of a package by itself."""
        block = b"\nSource: %s\nSignature: pod.cms\n" % POD.encode()
        manifest = signing.manifest_of(self.files, MANIFEST)
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
        named = b"Certificate: pod.cert\n"
        right = self.files[POD]
        self.taken(packed(self.with_own(right, named)))
        files = self.with_own(right + b" ", named)
        self.refused(packed(files), "pod.cms: the signature is of another")
        files = self.with_own(right, named) | {"pod.cms": b"no signature"}
        self.refused(packed(files), "pod.cms: the signature cannot be read")
        for name in ("pod.cms", "pod.cert"):
            files = self.with_own(right, named)
            del files[name]
            self.refused(packed(files), f"{name}: no signature or certificate")
        outside = b"Certificate: ../../../secrets.key\n"
        files = self.with_own(right, outside)
        del files["pod.cert"]
        self.refused(packed(files), "no signature or certificate")


class TestOption2(SignatureTest):
    def test_a_package_beside_its_signature(self) -> None:
        for options in (
            ("-binary",),
            ("-binary", "-outform", "DER"),
            ("-binary", "-noattr"),
        ):
            self.signed_by(
                self.vendor, "OPTION_2", self.two(self.vendor, *options)
            )

    def test_its_files_are_given(self) -> None:
        path = self.onboarded(self.two())
        pod = self.call("GET", f"{path}/artifacts/{POD}").content
        self.assertEqual(test_packages.files_of(self.good)[POD], pod)

    def test_the_certificate_beside_it(self) -> None:
        alone = ("-binary", "-nocerts")
        content = self.two(None, *alone, vnf_cert=self.vendor.pem)
        self.signed_by(self.vendor, "OPTION_2", content)
        self.refused(self.two(None, *alone), "of who signed is not")
        content = self.two(None, *alone, vnf_cert=b"x")
        self.refused(content, "a certificate beside it cannot be read")

    def test_what_is_refused(self) -> None:
        other = self.useFixture(Csar()).read()
        for content, told in (
            (self.two(vnf_csar=other), "of another content"),
            (self.two(vnf_cms=b"x"), "cannot be read"),
            (self.two(vnf_cms=None), "0 signatures"),
            (self.two(other_cms=b"x"), "2 signatures"),
            (self.two(signing.identity("x")), "'CN=x' is not trusted"),
            (self.two(None, "-binary", "-nodetach"), "content of its own"),
            (self.two(None, "-binary", "-stream"), "cannot be read"),
            (self.two(None, "-binary", "-md", "sha1"), "is not supported"),
        ):
            self.refused(content, told)

    def test_what_is_no_package_beside_a_signature(self) -> None:
        signed = self.signer.sign(b"x", self.vendor)
        content = packed({"vnf.csar": b"x", "vnf.cms": signed})
        self.refused(content, "cannot be read as zip")
        content = packed({"a/vnf.csar": self.good, "vnf.cms": signed})
        self.refused(content, META)


class TestRequired(SignatureTest):
    demand = "required"

    def test_only_signed_packages_are_taken(self) -> None:
        self.refused(self.good, "the package is not signed")
        manifest = signing.manifest_of(self.files, MANIFEST)
        files = self.files | {MANIFEST: manifest}
        self.refused(packed(files), "the package is not signed")
        self.signed_by(self.vendor, "OPTION_1", packed(self.one()))
        self.signed_by(self.vendor, "OPTION_2", self.two())

    def test_definitions_that_pose_as_the_certificate(self) -> None:
        meta = self.files.pop(META)
        manifest = signing.manifest_of(self.files, MANIFEST)
        signed = manifest + self.signer.sign(manifest, self.vendor)
        pem = b'description: "\n' + self.vendor.pem + b'"'
        evil = self.files[TOP] + b"\n# " + pem
        other = NAMED.replace(TOP.encode(), b"evil.yaml")
        other += b"ETSI-Entry-Certificate: evil.yaml\n"
        files = self.files | {MANIFEST: signed, "evil.yaml": evil}
        files[META] = meta.replace(NAMED, other)
        self.refused(packed(files), "evil.yaml: it holds more than")
        told = "is in the package, and the signature is not of it"
        files["evil.yaml"] = self.vendor.pem
        self.refused(packed(files), f"{META} {told}")
        del files["evil.yaml"]
        files[META] = meta
        self.refused(packed(files), f"{META} {told}")

    def test_the_entry_is_listed_whatever_it_poses_as(self) -> None:
        posing = NAMED + f"ETSI-Entry-Certificate: {TOP}\n".encode()
        meta = self.files[META].replace(NAMED, posing)
        files = self.files | {META: meta}
        entry = files.pop(TOP)
        files = self.one(files=files) | {TOP: self.vendor.pem}
        told = f"{TOP} is in the package, and the signature is not of it"
        self.refused(packed(files), told)
        self.refused(packed(files | {TOP: entry}), f"{TOP}: a certificate")

    def test_text_around_a_certificate(self) -> None:
        for text in (
            self.vendor.pem + b"key: value\n",
            b"a" + self.vendor.pem,
        ):
            files = self.one() | {CERTIFICATE: text}
            self.refused(packed(files), f"{CERTIFICATE}: it holds more than")
        twice = b"\n" + self.vendor.pem + b"\r\n\n" + self.authority.pem
        files = self.one() | {CERTIFICATE: twice}
        self.signed_by(self.vendor, "OPTION_1", packed(files))

    def test_a_package_signed_twice(self) -> None:
        self.good = packed(self.one())
        self.signed_by(self.vendor, "OPTION_1", self.two())


class TestOff(SignatureTest):
    demand = "off"

    def test_signatures_are_not_looked_at(self) -> None:
        stranger = signing.identity("stranger")
        for content in (packed(self.one(stranger)), self.two(stranger)):
            shown = self.taken(content)
            self.assertNotIn("packageSecurityOption", shown)

    def test_digests_are(self) -> None:
        files = self.one() | {POD: b"x"}
        self.refused(packed(files), f"the sha256 digest of {POD}")


class TestTrusted(SignatureTest):
    """Whose certificates are read, when, and what if they cannot be."""

    def test_nobody_where_they_are_checked(self) -> None:
        log = self.useFixture(fixtures.FakeLogger())
        self.serve(signatures="checked")
        self.assertIn("every signed VNF package will be refused", log.output)
        told = "[catalogue] trusted_certificates names none"
        self.refused(self.two(), told)
        self.taken(self.good)

    def refuses_to_start(self, told: str, **options: Any) -> None:
        conf = self.vnfm.conf
        for name, value in options.items():
            conf.set_override(name, value, "catalogue")
        error = self.assertRaises(errors.VnfmError, compose.parts, conf)
        self.assertIn(told, str(error))

    def test_nobody_where_they_are_required(self) -> None:
        told = "signatures is required, and trusted_certificates has none"
        self.refuses_to_start(
            told, signatures="required", trusted_certificates=None
        )
        (self.trusted / "root.pem").unlink()
        trusted = str(self.trusted)
        self.refuses_to_start(
            told, signatures="required", trusted_certificates=trusted
        )

    def test_what_cannot_be_read_at_the_start(self) -> None:
        bad = self.trusted / "bad.pem"
        bad.write_text("no certificate")
        for place, told in (
            (self.trusted, f"{bad} cannot be read: it holds no certificate"),
            (bad, f"{bad} cannot be read: it holds no certificate"),
            (bad / "x", "cannot be read: Not a directory"),
            (Path("/nowhere"), "/nowhere cannot be read: No such file"),
        ):
            self.refuses_to_start(told, trusted_certificates=str(place))

    def test_what_cannot_be_read_any_more(self) -> None:
        log = self.useFixture(fixtures.FakeLogger())
        bad = self.trusted / "bad.pem"
        bad.write_text("no certificate")
        path = self.made()
        answer = self.upload(path, self.two())
        self.assert_problem(503, answer, "the log of this service tells why")
        self.assertNotIn(str(self.trusted), answer.detail)
        self.assertIn(f"{bad} cannot be read", log.output)
        self.taken(self.good)  # there is nothing to verify
        bad.unlink()
        self.taken(self.two())
