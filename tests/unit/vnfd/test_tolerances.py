"""What a VNFD does not conform to, and the onboarding tolerates."""

from typing import Any

from tacker_cnf import errors
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.descriptor import Flavour
from tests.unit.vnfd.packages import changed, count, policy, vnfd_files
from tests.unit.vnfd.testcases import SIMPLE, TOPOLOGY, DescriptorTest

POLICIES = f"{TOPOLOGY}|policies"
WEB = f"{POLICIES}|0|aspects|properties|aspects|web"
INITIAL = f"{POLICIES}|1|initial"
DELTAS = f"{POLICIES}|2|deltas"
LEVELS = f"{POLICIES}|3|levels"
COUNTS = f"{POLICIES}|4|counts"
REQUIREMENTS = f"{TOPOLOGY}|substitution_mappings|requirements"
NUMBER = "number_of_instances"


class TolerantTest(DescriptorTest):
    def tolerated(self, files: Any, *expected: str) -> Flavour:
        """Check the warnings, without their common beginning; return the
        flavour.
        """
        self.assertEqual(
            tuple(f"{SIMPLE}: topology_template.{text}" for text in expected),
            self.warnings(files),
        )
        return self.read(files).flavours["simple"]


class TestCounts(TolerantTest):
    def test_a_conforming_vnfd_has_no_warnings(self) -> None:
        self.tolerated(vnfd_files())

    def test_initial_deltas_outside_of_the_profile(self) -> None:
        value = f"{INITIAL}|properties|initial_delta"
        for number in (0, 9):
            found = self.tolerated(
                changed(vnfd_files(), value, count(number)),
                f"policies.initial.properties.initial_delta.{NUMBER}: {number}"
                " is not within 1 to 5, the vdu_profile of VDU1",
            )
            self.assertEqual({"VDU1": number}, found.initial_deltas)

    def test_counts_of_levels_outside_of_the_profile(self) -> None:
        path = f"{COUNTS}|properties|levels|high"
        found = self.tolerated(
            changed(vnfd_files(), path, count(6)),
            f"policies.counts.properties.levels.high.{NUMBER}: 6 is not within"
            " 1 to 5, the vdu_profile of VDU1",
        )
        counts = scaling.counts_of_level(found, "high")
        self.assertEqual({"VDU1": 6, "VDU2": 1}, counts)

    def test_the_first_of_two_counts_is_used(self) -> None:
        files = changed(
            vnfd_files(),
            f"{POLICIES}|5",
            {
                "again": policy(
                    "VduInstantiationLevels",
                    ["VDU1"],
                    levels={"high": count(1)},
                )
            },
        )
        found = self.tolerated(
            files,
            "policies.again.targets.0: VDU1 has a count of high twice: the"
            " first, 4, is used",
        )
        self.assertEqual(4, found.levels["high"].counts["VDU1"])

    def test_counts_that_are_too_large_are_rejected(self) -> None:
        for path in (
            f"{INITIAL}|properties|initial_delta",
            f"{COUNTS}|properties|levels|high",
        ):
            message = self.refused(changed(vnfd_files(), path, count(10**7)))
            self.assertIn("10000000 is above 1000000", message)

    def test_requests_have_to_name_a_level_if_none_is_the_default(
        self,
    ) -> None:
        path = f"{LEVELS}|properties|default_level"
        found = self.tolerated(
            changed(vnfd_files(), path, None),
            "policies.levels.properties.default_level: of several levels one"
            " has to be the default: requests have to name a level",
        )
        for find in (scaling.counts_of_level, scaling.scale_levels_of):
            error = self.assertRaises(errors.UnknownLevel, find, found, None)
            self.assertEqual(
                "instantiationLevelId is required: flavour simple has no"
                " default level; it has low, high.",
                str(error),
            )
        self.assertEqual(
            {"VDU1": 4, "VDU2": 1}, scaling.counts_of_level(found, "high")
        )

    def test_counts_without_initial_deltas_and_default_level(self) -> None:
        """They follow from the first level."""
        files = changed(
            vnfd_files(), f"{LEVELS}|properties|default_level", None
        )
        changed(files, f"{POLICIES}|1", {"none": policy("SecurityGroupRule")})
        found = self.read(files).flavours["simple"]
        self.assertEqual(
            {"VDU1": 3, "VDU2": 1}, scaling.counts_at(found, {"web": 1})
        )


class TestDeltas(TolerantTest):
    STEPS = "policies.aspects.properties.aspects.web.step_deltas"

    def undefined(self) -> Any:
        """Build a VNFD whose levels do not need the delta of the aspect."""
        files = changed(vnfd_files(), f"{WEB}|step_deltas", ["two"])
        return changed(files, f"{COUNTS}|properties|levels|high", count(2))

    def test_unused_deltas(self) -> None:
        path = f"{DELTAS}|properties|deltas|two"
        self.tolerated(
            changed(vnfd_files(), path, count(1)),
            f"{self.STEPS}: no step uses the delta two",
        )

    def test_an_aspect_without_its_delta_cannot_be_scaled(self) -> None:
        found = self.tolerated(
            self.undefined(),
            f"{self.STEPS}: no step uses the delta one",
            f"{self.STEPS}: the delta two is not defined: web cannot be"
            " scaled",
        )
        message = (
            "Aspect web cannot be scaled: the VNFD does not define its delta"
            " two."
        )
        error = self.assertRaises(
            errors.NotScalable, scaling.step, found, "web", 0, 1
        )
        self.assertEqual(message, str(error))
        error = self.assertRaises(
            errors.NotScalable,
            scaling.counts_of_aspects,
            found,
            ["web"],
            {"web": 1},
        )
        self.assertEqual(message, str(error))
        self.assertEqual(
            {"VDU1": 2, "VDU2": 1}, scaling.counts_of_level(found, "high")
        )

    def test_an_undefined_delta_that_a_level_needs_is_rejected(self) -> None:
        fault = f"{self.STEPS}: the delta two is not defined"
        other_initial = f"{INITIAL}|properties|initial_delta"
        one_count = f"{COUNTS}|properties|levels|high"
        for files in (
            changed(vnfd_files(), f"{WEB}|step_deltas", ["two"]),
            changed(vnfd_files(), f"{WEB}|step_deltas", ["one", "two"]),
            changed(self.undefined(), other_initial, count(1)),
            changed(self.undefined(), one_count, None),
        ):
            self.assertEqual(
                f"{SIMPLE}: topology_template.{fault}", self.refused(files)
            )

    def test_deltas_of_an_unknown_aspect(self) -> None:
        more = policy(
            "VduScalingAspectDeltas",
            ["VDU2"],
            aspect="missing",
            deltas={"one": count(1)},
        )
        found = self.tolerated(
            changed(vnfd_files(), f"{POLICIES}|5", {"more": more}),
            "policies.more.properties.aspect: there is no scaling aspect"
            " missing in this flavour: its deltas are ignored",
        )
        self.assertEqual(["web"], list(found.aspects))
        self.assertEqual(["VDU1"], list(found.aspects["web"].deltas))

    def test_deltas_of_an_aspect_that_may_be_misspelt_are_rejected(
        self,
    ) -> None:
        path = f"{DELTAS}|properties|aspect"
        self.assertEqual(
            f"{SIMPLE}: topology_template.policies.deltas.properties.aspect:"
            " there is no scaling aspect missing in this flavour",
            self.refused(changed(vnfd_files(), path, "missing")),
        )


class TestReferences(TolerantTest):
    def test_a_requirement_that_names_an_unknown_node(self) -> None:
        found = self.tolerated(
            changed(
                vnfd_files(), REQUIREMENTS, {"ext": ["CP9", "virtual_link"]}
            ),
            "substitution_mappings.requirements.ext.0: there is no node CP9:"
            " ext is ignored",
        )
        self.assertEqual({}, found.external_connection_points)

    def with_script(self, path: str) -> Any:
        files = vnfd_files() | {"Scripts/a.py": "print(1)\n"}
        node = files[SIMPLE]["topology_template"]["node_templates"]["VNF"]
        node["artifacts"] = {"a": {"file": path}}
        node["interfaces"] = {"Vnflcm": {"heal_start": "a"}}
        return files

    def test_scripts_relative_to_the_root(self) -> None:
        for path in ("Scripts/a.py", "./Scripts/a.py"):
            found = self.tolerated(
                self.with_script(path),
                "node_templates.VNF.artifacts.a.file: there is no file"
                " Definitions/Scripts/a.py: Scripts/a.py is used",
            )
            self.assertEqual({"heal_start": "Scripts/a.py"}, found.scripts)

    def test_scripts_named_without_an_artifact(self) -> None:
        files = self.with_script("../Scripts/a.py")
        node = files[SIMPLE]["topology_template"]["node_templates"]["VNF"]
        node["interfaces"] = {"Vnflcm": {"heal_start": "Scripts/a.py"}}
        found = self.tolerated(
            files,
            "node_templates.VNF.interfaces.Vnflcm.heal_start: there is no file"
            " Definitions/Scripts/a.py: Scripts/a.py is used",
        )
        self.assertEqual({"heal_start": "Scripts/a.py"}, found.scripts)

    def test_a_file_beside_the_definitions_precedes(self) -> None:
        files = self.with_script("Scripts/a.py")
        files["Definitions/Scripts/a.py"] = "print(2)\n"
        found = self.tolerated(files)
        self.assertEqual(
            {"heal_start": "Definitions/Scripts/a.py"}, found.scripts
        )

    def test_files_outside_of_the_package_are_rejected(self) -> None:
        (self.root / "a.py").write_text("print(1)\n")
        for path in ("../../a.py", str(self.root / "a.py")):
            message = self.refused(self.with_script(path))
            self.assertIn("is outside of the package", message)
        self.assertIn(
            "is not in the package", self.refused(self.with_script("../a.py"))
        )
