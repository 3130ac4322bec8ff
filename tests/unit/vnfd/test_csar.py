import hashlib
import stat
import zipfile

from tacker_cnf import errors
from tacker_cnf.vnfd import csar
from tacker_cnf.vnfd.csar import Artifact
from tests.unit.vnfd import packages
from tests.unit.vnfd.packages import ENTRY, META
from tests.unit.vnfd.testcases import CsarTest

SCRIPT = b"print('hello')\n"


def block(name: str, data: bytes, algorithm: str = "SHA-256") -> str:
    kind = "sha" + algorithm[-3:]
    digest = hashlib.new(kind, data).hexdigest()
    return f"\nName: {name}\nAlgorithm: {algorithm}\nHash: {digest}\n"


def a_manifest(name: str, data: bytes, algorithm: str = "SHA-256") -> str:
    digest = hashlib.new("sha" + algorithm[-3:], data).hexdigest()
    return (
        "metadata:\n  vnf_product_name: Product\n\n"
        f"Source: {name}\nAlgorithm: {algorithm}\nHash: {digest}\n"
        "-----BEGIN CMS-----\nMIIBbase64\n-----END CMS-----\n"
    )


class TestUnpack(CsarTest):
    def test_all_files_are_written_read_only(self) -> None:
        files = packages.package_files({"Scripts/run.py": SCRIPT})
        opened = self.unpack(files | {"Empty/": ""})
        self.assertEqual(ENTRY, opened.entry_definitions)
        self.assertEqual("a vendor", opened.created_by)
        self.assertEqual((), opened.artifacts)
        self.assertEqual(SCRIPT, (self.tree / "Scripts/run.py").read_bytes())
        self.assertTrue((self.tree / "Empty").is_dir())
        for path in [self.tree, *self.tree.rglob("*")]:
            expected = 0o755 if path.is_dir() else 0o444
            self.assertEqual(expected, stat.S_IMODE(path.stat().st_mode))

    def test_uncompressed_files_are_written(self) -> None:
        with zipfile.ZipFile(self.archive, "w") as archive:
            for name, data in packages.package_files().items():
                archive.writestr(name, data)
        opened = csar.unpack(self.archive, self.tree)
        self.assertEqual(ENTRY, opened.entry_definitions)

    def test_without_metadata_one_yaml_at_the_root(self) -> None:
        for name in ("top.yaml", "top.yml"):
            files = {name: "a: 1", "README": "", "sub/other.yaml": ""}
            tree = self.root / name
            packages.write_zip(self.archive, files)
            opened = csar.unpack(self.archive, tree)
            self.assertEqual(name, opened.entry_definitions)
            self.assertIsNone(opened.created_by)

    def test_the_target_may_be_an_empty_directory(self) -> None:
        self.tree.mkdir()
        packages.write_zip(self.archive, packages.package_files())
        csar.unpack(self.archive, self.tree)
        self.assertTrue((self.tree / ENTRY).is_file())

    def test_a_target_that_is_not_empty_is_left_alone(self) -> None:
        self.tree.mkdir()
        (self.tree / "mine").touch()
        packages.write_zip(self.archive, packages.package_files())
        self.assertRaises(
            FileExistsError,
            csar.unpack,
            self.archive,
            self.tree,
        )
        self.assertTrue((self.tree / "mine").exists())


class TestDigests(CsarTest):
    def test_each_spelling_of_each_algorithm(self) -> None:
        for size in ("224", "256", "384", "512"):
            for form in ("SHA-{}", "sha-{}", "SHA{}", "sha{}", "SHA_{}"):
                meta = META + block("s.py", SCRIPT, form.format(size))
                files = packages.package_files({"s.py": SCRIPT})
                tree = self.root / (form + size)
                packages.write_zip(
                    self.archive,
                    files | {"TOSCA-Metadata/TOSCA.meta": meta},
                )
                (artifact,) = csar.unpack(self.archive, tree).artifacts
                self.assertEqual(f"sha{size}", artifact.algorithm)

    def test_artifacts_have_their_attributes(self) -> None:
        digest = "A" * 64
        meta = (
            f"{META}{block('./s.py', SCRIPT)}Content-Type: text/x-python\n"
            f"\nSource: https://host/image.qcow2\nAlgorithm: SHA-256\n"
            f"Hash: {digest}\n"
            f"\nName: {ENTRY}\nContent-Type: application/yaml\n"
        )
        opened = self.unpack(
            packages.package_files(
                {"s.py": SCRIPT, "TOSCA-Metadata/TOSCA.meta": meta}
            ),
        )
        self.assertEqual(
            (
                Artifact(
                    path="s.py",
                    algorithm="sha256",
                    hash=hashlib.sha256(SCRIPT).hexdigest(),
                    metadata={"content-type": "text/x-python"},
                ),
                Artifact(
                    path="https://host/image.qcow2",
                    algorithm="sha256",
                    hash=digest.lower(),
                ),
                Artifact(
                    path=ENTRY,
                    metadata={"content-type": "application/yaml"},
                ),
            ),
            opened.artifacts,
        )
        self.assertTrue(opened.artifacts[1].is_external)

    def test_continuation_lines(self) -> None:
        digest = hashlib.sha256(SCRIPT).hexdigest()
        meta = (
            f"{META}\nName: Scripts/a\n  b.py\nAlgorithm: SHA-256\n"
            f"Hash: {digest[:30]}\n {digest[30:]}\n"
        )
        opened = self.unpack(
            packages.package_files(
                {
                    "Scripts/a b.py": SCRIPT,
                    "TOSCA-Metadata/TOSCA.meta": meta.replace("\n", "\r\n"),
                }
            ),
        )
        self.assertEqual("Scripts/a b.py", opened.artifacts[0].path)

    def test_manifests(self) -> None:
        metadata = META + "ETSI-Entry-Manifest: other.mf\n"
        for place, meta in (
            ("other.mf", metadata),
            ("Definitions/top.vnfd.mf", META),
            ("top.vnfd.mf", META),
        ):
            files = packages.package_files(
                {
                    "s.py": SCRIPT,
                    place: a_manifest("s.py", SCRIPT, "SHA-512"),
                    "TOSCA-Metadata/TOSCA.meta": meta,
                }
            )
            tree = self.root / place.replace("/", "-")
            packages.write_zip(self.archive, files)
            (artifact,) = csar.unpack(self.archive, tree).artifacts
            self.assertEqual(
                ("s.py", "sha512"), (artifact.path, artifact.algorithm)
            )

    def test_a_manifest_of_a_package_without_metadata(self) -> None:
        opened = self.unpack(
            {"t.yaml": "a: 1", "t.mf": a_manifest("t.yaml", b"a: 1")},
        )
        self.assertEqual("t.yaml", opened.artifacts[0].path)

    def test_files_in_metadata_and_manifest_are_listed_once(self) -> None:
        meta = META + block("s.py", SCRIPT)
        files = packages.package_files(
            {
                "s.py": SCRIPT,
                "top.vnfd.mf": a_manifest("s.py", SCRIPT, "SHA-512"),
                "TOSCA-Metadata/TOSCA.meta": meta,
            }
        )
        opened = self.unpack(files)
        self.assertEqual(["sha256"], [a.algorithm for a in opened.artifacts])
        wrong = a_manifest("s.py", b"other", "SHA-512")
        packages.write_zip(self.archive, files | {"top.vnfd.mf": wrong})
        tree = self.root / "second"
        error = self.assertRaises(
            errors.InvalidPackage,
            csar.unpack,
            self.archive,
            tree,
        )
        self.assertIn("top.vnfd.mf, line 4: the sha512 digest", str(error))

    def test_an_error_has_the_listed_and_the_actual_digest(self) -> None:
        meta = META + block("s.py", SCRIPT)
        packages.write_zip(
            self.archive,
            packages.package_files(
                {"s.py": "other", "TOSCA-Metadata/TOSCA.meta": meta}
            ),
        )
        self.assertEqual(
            "TOSCA-Metadata/TOSCA.meta, line 6: the sha256 digest of s.py is"
            f" {hashlib.sha256(b'other').hexdigest()}, not"
            f" {hashlib.sha256(SCRIPT).hexdigest()}",
            self.refused(),
        )
