import hashlib
import stat
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.vnfd import csar
from tacker_cnf.vnfd.csar import Artifact, Limits
from tests.unit.vnfd import packages
from tests.unit.vnfd.packages import ENTRY, META

SCRIPT = b"print('hello')\n"
MIB = 1024 * 1024


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


class CsarTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)
        self.archive = self.root / "package.zip"
        self.tree = self.root / "tree"

    def unpack(self, files: Any, limits: Limits | None = None) -> csar.Csar:
        packages.write_zip(self.archive, files)
        self.tree = Path(self.useFixture(fixtures.TempDir()).path) / "tree"
        return csar.unpack(self.archive, self.tree, limits)

    def refused(self, limits: Limits | None = None) -> str:
        """Unpack what lies there; give the sentence of its refusal."""
        error = self.assertRaises(
            errors.InvalidPackage,
            csar.unpack,
            self.archive,
            self.root / "refused",
            limits,
        )
        self.assertEqual([self.archive], list(self.root.iterdir()))
        return str(error)


class TestUnpack(CsarTest):
    def test_everything_is_written_read_only(self) -> None:
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

    def test_stored_files_too(self) -> None:
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

    def test_an_empty_directory_may_be_there(self) -> None:
        self.tree.mkdir()
        packages.write_zip(self.archive, packages.package_files())
        csar.unpack(self.archive, self.tree)
        self.assertTrue((self.tree / ENTRY).is_file())

    def test_a_directory_with_something_in_it_is_left_alone(self) -> None:
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

    def test_artifacts_have_what_is_said_of_them(self) -> None:
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

    def test_lines_continue(self) -> None:
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
        named = META + "ETSI-Entry-Manifest: other.mf\n"
        for place, meta in (
            ("other.mf", named),
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

    def test_both_are_checked_and_listed_once(self) -> None:
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

    def test_a_wrong_digest_is_told_with_both(self) -> None:
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


class TestMetadataFaults(CsarTest):
    def test_tosca_meta(self) -> None:
        where = "TOSCA-Metadata/TOSCA.meta"
        digest = "0" * 64
        for meta, expected in (
            ("", f"{where}: the file is empty"),
            ("\n \n", f"{where}: the file is empty"),
            (
                "nonsense",
                f"{where}, line 1: 'Name: value' is expected, not 'nonsense'",
            ),
            (
                " a: b",
                f"{where}, line 1: 'Name: value' is expected, not ' a: b'",
            ),
            (
                META.replace("CSAR-Version: 1.1\n", ""),
                f"{where}: no CSAR-Version",
            ),
            (
                META.replace("CSAR-Version: 1.1", "CSAR-Version: 2.0"),
                f"{where}, line 2: CSAR-Version is '2.0', not one of 1.0, 1.1",
            ),
            (
                META.replace("TOSCA-Meta-File-Version: 1.0\n", ""),
                f"{where}: no TOSCA-Meta-File-Version",
            ),
            (
                META.replace("File-Version: 1.0", "File-Version: 9"),
                (
                    f"{where}, line 1: TOSCA-Meta-File-Version is '9', not one of"
                    " 1.0, 1.1"
                ),
            ),
            (
                META.replace(f"Entry-Definitions: {ENTRY}\n", ""),
                f"{where}: no Entry-Definitions",
            ),
            (META.replace(ENTRY, ""), f"{where}: no Entry-Definitions"),
            (
                META.replace(ENTRY, "Definitions/no.yaml"),
                (
                    f"{where}: the Entry-Definitions Definitions/no.yaml are not in"
                    " the package"
                ),
            ),
            (
                META.replace(ENTRY, "../outside.yaml"),
                (
                    f"{where}: the Entry-Definitions ../outside.yaml are not in"
                    " the package"
                ),
            ),
            (
                META + "CSAR-Version: 1.1",
                f"{where}, line 5: a second CSAR-Version",
            ),
            (
                META + "ETSI-Entry-Manifest: no.mf",
                "no.mf is not in the package",
            ),
            (
                META + f"\nName: gone\nAlgorithm: SHA-256\nHash: {digest}",
                f"{where}, line 6: gone is not in the package",
            ),
            (
                META + f"\nName: {ENTRY}\nAlgorithm: MD5\nHash: {digest}",
                (
                    f"{where}, line 6: the Algorithm of {ENTRY} is 'MD5', not one"
                    " of SHA-224, SHA-256, SHA-384 and SHA-512"
                ),
            ),
            (
                META + f"\nName: {ENTRY}\nHash: {digest}",
                (
                    f"{where}, line 6: the Algorithm of {ENTRY} is '', not one"
                    " of SHA-224, SHA-256, SHA-384 and SHA-512"
                ),
            ),
            (
                META + f"\nName: {ENTRY}\nAlgorithm: SHA-512\nHash: {digest}",
                f"{where}, line 6: the Hash of {ENTRY} is no sha512 digest",
            ),
            (
                META + f"\nName: {ENTRY}\nAlgorithm: SHA-256",
                f"{where}, line 6: the Hash of {ENTRY} is no sha256 digest",
            ),
            (
                META + f"\nAlgorithm: SHA-256\nHash: {digest}",
                f"{where}, line 6: the block names no file",
            ),
            (
                META + f"\nName: {ENTRY}\nName: b\n",
                f"{where}, line 7: a second Name",
            ),
        ):
            files = packages.package_files() | {where: meta}
            packages.write_zip(self.archive, files)
            self.assertEqual(expected, self.refused())

    def test_manifest(self) -> None:
        for manifest, expected in (
            (
                "Source: gone\nAlgorithm: SHA-256\nHash: " + "0" * 64,
                "top.vnfd.mf, line 1: gone is not in the package",
            ),
            (
                f"\nSource: {ENTRY}\nAlgorithm: SHA-1\nHash: 0",
                (
                    f"top.vnfd.mf, line 2: the Algorithm of {ENTRY} is 'SHA-1', not"
                    " one of SHA-224, SHA-256, SHA-384 and SHA-512"
                ),
            ),
            (
                f"Source: {ENTRY}\nAlgorithm: SHA-256\n",
                f"top.vnfd.mf, line 1: the Hash of {ENTRY} is no sha256 digest",
            ),
            (
                f"Source: {ENTRY}\nHash: 0\nHash: 1\n",
                "top.vnfd.mf, line 3: a second Hash",
            ),
        ):
            files = packages.package_files({"top.vnfd.mf": manifest})
            packages.write_zip(self.archive, files)
            self.assertEqual(expected, self.refused())

    def test_neither_metadata_nor_one_yaml(self) -> None:
        for files, number in (
            ({"README": ""}, 0),
            ({"a.yaml": "", "b.yml": ""}, 2),
            ({"sub/a.yaml": ""}, 0),
        ):
            packages.write_zip(self.archive, files)
            self.assertEqual(
                "the package has no TOSCA-Metadata/TOSCA.meta, and at its root"
                f" {number} YAML files where there should be one",
                self.refused(),
            )

    def test_a_metadata_directory_without_its_file(self) -> None:
        files = {"TOSCA-Metadata/other": "", "a.yaml": ""}
        packages.write_zip(self.archive, files)
        self.assertEqual(
            "TOSCA-Metadata/TOSCA.meta is not in the package",
            self.refused(),
        )

    def test_texts_that_are_none(self) -> None:
        files = packages.package_files()
        packages.write_zip(
            self.archive,
            files | {"TOSCA-Metadata/TOSCA.meta": b"\xff\xfe"},
        )
        self.assertEqual(
            "TOSCA-Metadata/TOSCA.meta: not UTF-8", self.refused()
        )
        packages.write_zip(self.archive, files)
        self.assertEqual(
            "TOSCA-Metadata/TOSCA.meta: longer than the 9 bytes accepted",
            self.refused(Limits(max_metadata_bytes=9)),
        )


class TestHostileArchives(CsarTest):
    def _write(self, *entries: tuple[zipfile.ZipInfo | str, bytes]) -> None:
        with zipfile.ZipFile(self.archive, "w") as archive:
            for name, data in packages.package_files().items():
                archive.writestr(name, data)
            for entry, data in entries:
                archive.writestr(entry, data)

    def test_names(self) -> None:
        for name, expected in (
            ("/etc/passwd", "which is no relative path"),
            ("C:/windows", "which is no relative path"),
            ("c:evil", "which is no relative path"),
            ("../evil", "which is no plain path"),
            ("a/../../evil", "which is no plain path"),
            ("a/./b", "which is no plain path"),
            ("a//b", "which is no plain path"),
            ("a/..", "which is no plain path"),
            ("a\\b", "which has a character that no path should have"),
            ("..\\evil", "which has a character that no path should have"),
            ("a\nb", "which has a character that no path should have"),
            ("a\x7fb", "which has a character that no path should have"),
            ("a\u202eb", "which has a character that no path should have"),
            ("d/" * 32 + "f", "which is too deep"),
            ("n" * 256, "which is too long"),
            ("\u00e4" * 128, "which is too long"),
            ("/".join(["n" * 250] * 5), "which is too long"),
        ):
            self._write((name, b""))
            self.assertEqual(
                f"the archive holds {name!r:.200}, {expected}",
                self.refused(),
            )

    def test_a_name_with_a_nul(self) -> None:
        self._write(("evilX.py", b""))
        data = self.archive.read_bytes().replace(b"evilX", b"evil\0")
        self.archive.write_bytes(data)
        self.assertIn("NUL", self.refused())

    def test_an_empty_name(self) -> None:
        self._write(("Q", b""))
        data = bytearray(self.archive.read_bytes())
        at = data.rindex(b"PK\x01\x02")
        struct.pack_into("<H", data, at + 28, 0)  # the name's length
        struct.pack_into("<H", data, at + 32, 1)  # the comment's
        self.archive.write_bytes(data)
        self.assertEqual(
            "the archive holds '', which is no relative path",
            self.refused(),
        )

    def test_names_that_clash(self) -> None:
        entry = zipfile.ZipInfo
        for names, expected in (
            (["a", "a"], "the archive holds 'a' twice"),
            (
                ["a", "A"],
                "the archive holds 'a' and 'A', which differ by case only",
            ),
            (
                ["d/x", "D/y"],
                "the archive holds 'd' and 'D', which differ by case only",
            ),
            (
                ["stra\u00dfe", "STRASSE"],
                (
                    "the archive holds 'stra\u00dfe' and 'STRASSE', which differ"
                    " by case only"
                ),
            ),
            (["a", "a/b"], "the archive holds 'a' as file and as directory"),
            (["a/b", "a"], "the archive holds 'a' as file and as directory"),
            (["a/", "a"], "the archive holds 'a' as file and as directory"),
            (["a", "a/"], "the archive holds 'a' as file and as directory"),
        ):
            with warnings.catch_warnings(action="ignore"):
                self._write(*[(entry(name), b"") for name in names])
            self.assertEqual(expected, self.refused())

    def test_a_directory_may_be_there_twice(self) -> None:
        with warnings.catch_warnings(action="ignore"):
            self._write(("d/", b""), ("d/", b""), ("d/f", b""))
        csar.unpack(self.archive, self.tree)
        self.assertTrue((self.tree / "d/f").is_file())

    def test_special_entries(self) -> None:
        for kind, name in (
            (stat.S_IFLNK, "link"),
            (stat.S_IFIFO, "pipe"),
            (stat.S_IFCHR, "device"),
            (stat.S_IFBLK, "disk"),
            (stat.S_IFSOCK, "socket"),
            (stat.S_IFDIR, "directory-without-slash"),
            (stat.S_IFLNK, "link/"),
        ):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (kind | 0o777) << 16
            self._write((entry, b"/etc/passwd"))
            self.assertEqual(
                f"the archive holds {name!r}, which is neither file nor"
                " directory",
                self.refused(),
            )

    def test_encrypted_entries(self) -> None:
        for flags in (0x1, 0x41, 0x2000):
            self._write(("secret", b"x"))
            data = bytearray(self.archive.read_bytes())
            at = data.rindex(b"PK\x01\x02")
            struct.pack_into("<H", data, at + 8, flags)
            self.archive.write_bytes(data)
            self.assertEqual("'secret' is encrypted", self.refused())

    def test_other_compressions(self) -> None:
        for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
            entry = zipfile.ZipInfo("odd")
            entry.compress_type = method
            self._write((entry, b"x" * 100))
            self.assertEqual(
                "'odd' is compressed by a method that is not supported",
                self.refused(),
            )

    def test_what_is_no_zip(self) -> None:
        self._write()
        whole = self.archive.read_bytes()
        for data in (b"", b"hello", whole[:-30], whole[100:], whole[:100]):
            self.archive.write_bytes(data)
            self.assertIn("cannot be read as zip", self.refused())

    def test_a_wrong_checksum(self) -> None:
        self._write(("file", b"some content"))
        data = self.archive.read_bytes().replace(
            b"some content", b"xome content"
        )
        self.archive.write_bytes(data)
        self.assertEqual(
            "file cannot be read as zip: Bad CRC-32 for file 'file'",
            self.refused(),
        )

    def test_a_missing_archive_is_not_the_packages_fault(self) -> None:
        self.assertRaises(
            FileNotFoundError,
            csar.unpack,
            self.archive,
            self.tree,
        )
        self.assertFalse(self.tree.exists())


class TestLimits(CsarTest):
    def test_the_number_of_files_and_directories(self) -> None:
        # two files in two directories of their own, and these
        files = packages.package_files({"a": "", "b/": "", "c/d/e": ""})
        self.unpack(files, Limits(max_files=9))
        packages.write_zip(self.archive, files)
        self.assertEqual(
            "the archive holds more than the 8 files and directories accepted",
            self.refused(Limits(max_files=8)),
        )

    def test_the_length_of_the_directory(self) -> None:
        files = packages.package_files({f"f{n}": "" for n in range(100)})
        packages.write_zip(self.archive, files)
        self.assertEqual(
            "the archive cannot be read as zip: the archive's directory is too"
            " long",
            self.refused(Limits(max_directory_bytes=4096)),
        )

    def test_the_size_of_all(self) -> None:
        noise = bytes(hashlib.shake_128(b"seed").digest(200_000))
        packages.write_zip(
            self.archive,
            packages.package_files({"a": noise, "b": noise}),
        )
        self.assertEqual(
            "the package unpacks to more than the 300000 bytes accepted, at b",
            self.refused(Limits(max_unpacked_bytes=300_000)),
        )

    def test_the_ratio_of_a_file_past_one_mebibyte(self) -> None:
        small = packages.package_files({"zeros": b"\0" * MIB})
        self.unpack(small)
        packages.write_zip(
            self.archive,
            packages.package_files({"zeros": b"\0" * (2 * MIB)}),
        )
        self.assertEqual(
            "zeros: unpacks to more than 200 times its packed size",
            self.refused(),
        )

    def test_sizes_that_the_archive_understates(self) -> None:
        packages.write_zip(
            self.archive,
            packages.package_files({"zeros": b"\0" * (8 * MIB)}),
        )
        data = bytearray(self.archive.read_bytes())
        at = data.rindex(b"PK\x01\x02")
        struct.pack_into("<I", data, at + 24, 10)
        self.archive.write_bytes(data)
        self.assertIn("zeros", self.refused())

    def test_packed_sizes_that_the_archive_overstates(self) -> None:
        packages.write_zip(
            self.archive,
            packages.package_files(
                {
                    "zeros": b"\0" * (64 * MIB),
                    "zz": hashlib.shake_128(b"").digest(4 * MIB),
                },
            ),
        )
        data = bytearray(self.archive.read_bytes())
        at = data.index(b"zeros", data.index(b"PK\x01\x02")) - 46
        struct.pack_into("<I", data, at + 20, 3 * MIB)
        self.archive.write_bytes(data)
        self.assertEqual(
            "zeros: unpacks to more than 200 times its packed size",
            self.refused(),
        )
