from typing import Any

from tacker_cnf.lcm.operations.registry import OPERATIONS
from tacker_cnf.vnfd import scripts
from tests.unit.vnfd.packages import vnfd_files
from tests.unit.vnfd.testcases import (
    SIMPLE,
    TYPES,
    DescriptorTest,
)


class TestScripts(DescriptorTest):
    def _scripts(self, vnf: Any, types: Any = None) -> dict[str, str]:
        files = vnfd_files() | {"Scripts/a.py": "", "Scripts/b.py": ""}
        files[SIMPLE]["topology_template"]["node_templates"]["VNF"] |= vnf
        files[TYPES]["node_types"]["vendor.VNF"] |= types or {}
        return self.read(files).flavours["simple"].scripts

    def test_forms(self) -> None:
        artifacts = {
            "a": {
                "type": "tosca.artifacts.Implementation.Python",
                "file": "../Scripts/a.py",
            },
            "b": "../Scripts/b.py",
        }
        for operation, expected in (
            ({"implementation": "a"}, "Scripts/a.py"),
            ({"implementation": "b"}, "Scripts/b.py"),
            ({"implementation": {"primary": "a"}}, "Scripts/a.py"),
            ("a", "Scripts/a.py"),
            ({"implementation": "../Scripts/b.py"}, "Scripts/b.py"),
            (
                {"implementation": {"primary": {"file": "../Scripts/b.py"}}},
                "Scripts/b.py",
            ),
        ):
            for interface in (
                {"heal_start": operation},
                {"operations": {"heal_start": operation}},
                {
                    "type": "tosca.interfaces.nfv.Vnflcm",
                    "heal_start": operation,
                },
            ):
                scripts = self._scripts(
                    {
                        "artifacts": artifacts,
                        "interfaces": {"Vnflcm": interface},
                    },
                )
                self.assertEqual({"heal_start": expected}, scripts)

    def test_operations_without_a_script(self) -> None:
        forms: list[Any] = [None, [], {}, {"implementation": None}]
        for operation in forms:
            interfaces = {
                "Vnflcm": {"heal_start": operation, "inputs": {"a": 1}}
            }
            self.assertEqual({}, self._scripts({"interfaces": interfaces}))

    def test_a_node_type_sets_default_scripts(self) -> None:
        types = {
            "artifacts": {"of-type": {"file": "../Scripts/a.py"}},
            "interfaces": {
                "Vnflcm": {
                    "operations": {
                        "heal_start": {"implementation": "of-type"},
                        "heal_end": {"implementation": "of-type"},
                        "scale_end": {"implementation": "of-type"},
                    },
                },
            },
        }
        vnf = {
            "interfaces": {
                "Vnflcm": {
                    "heal_end": {"implementation": "../Scripts/b.py"},
                    "scale_end": [],
                },
            },
        }
        self.assertEqual(
            {"heal_start": "Scripts/a.py", "heal_end": "Scripts/b.py"},
            self._scripts(vnf, types),
        )

    def test_other_interfaces_are_ignored(self) -> None:
        interfaces = {
            "Standard": {"create": "gone.sh"},
            "Own": {
                "type": "tosca.interfaces.nfv.Vnflcm",
                "heal_end": "../Scripts/a.py",
            },
        }
        self.assertEqual(
            {"heal_end": "Scripts/a.py"},
            self._scripts({"interfaces": interfaces}),
        )

    def test_unknown_operations_are_rejected(self) -> None:
        place = "topology_template.node_templates.VNF.interfaces.Vnflcm"
        for name, hint in (
            ("instantiate_ende", "; did you mean instantiate_end?"),
            ("heal_rolback_start", "; did you mean heal_rollback_start?"),
            ("x" * 500, ""),
        ):
            files = vnfd_files() | {"Scripts/a.py": ""}
            node = files[SIMPLE]["topology_template"]["node_templates"]["VNF"]
            node["interfaces"] = {"Vnflcm": {name: "../Scripts/a.py"}}
            message = self.refused(files)
            self.assertIn(f"{SIMPLE}: {place}.{name[:20]}", message)
            end = f"its script would never run{hint}"
            self.assertTrue(message.endswith(end), message)
            # an operation without a script is accepted
            node["interfaces"] = {"Vnflcm": {name: {"implementation": []}}}
            self.read(files)

    def test_operations_of_other_vnfms_are_accepted(self) -> None:
        names = ("operate_start", "scale_to_level_end", "instantiate")
        script_map = dict.fromkeys(names, "../Scripts/a.py")
        found = self._scripts({"interfaces": {"Vnflcm": script_map}})
        self.assertEqual(set(names), set(found))

    def test_each_hook_may_be_named(self) -> None:
        for operation in OPERATIONS.values():
            for phase in ("start", "end", "rollback_start", "rollback_end"):
                self.assertIn(f"{operation.hook}_{phase}", scripts.OPERATIONS)

    def test_faults(self) -> None:
        vnf = "topology_template.node_templates.VNF"
        for artifact, operation, expected in (
            (
                {"a": {"file": "../Scripts/gone.py"}},
                {"implementation": "a"},
                (
                    f"{vnf}.artifacts.a.file: the file Scripts/gone.py is not in"
                    " the package"
                ),
            ),
            (
                {},
                {"implementation": "a"},
                (
                    f"{vnf}.interfaces.Vnflcm.heal_start.implementation: the node"
                    " has no artifact 'a', and the package has no file Definitions/a"
                ),
            ),
            (
                {"a": {"file": "../../outside.py"}},
                {"implementation": "a"},
                (
                    f"{vnf}.artifacts.a.file: '../../outside.py' is outside of the"
                    " package"
                ),
            ),
            (
                {"a": {"file": "/etc/passwd"}},
                {"implementation": "a"},
                (
                    f"{vnf}.artifacts.a.file: '/etc/passwd' is outside of the"
                    " package"
                ),
            ),
            (
                {"a": {"file": "a\0b"}},
                {"implementation": "a"},
                f"{vnf}.artifacts.a.file: 'a\\x00b' is outside of the package",
            ),
            (
                {"a": {"file": "n" * 5000}},
                {"implementation": "a"},
                (
                    f"{vnf}.artifacts.a.file: the file Definitions/{'n' * 5000} is"
                    " not in the package"
                ),
            ),
            (
                {"a": 1},
                {"implementation": "a"},
                f"{vnf}.artifacts.a: a text is expected; put 1 in quotes",
            ),
            (
                [],
                {"implementation": "a"},
                f"{vnf}.artifacts: a map is expected, not a list",
            ),
            (
                {},
                {"implementation": ["a"]},
                (
                    f"{vnf}.interfaces.Vnflcm.heal_start.implementation: a text is"
                    " expected, not a list"
                ),
            ),
        ):
            files = vnfd_files()
            node = files[SIMPLE]["topology_template"]["node_templates"]["VNF"]
            node["artifacts"] = artifact
            node["interfaces"] = {"Vnflcm": {"heal_start": operation}}
            self.assertEqual(f"{SIMPLE}: {expected}", self.refused(files))

    def test_scripts_that_do_nothing_are_rejected(self) -> None:
        names = [f"Class{number:03}" for number in range(100)]
        many = "".join(f"class {name}: ...\n" for name in names)
        for text, defines, end in (
            ("def main(): ...\n", "functions", "main()"),
            ("class B: ...\nclass A: ...\n", "A, B", "A.main()"),
            (many, ", ".join(names)[:200], "Class000.main()"),
        ):
            files = vnfd_files() | {"Scripts/a.py": text}
            node = files[SIMPLE]["topology_template"]["node_templates"]["VNF"]
            node["interfaces"] = {"Vnflcm": {"heal_end": "../Scripts/a.py"}}
            self.assertEqual(
                f"{SIMPLE}: topology_template.node_templates.VNF.interfaces"
                f".Vnflcm.heal_end: Scripts/a.py defines {defines} and never"
                " calls anything, so that the script would do nothing: it has"
                f" to end with a call such as {end}",
                self.refused(files),
            )
            files["Scripts/a.py"] += "print(1)\n"
            self.read(files)
