from typing import Any

from tacker_cnf.vnfd import scaling
from tests.unit.vnfd.packages import changed, count, policy, vnfd_files
from tests.unit.vnfd.testcases import SIMPLE, TOPOLOGY, DescriptorTest

POLICIES = f"{TOPOLOGY}|policies"
ASPECTS = f"{POLICIES}|0|aspects"
WEB = f"{ASPECTS}|properties|aspects|web"
INITIAL = f"{POLICIES}|1|initial"
DELTAS = f"{POLICIES}|2|deltas"
LEVELS = f"{POLICIES}|3|levels"
COUNTS = f"{POLICIES}|4|counts"
TOGETHER = f"{POLICIES}|6|together"


class TestPolicies(DescriptorTest):
    def test_types_derived_from_those_of_sol001(self) -> None:
        files = vnfd_files()
        files["Definitions/types.yaml"]["policy_types"] = {
            "vendor.Levels": {
                "derived_from": "tosca.policies.nfv.InstantiationLevels",
            },
        }
        changed(files, f"{LEVELS}|type", "vendor.Levels")
        flavour = self.read(files).flavours["simple"]
        self.assertEqual(["low", "high"], list(flavour.levels))

    def test_policies_may_be_a_map(self) -> None:
        files = vnfd_files()
        topology = files[SIMPLE]["topology_template"]
        topology["policies"] = {
            name: value
            for named_policy in topology["policies"]
            for name, value in named_policy.items()
        }
        self.assertEqual(self.read(vnfd_files()), self.read(files))

    def test_no_policies_at_all(self) -> None:
        forms: list[Any] = [None, [], {}]
        for none in forms:
            flavour = self.simple(POLICIES, none)
            self.assertEqual({}, flavour.aspects)
            self.assertEqual({}, flavour.levels)
            self.assertEqual(
                {"VDU1": 1, "VDU2": 1},
                scaling.counts_of_level(flavour, None),
            )

    def test_steps_with_different_deltas(self) -> None:
        files = changed(vnfd_files(), f"{WEB}|step_deltas", ["one", "two"])
        changed(
            files,
            f"{DELTAS}|properties|deltas",
            {"one": count(1), "two": count(2)},
        )
        flavour = self.read(files).flavours["simple"]
        self.assertEqual({"VDU1": 1}, scaling.step(flavour, "web", 0, 1))
        self.assertEqual({"VDU1": 5}, scaling.step(flavour, "web", 0, 3))

    def test_a_single_delta_need_not_be_named(self) -> None:
        flavour = self.simple(f"{WEB}|step_deltas", None)
        self.assertEqual(("one",), flavour.aspects["web"].step_deltas)

    def test_an_aspect_may_scale_several_vdus_or_none(self) -> None:
        files = changed(vnfd_files(), f"{DELTAS}|targets", ["VDU1", "VDU2"])
        aspect = self.read(files).flavours["simple"].aspects["web"]
        self.assertEqual(["VDU1", "VDU2"], list(aspect.deltas))
        path = f"{POLICIES}|2"
        other = {"other": policy("SecurityGroupRule")}
        self.assertEqual({}, self.simple(path, other).aspects["web"].deltas)

    def test_a_single_level_is_the_default(self) -> None:
        files = changed(
            vnfd_files(),
            f"{LEVELS}|properties",
            {"levels": {"low": {}}},
        )
        changed(files, f"{COUNTS}|properties|levels|high", None)
        self.assertEqual(
            "low", self.read(files).flavours["simple"].default_level
        )

    def test_faults(self) -> None:
        number = "a number of 0 or more is expected, not"
        web = "aspects.properties.aspects.web"
        cases: tuple[tuple[str, Any, str], ...] = (
            (
                ASPECTS + "|type",
                None,
                "aspects.type: a text is expected, not nothing",
            ),
            (
                ASPECTS + "|type",
                "own.P",
                "aspects.type: the type own.P is not defined",
            ),
            (ASPECTS, [], "aspects: a map is expected, not a list"),
            (
                ASPECTS + "|properties",
                [],
                "aspects.properties: a map is expected, not a list",
            ),
            (
                ASPECTS + "|properties|aspects",
                ["web"],
                "aspects.properties.aspects: a map is expected, not a list",
            ),
            (WEB, "x", f"{web}: a map is expected, not a text"),
            (
                f"{WEB}|max_scale_level",
                None,
                f"{web}.max_scale_level: {number} nothing",
            ),
            (
                f"{WEB}|max_scale_level",
                "3",
                f"{web}.max_scale_level: {number} a text",
            ),
            (
                f"{WEB}|max_scale_level",
                -3,
                f"{web}.max_scale_level: {number} -3",
            ),
            (
                f"{WEB}|max_scale_level",
                10**7,
                f"{web}.max_scale_level: 10000000 is above 1000000",
            ),
            (
                f"{WEB}|step_deltas",
                "one",
                f"{web}.step_deltas: a list is expected, not a text",
            ),
            (
                f"{WEB}|step_deltas",
                [1],
                f"{web}.step_deltas.0: a text is expected; put 1 in quotes",
            ),
            (
                f"{WEB}|step_deltas",
                ["one", "two"],
                f"{web}.step_deltas: the delta two is not defined",
            ),
            (
                f"{POLICIES}|5",
                {"again": policy("ScalingAspects")},
                "again: the flavour has this policy twice",
            ),
            (
                f"{INITIAL}|targets",
                ["VDU9"],
                "initial.targets.0: there is no VDU VDU9",
            ),
            (f"{INITIAL}|targets", [], "initial: the policy has no targets"),
            (f"{INITIAL}|targets", None, "initial: the policy has no targets"),
            (
                f"{INITIAL}|targets",
                "VDU1",
                "initial.targets: a list is expected, not a text",
            ),
            (
                f"{INITIAL}|targets",
                [{"a": 1}],
                "initial.targets.0: a text is expected, not a map",
            ),
            (
                f"{INITIAL}|targets",
                ["VDU1", "VDU1"],
                "initial.targets.1: VDU1 has two initial deltas",
            ),
            (
                f"{INITIAL}|properties|initial_delta",
                2,
                (
                    "initial.properties.initial_delta: a map is expected, not an"
                    " integer"
                ),
            ),
            (
                f"{DELTAS}|properties|aspect",
                None,
                "deltas.properties.aspect: a text is expected, not nothing",
            ),
            (
                f"{DELTAS}|properties|deltas",
                {},
                "deltas.properties: there are no deltas",
            ),
            (
                f"{DELTAS}|properties|deltas|one",
                count(-1),
                f"deltas.properties.deltas.one.number_of_instances: {number} -1",
            ),
            (
                f"{DELTAS}|targets",
                ["VDU1", "VDU1"],
                "deltas.targets.1: VDU1 has deltas of web already",
            ),
            (
                f"{DELTAS}|targets",
                ["near"],
                "deltas.targets.0: there is no VDU near",
            ),
            (
                f"{LEVELS}|properties|levels",
                {},
                "levels.properties: there are no levels",
            ),
            (
                f"{LEVELS}|properties|default_level",
                "missing",
                (
                    "levels.properties.default_level: there is no missing in this"
                    " flavour"
                ),
            ),
            (
                f"{LEVELS}|properties|levels|high|scale_info|web|scale_level",
                4,
                (
                    "levels.properties.levels.high.scale_info.web: the scale level"
                    " 4 is above 3"
                ),
            ),
            (
                f"{LEVELS}|properties|levels|high|scale_info|missing",
                {"scale_level": 0},
                (
                    "levels.properties.levels.high.scale_info.missing: there is no"
                    " scaling aspect missing"
                ),
            ),
            (
                f"{LEVELS}|properties|levels|high|scale_info",
                [1],
                (
                    "levels.properties.levels.high.scale_info: a map is expected,"
                    " not a list"
                ),
            ),
            (
                f"{COUNTS}|properties|levels|missing",
                count(1),
                "counts.properties.levels.missing: there is no level missing",
            ),
            (
                f"{COUNTS}|properties|levels|high",
                count(None),  # type: ignore[arg-type]
                (
                    f"counts.properties.levels.high.number_of_instances: {number}"
                    " nothing"
                ),
            ),
            (
                f"{TOGETHER}|targets",
                ["far"],
                "together.targets.0: there is no far in this flavour",
            ),
            (
                f"{TOGETHER}|properties|scope",
                None,
                "together.properties.scope: a text is expected, not nothing",
            ),
        )
        for path, value, expected in cases:
            self.assertEqual(
                f"{SIMPLE}: topology_template.policies.{expected}",
                self.refused(changed(vnfd_files(), path, value)),
            )

    def test_several_deltas_and_steps_that_name_none(self) -> None:
        files = changed(vnfd_files(), f"{WEB}|step_deltas", None)
        changed(files, f"{DELTAS}|properties|deltas|two", count(1))
        self.assertIn(
            "web.step_deltas: several deltas exist, and no step names one",
            self.refused(files),
        )

    def test_policies_and_groups_of_unknown_types(self) -> None:
        for path, value, expected in (
            (POLICIES, "x", "policies: a map is expected, not a text"),
            (POLICIES, ["x"], "policies.0: a map is expected, not a text"),
            (
                POLICIES,
                [{"a": {}, "b": {}}],
                "policies.0: a map of exactly one key is expected",
            ),
            (
                f"{TOPOLOGY}|groups",
                [],
                "groups: a map is expected, not a list",
            ),
            (
                f"{TOPOLOGY}|groups|near|members",
                ["VDU9"],
                "groups.near.members.0: there is no VDU9 in this flavour",
            ),
            (
                f"{TOPOLOGY}|groups|near|type",
                "own.G",
                "groups.near.type: the type own.G is not defined",
            ),
        ):
            self.assertEqual(
                f"{SIMPLE}: topology_template.{expected}",
                self.refused(changed(vnfd_files(), path, value)),
            )
