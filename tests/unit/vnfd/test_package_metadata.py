from tacker_cnf.vnfd.csar import Limits
from tests.unit.vnfd import packages
from tests.unit.vnfd.packages import ENTRY, META
from tests.unit.vnfd.testcases import CsarTest


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
                (
                    f"{where}: the ETSI-Entry-Manifest no.mf is not in the"
                    " package"
                ),
            ),
            (
                META + f"\nName: missing\nAlgorithm: SHA-256\nHash: {digest}",
                f"{where}, line 6: missing is not in the package",
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
                f"{where}, line 6: the Hash of {ENTRY} has no Algorithm",
            ),
            (
                META + f"\nName: {ENTRY}\nAlgorithm: SHA-512\nHash: {digest}",
                f"{where}, line 6: the Hash of {ENTRY} is not a sha512 digest",
            ),
            (
                META + f"\nName: {ENTRY}\nAlgorithm: SHA-256",
                f"{where}, line 6: the Hash of {ENTRY} is not a sha256 digest",
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
                "Source: missing\nAlgorithm: SHA-256\nHash: " + "0" * 64,
                "top.vnfd.mf, line 1: missing is not in the package",
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
                f"top.vnfd.mf, line 1: the Hash of {ENTRY} is not a sha256 digest",
            ),
            (
                f"Source: {ENTRY}\nHash: 0\nHash: 1\n",
                "top.vnfd.mf, line 3: a second Hash",
            ),
        ):
            files = packages.package_files({"top.vnfd.mf": manifest})
            packages.write_zip(self.archive, files)
            self.assertEqual(expected, self.refused())

    def test_neither_metadata_nor_a_single_yaml_file(self) -> None:
        for files, number in (
            ({"README": ""}, 0),
            ({"a.yaml": "", "b.yml": ""}, 2),
            ({"sub/a.yaml": ""}, 0),
        ):
            packages.write_zip(self.archive, files)
            self.assertEqual(
                "the package has no TOSCA-Metadata/TOSCA.meta, and"
                f" {number} YAML files at its root, not one",
                self.refused(),
            )

    def test_a_package_within_a_folder(self) -> None:
        files = packages.package_files()
        within = {f"vnf/{path}": data for path, data in files.items()}
        packages.write_zip(self.archive, within)
        self.assertEqual(
            "TOSCA-Metadata/TOSCA.meta is in the folder 'vnf': pack what is in"
            " that folder, not the folder itself",
            self.refused(),
        )

    def test_a_metadata_directory_without_its_file(self) -> None:
        files = {"TOSCA-Metadata/other": "", "a.yaml": ""}
        packages.write_zip(self.archive, files)
        self.assertEqual(
            "TOSCA-Metadata/TOSCA.meta is not in the package",
            self.refused(),
        )

    def test_files_that_are_not_texts(self) -> None:
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
