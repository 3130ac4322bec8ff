"""Short texts that would take long to read are rejected in time."""

from pathlib import Path
from typing import Any

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.vnfd import bounded_yaml, cms, der
from tacker_cnf.vnfd.limits import Limits
from tests.unit.vnfd import packages
from tests.unit.vnfd.packages import ENTRY, changed, count, policy, vnfd_files
from tests.unit.vnfd.testcases import (
    NODES,
    SIMPLE,
    TOP_NODES,
    TOPOLOGY,
    TYPES,
    VNF_TYPE,
    DescriptorTest,
)

FEW = Limits(max_value_reads=20_000)
VNF = f"{ENTRY}: topology_template.node_templates.VNF"


class TestSignatures(testtools.TestCase):
    def test_many_values(self) -> None:
        inside = b"\x05\x00" * (2 << 20)
        body = b"\x30\x84" + len(inside).to_bytes(4) + inside
        self.assertRaises(errors.InvalidPackage, cms.read, body, "s.cms")
        self.assertRaises(der.Unreadable, der.values, inside)

    def test_some_values(self) -> None:
        found = der.values(b"\x05\x00" * 300 + b"\x04\x81\x80" + bytes(128))
        self.assertEqual(301, len(found))
        self.assertEqual(bytes(128), found[-1].content)


class TestFiles(testtools.TestCase):
    def test_files_are_read_up_to_the_limit(self) -> None:
        path = Path(self.useFixture(fixtures.TempDir()).path) / "huge.yaml"
        with path.open("wb") as file:
            file.truncate(1 << 40)  # a terabyte that takes no room
        refused = self.assertRaises(
            errors.InvalidPackage, bounded_yaml.text_of, path, "huge.yaml"
        )
        self.assertIn("huge.yaml: longer than", str(refused))


class TestCosts(DescriptorTest):
    def test_data_types_that_fan_out(self) -> None:
        files = vnfd_files()
        files[TYPES]["data_types"] = {
            f"t{n}": {
                "properties": {
                    f"p{m}": {"type": f"t{n + 1}"} for m in range(9)
                },
            }
            for n in range(15)
        }
        path = f"{VNF_TYPE}|properties|modifiable_attributes"
        changed(files, path, {"type": "t0"})
        self.assertIn("takes too long to read", self.refused(files, FEW))

    def test_one_large_input_in_many_places(self) -> None:
        files = vnfd_files()
        inputs = files[ENTRY]["topology_template"]["inputs"]
        inputs["large"] = {"default": ["x"] * 1000}
        path = f"{TOP_NODES}|VNF|properties|configurable_properties"
        many = {f"k{n}": {"get_input": "large"} for n in range(100)}
        self.assertEqual(
            f"{VNF}: modifiable attributes have more than 10000 values",
            self.refused(changed(files, path, many)),
        )

    def test_every_level_for_every_vdu(self) -> None:
        files = vnfd_files()
        names = [f"V{n}" for n in range(200)]
        levels: dict[str, Any] = {f"l{n}": {} for n in range(200)}
        for name in names:
            changed(files, f"{NODES}|{name}", packages.vdu(name, 0, 1))
        changed(
            files,
            f"{TOPOLOGY}|policies",
            [
                {
                    "a": policy(
                        "InstantiationLevels",
                        levels=levels,
                        default_level="l0",
                    )
                },
                {
                    "b": policy(
                        "VduInstantiationLevels",
                        names,
                        levels=dict.fromkeys(levels, count(1)),
                    ),
                },
            ],
        )
        self.assertIn("takes too long to read", self.refused(files, FEW))
        self.read(files)

    def test_long_lineages(self) -> None:
        files = vnfd_files()
        types = files[TYPES]["node_types"]
        for n in range(5000):
            types[f"c{n}"] = {"derived_from": f"c{n + 1}"}
        for n in range(100):
            changed(files, f"{NODES}|N{n}", {"type": "c0"})
        types["c5000"] = {}
        self.assertIn("takes too long to read", self.refused(files, FEW))

    def test_all_definitions_together(self) -> None:
        files = vnfd_files() | {SIMPLE: "a: " + "b" * 3000}
        self.assertEqual(
            f"{SIMPLE}: longer than the 1000 bytes accepted here",
            self.refused(files, Limits(max_yaml_bytes=1000)),
        )
        sentence = self.refused(files, Limits(max_definitions_bytes=2000))
        self.assertIn(f"{SIMPLE}: longer than the ", sentence)

    def test_many_merges(self) -> None:
        maps = ",".join(f"{{k{n}: 1}}" for n in range(50_000))
        value = bounded_yaml.load(f"a:\n  <<: [{maps}]", "a.yaml")
        self.assertEqual(50_000, len(value["a"]))
