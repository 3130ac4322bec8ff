"""What a package says about its manifest, its signatures and certificates."""

import hashlib
from typing import Any

from tacker_cnf.vnfd.csar import Csar
from tests.unit.vnfd import packages
from tests.unit.vnfd.packages import ENTRY, META
from tests.unit.vnfd.testcases import CsarTest

TOSCA_META = "TOSCA-Metadata/TOSCA.meta"
BESIDE = "Definitions/top.vnfd"


def listed(name: str, data: str = "", **attributes: str) -> str:
    """Return the lines of a file in a manifest."""
    digest = hashlib.sha256(data.encode()).hexdigest()
    lines = [f"Source: {name}"]
    if not attributes:
        lines += ["Algorithm: SHA-256", f"Hash: {digest}"]
    lines += [f"{key}: {value}" for key, value in attributes.items()]
    return "\n".join([*lines, "", ""])


class TestManifests(CsarTest):
    def open(self, meta: str = META, **files: str) -> Csar:
        return self.unpack(self.files(meta, **files))

    def files(self, meta: str, **files: str) -> dict[str, Any]:
        names = {
            name.replace("__", "/").replace("_", "."): data
            for name, data in files.items()
        }
        return packages.package_files() | {TOSCA_META: meta} | names

    def refuse(self, meta: str = META, **files: str) -> str:
        packages.write_zip(self.archive, self.files(meta, **files))
        return self.refused()

    def test_where_the_manifest_is(self) -> None:
        at_root, beside = "top.vnfd.mf", f"{BESIDE}.mf"
        named = META + "ETSI-Entry-Manifest: any.mf\n"
        files = {at_root: "", beside: "", "any.mf": "", "other.mf": ""}
        for meta, names, expected in (
            (META, [], None),
            (META, ["other.mf"], None),
            (META, [at_root], at_root),
            (META, [at_root, beside], beside),
            (named, [at_root, beside, "any.mf"], "any.mf"),
        ):
            found = {name: files[name] for name in names}
            opened = self.unpack(
                packages.package_files() | {TOSCA_META: meta} | found
            )
            self.assertEqual(expected, opened.manifest)

    def test_where_the_certificate_is(self) -> None:
        named = META + "ETSI-Entry-Certificate: any.cert\n"
        for meta, files, expected in (
            (META, {}, None),
            (META, {"top_vnfd_cert": ""}, None),
            (META, {"top_vnfd_mf": ""}, None),
            (META, {"top_vnfd_mf": "", "any_cert": ""}, None),
            (
                META,
                {"top_vnfd_mf": "", "top_vnfd_cert": ""},
                "top.vnfd.cert",
            ),
            (named, {"any_cert": ""}, "any.cert"),
            (
                named,
                {"top_vnfd_mf": "", "top_vnfd_cert": "", "any_cert": ""},
                "any.cert",
            ),
        ):
            opened = self.open(meta, **files)
            self.assertEqual(expected, opened.certificate, str(files))

    def test_files_that_metadata_name_have_to_exist(self) -> None:
        for kind in ("Manifest", "Certificate"):
            meta = f"{META}ETSI-Entry-{kind}: any\n"
            self.assertEqual(
                f"{TOSCA_META}: the ETSI-Entry-{kind} any is not in the"
                " package",
                self.refuse(meta),
            )

    def test_signed_and_unsigned_files(self) -> None:
        signature = {"Signature": "a.cms", "Certificate": "a.cert"}
        entry = listed(ENTRY, "a: 1\n")
        meta = listed(TOSCA_META, META)
        signed = listed("a", **signature)
        rest = {"a": "x", "a_cms": "", "a_cert": ""}
        for manifest, files, unsigned in (
            ("", {}, [ENTRY, TOSCA_META]),
            (entry, {}, [TOSCA_META]),
            (entry + meta, {}, []),
            (entry + meta + listed("a", "x"), {"a": "x"}, []),
            (entry + meta, {"top_vnfd_cert": ""}, []),
            (entry + meta + signed, rest, []),
            (signed, rest, [ENTRY, TOSCA_META]),
            # a file that is listed without a digest
            (
                entry + meta + listed("a", Certificate="a.cert"),
                {"a": "x", "a_cert": ""},
                ["a"],
            ),
        ):
            opened = self.open(top_vnfd_mf=manifest, **files)
            self.assertEqual(sorted(unsigned), list(opened.unsigned), manifest)
            paths = [artifact.path for artifact in opened.signed]
            expected = ["a"] if "Signature" in manifest else []
            self.assertEqual(expected, paths)
        self.assertEqual((), self.open().unsigned)

    def test_neither_definitions_nor_metadata_are_signing_files(self) -> None:
        for path in (ENTRY, TOSCA_META):
            manifest = listed("a", Signature=path)
            opened = self.open(top_vnfd_mf=manifest, a="x")
            self.assertIn(path, opened.unsigned)

    def test_a_manifest_lists_all_files(self) -> None:
        first = listed("a", "x")
        for files, missing in (
            ({"Files__b": "y"}, "Files/b"),
            ({"b": "y"}, "b"),
            ({"Scripts__b_yaml": "y"}, "Scripts/b.yaml"),
            ({"b_yaml": "y", "Definitions__c_yml": "y"}, None),
            ({"Definitions__b": "y"}, "Definitions/b"),
        ):
            if missing is None:
                self.open(top_vnfd_mf=first, a="x", **files)
                continue
            self.assertEqual(
                f"top.vnfd.mf: {missing} is in the package and not listed",
                self.refuse(top_vnfd_mf=first, a="x", **files),
            )
        # a manifest that lists nothing, and metadata that list the file
        self.open(top_vnfd_mf="", b="y")
        digest = hashlib.sha256(b"y").hexdigest()
        block = f"\nName: b\nAlgorithm: SHA-256\nHash: {digest}\n"
        self.open(META + block, top_vnfd_mf=first, a="x", b="y")

    def test_digests_of_both_are_verified(self) -> None:
        digest = "0" * 64
        block = f"\nName: a\nAlgorithm: SHA-256\nHash: {digest}\n"
        manifest = listed("a", "y")
        for meta, files, where in (
            (META, {"top_vnfd_mf": manifest}, "top.vnfd.mf, line 1"),
            # metadata may list a file without a digest
            (
                META + "\nName: a\nKind: x\n",
                {"top_vnfd_mf": manifest},
                "top.vnfd.mf, line 1",
            ),
            (META + block, {}, f"{TOSCA_META}, line 6"),
        ):
            message = self.refuse(meta, a="x", **files)
            expected = f"{where}: the sha256 digest of a is "
            self.assertTrue(message.startswith(expected), message)

    def test_digests_of_metadata_precede_those_of_the_manifest(self) -> None:
        digest = hashlib.sha256(b"x").hexdigest()
        block = (
            f"\nName: a\nAlgorithm: SHA-256\nHash: {digest}\nKind: of-meta\n"
            "\nName: b\nKind: of-meta\n"
        )
        manifest = listed("a", "x") + listed("b", "y")
        opened = self.open(META + block, top_vnfd_mf=manifest, a="x", b="y")
        self.assertEqual(
            {"a": {"kind": "of-meta"}, "b": {}},
            {a.path: a.metadata for a in opened.artifacts},
        )

    def test_files_elsewhere_are_not_looked_for(self) -> None:
        elsewhere = listed("https://host/image.qcow2", "x")
        self.open(top_vnfd_mf=elsewhere + listed("a", "x"), a="x")
        self.assertEqual(
            "top.vnfd.mf, line 5: none is not in the package",
            self.refuse(top_vnfd_mf=elsewhere + listed("none"), a="x"),
        )
        message = self.refuse(top_vnfd_mf=elsewhere + listed("a"), a="x")
        self.assertIn("line 5: the sha256 digest of a is", message)

    def test_other_lines_of_a_manifest_are_ignored(self) -> None:
        manifest = (
            "metadata:\n  vnf_product_name: any\nHash: none\nSignature: no\n"
            + listed("a", "x").rstrip()
            + "\nContent-Type: text/plain\nname: b\n\nnon_mano_artifact_sets:\n"
            + "  set:\n    Source: b\n"
            + listed("c", Signature="c.cms", Certificate="c.cert").rstrip()
            + "\nKind: x\n"
        )
        names = ("a", "c", "c_cms", "c_cert")
        data = dict.fromkeys(names, "") | {"a": "x"}
        opened = self.open(top_vnfd_mf=manifest, **data)
        found = {a.path: (a.algorithm, a.metadata) for a in opened.artifacts}
        signature = {"signature": "c.cms", "certificate": "c.cert"}
        self.assertEqual({"a": ("sha256", {}), "c": (None, signature)}, found)
