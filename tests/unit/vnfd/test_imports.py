import copy
from typing import Any

from tacker_cnf import errors
from tacker_cnf.vnfd import descriptor
from tacker_cnf.vnfd.limits import Limits
from tests.unit.vnfd.packages import ENTRY, changed, vnfd_files
from tests.unit.vnfd.testcases import (
    NODES,
    SIMPLE,
    TYPES,
    DescriptorTest,
)


class TestImports(DescriptorTest):
    def test_forms(self) -> None:
        for form in (
            "types.yaml",
            "./types.yaml",
            "../Definitions/types.yaml",
            {"file": "types.yaml"},
            {"url": "types.yaml", "namespace": "x"},
            {"some_name": "types.yaml"},
            {"some_name": {"file": "types.yaml"}},
        ):
            path = f"{SIMPLE}|imports"
            self.read(changed(vnfd_files(), path, [form]))

    def test_the_types_of_sol001_are_built_in(self) -> None:
        name = "etsi_nfv_sol001_vnfd_types.yaml"
        for form in (
            name,
            f"../../../{name}",
            f"https://forge.etsi.org/rep/{name}",
            {"file": f"https://forge.etsi.org/rep/{name}"},
        ):
            files = vnfd_files()
            files[TYPES]["imports"] = [form]
            self.read(files)

    def test_a_file_of_sol001_in_the_package_is_read(self) -> None:
        files = vnfd_files()
        files["Definitions/etsi_nfv_sol001_vnfd_types.yaml"] = {
            "tosca_definitions_version": "tosca_simple_yaml_1_2",
            "node_types": {
                "own.Vdu": {"derived_from": "tosca.nodes.nfv.VduCp"}
            },
        }
        changed(files, f"{NODES}|CP", {"type": "own.Vdu"})
        flavour = self.read(files).flavours["simple"]
        self.assertEqual(["CP"], list(flavour.connection_points))

    def test_faults(self) -> None:
        for form, expected in (
            (
                "missing.yaml",
                (
                    f"{SIMPLE} imports Definitions/missing.yaml, which is not in the"
                    " package"
                ),
            ),
            (
                "../../out.yaml",
                (
                    f"{SIMPLE}: imports.0: '../../out.yaml' is outside of the"
                    " package"
                ),
            ),
            (
                "/etc/passwd",
                f"{SIMPLE}: imports.0: '/etc/passwd' is outside of the package",
            ),
            (
                "https://host/types.yaml",
                (
                    f"{SIMPLE}: imports.0: https://host/types.yaml is not in the"
                    " package; files elsewhere are not downloaded"
                ),
            ),
            (
                "file:///etc/passwd",
                (
                    f"{SIMPLE}: imports.0: file:///etc/passwd is not in the"
                    " package; files elsewhere are not downloaded"
                ),
            ),
            (1, f"{SIMPLE}: imports.0: a text is expected; put 1 in quotes"),
            ([], f"{SIMPLE}: imports.0: a text is expected, not a list"),
            (
                {"a": "b", "c": "d"},
                f"{SIMPLE}: imports.0: an import has to name one file",
            ),
            (
                {"a": {"b": "c"}},
                f"{SIMPLE}: imports.0.a.file: a text is expected, not nothing",
            ),
            (
                "simple.yaml",
                f"the imports form a cycle: {SIMPLE} -> {SIMPLE}",
            ),
            (
                "top.vnfd.yaml",
                f"the imports form a cycle: {ENTRY} -> {SIMPLE} -> {ENTRY}",
            ),
        ):
            path = f"{SIMPLE}|imports"
            self.assertEqual(
                expected,
                self.refused(changed(vnfd_files(), path, [form])),
            )

    def test_imports_that_are_not_a_list(self) -> None:
        files = changed(vnfd_files(), f"{SIMPLE}|imports", {"a": "b"})
        self.assertEqual(
            f"{SIMPLE}: imports: a list is expected, not a map",
            self.refused(files),
        )

    def test_a_missing_entry(self) -> None:
        self.assertEqual(
            f"the entry definitions {ENTRY} are not in the package",
            self.refused({"other": ""}),
        )

    def test_an_entry_outside_of_the_package(self) -> None:
        self.assertRaises(
            errors.InvalidPackage,
            descriptor.read,
            self.tree(vnfd_files()),
            "../other/top.yaml",
        )

    def test_long_chains(self) -> None:
        files = vnfd_files()
        files[ENTRY]["imports"].append("c0.yaml")
        for n in range(40):
            files[f"Definitions/c{n}.yaml"] = {
                "tosca_definitions_version": "tosca_simple_yaml_1_2",
                "imports": [f"c{n + 1}.yaml"],
            }
        self.assertEqual(
            "Definitions/c31.yaml: imports are nested too deep",
            self.refused(files),
        )

    def test_many_files(self) -> None:
        self.assertEqual(
            f"{SIMPLE}: there are too many imports",
            self.refused(vnfd_files(), Limits(max_definitions=2)),
        )

    def test_a_type_defined_twice(self) -> None:
        files = vnfd_files()
        files["Definitions/more.yaml"] = {
            "tosca_definitions_version": "tosca_simple_yaml_1_2",
            "node_types": {"vendor.VNF": {"derived_from": "tosca.nodes.Root"}},
        }
        files[ENTRY]["imports"].append("more.yaml")
        self.assertEqual(
            "Definitions/more.yaml: node_types.vendor.VNF: it is defined differently in"
            f" {TYPES}",
            self.refused(files),
        )
        same = files[TYPES]["node_types"]["vendor.VNF"]
        changed(files, "Definitions/more.yaml|node_types|vendor.VNF", same)
        self.read(files)

    def test_texts(self) -> None:
        for text, expected in (
            (
                "",
                f"{SIMPLE}: tosca_definitions_version: a TOSCA version is expected",
            ),
            (
                "tosca_definitions_version: other",
                (
                    f"{SIMPLE}: tosca_definitions_version: a TOSCA version is"
                    " expected"
                ),
            ),
            ("- a", f"{SIMPLE}: a map is expected, not a list"),
            ("text", f"{SIMPLE}: a map is expected, not a text"),
            (
                "a: 1\na: 2",
                f"{SIMPLE}, line 2, column 1: duplicate key 'a'",
            ),
            (
                "a: 1\n---\nb: 2",
                f"{SIMPLE}: one YAML document is expected, not 2",
            ),
            (
                "a: " + "b" * 2**21,
                f"{SIMPLE}: longer than the 2097152 bytes accepted here",
            ),
        ):
            self.assertEqual(
                expected,
                self.refused(vnfd_files() | {SIMPLE: text}),
            )

    def test_files_that_are_not_utf8(self) -> None:
        tree = self.tree(vnfd_files())
        (tree / SIMPLE).write_bytes(b"a: \xff")
        error = self.assertRaises(
            errors.InvalidPackage,
            descriptor.read,
            tree,
            ENTRY,
        )
        self.assertEqual(f"{SIMPLE}: not UTF-8", str(error))


class TestUnimported(DescriptorTest):
    """Files of Definitions/ that no other file imports."""

    def unimported(self) -> Any:
        """Write a VNFD whose entry imports only its types."""
        files = vnfd_files()
        files[ENTRY]["imports"].remove("simple.yaml")
        return files

    def test_flavours_of_unimported_files_are_found(self) -> None:
        files = self.unimported()
        files["Definitions/large.yml"] = copy.deepcopy(files[SIMPLE])
        path = "Definitions/large.yml|topology_template|substitution_mappings"
        changed(files, f"{path}|properties|flavour_id", "large")
        found = self.read(files)
        self.assertEqual({"simple", "large"}, set(found.flavours))
        self.assertIn("Definitions/large.yml", found.files)
        self.assertEqual(
            (
                "no file imports Definitions/large.yml, of flavour large",
                f"no file imports {SIMPLE}, of flavour simple",
            ),
            self.warnings(files),
        )

    def test_unimported_files_in_definitions_with_an_entry_at_the_root(
        self,
    ) -> None:
        files = self.unimported()
        files["top.yaml"] = files.pop(ENTRY)
        imports = files["top.yaml"]["imports"]
        imports[imports.index("types.yaml")] = "Definitions/types.yaml"
        found = descriptor.read(self.tree(files), "top.yaml").vnfd
        self.assertEqual({"simple"}, set(found.flavours))

    def test_files_without_a_flavour_are_ignored(self) -> None:
        files = vnfd_files()
        files["Definitions/copy.yaml"] = copy.deepcopy(files[SIMPLE])
        files["Definitions/none.yaml"] = {"imports": ["missing.yaml"]}
        files["Definitions/broken.yaml"] = "substitution_mappings: {"
        found = self.read(files)
        self.assertEqual((), self.warnings(files))
        self.assertEqual({"simple"}, set(found.flavours))
        self.assertEqual({ENTRY, SIMPLE, TYPES}, set(found.files))

    def test_unreadable_files_are_skipped(self) -> None:
        mappings = "substitution_mappings"
        for name, content in (
            ("list", f"- {mappings}"),
            ("text", f"topology_template: {mappings}"),
            ("version", {"topology_template": {mappings: {"node_type": "x"}}}),
            (
                "missing",
                {**self.flavour("missing"), "imports": ["missing.yaml"]},
            ),
            ("cycle", {**self.flavour("cycle"), "imports": ["cycle.yaml"]}),
            (
                "kind",
                {**self.flavour("kind"), "node_types": {"vendor.VNF": {}}},
            ),
        ):
            files = vnfd_files()
            files[f"Definitions/{name}.yaml"] = content
            files["Definitions/z.yaml"] = self.flavour("last")
            found = self.read(files)
            self.assertEqual({"simple", "last"}, set(found.flavours), name)
            warnings = " ".join(self.warnings(files))
            if name not in {"list", "text"}:
                self.assertIn(f"{name}.yaml, which is ignored", warnings)

    def test_flavours_of_another_vnf_are_skipped(self) -> None:
        files = vnfd_files()
        files["Definitions/other.yaml"] = self.flavour("other")
        changed(files, f"{TYPES}|node_types|other.VNF", {})
        path = "Definitions/other.yaml|topology_template|substitution_mappings"
        changed(files, f"{path}|node_type", "other.VNF")
        self.assertEqual({"simple"}, set(self.read(files).flavours))
        (warning,) = self.warnings(files)
        self.assertIn("other.yaml: not of vendor.VNF", warning)
        derived = {"derived_from": "vendor.VNF"}
        changed(files, f"{TYPES}|node_types|other.VNF", derived)
        self.assertEqual({"simple", "other"}, set(self.read(files).flavours))

    def flavour(self, name: str) -> Any:
        """Build the file of another flavour."""
        files = vnfd_files()
        path = f"{SIMPLE}|topology_template|substitution_mappings"
        return changed(files, f"{path}|properties|flavour_id", name)[SIMPLE]

    def test_errors_in_unimported_files_are_reported(self) -> None:
        files = self.unimported()
        changed(files, f"{SIMPLE}|imports", ["missing.yaml"])
        self.assertIn("imports Definitions/missing.yaml", self.refused(files))
        files = self.unimported()
        files["Definitions/other.yaml"] = copy.deepcopy(files[SIMPLE])
        self.assertIn("flavour simple is in", self.refused(files))
