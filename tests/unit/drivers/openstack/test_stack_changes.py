"""The changes of template, files and parameters of a stack."""

import json
from typing import Any

import testtools

from tacker_cnf.drivers.openstack import stack_changes
from tacker_cnf.lcm.vnf_plan import FieldChange

#: the change of a secret
HIDDEN = ("***", "***")
#: the parameters that the VNFD allows to show
PUBLIC = ("conf", "fresh", "on", "shown", "stored")


def template(**sections: Any) -> str:
    return json.dumps({"heat_template_version": "2021-04-16", **sections})


def shown(changes: Any) -> list[tuple[str, Any, Any]]:
    found: list[FieldChange] = list(changes)
    return [(c.path, c.before, c.after) for c in found]


class TestParameters(testtools.TestCase):
    def changes(
        self, before: Any, after: Any, **types: Any
    ) -> list[tuple[str, Any, Any]]:
        return shown(
            stack_changes.compare_parameters(
                before, after, PUBLIC, template(parameters=types)
            )
        )

    def test_equal_values_in_the_formats_of_heat(self) -> None:
        self.assertEqual(
            [],
            self.changes(
                {
                    "nfv": '{"VDU": {"a": 1}}',
                    "on": "True",
                    "nets": "a, b",
                    "empty": "",
                    "count": "2",
                    "kept": "x",
                },
                {
                    "nfv": {"VDU": {"a": 1}},
                    "on": "true",
                    "nets": ["a", "b"],
                    "empty": [],
                    "count": 2,
                },
                nfv={"type": "json"},
                on={"type": "boolean"},
                nets={"type": "comma_delimited_list"},
                empty={"type": "comma_delimited_list"},
                count={"type": "number"},
            ),
        )

    def test_json_is_compared_by_its_fields(self) -> None:
        self.assertEqual(
            [
                ("parameters.conf.a.b", "old", "new"),
                ("parameters.conf.size", 1, 2),
                ("parameters.other", *HIDDEN),
            ],
            self.changes(
                {
                    "conf": '{"a": {"b": "old"}, "size": 1}',
                    "other": {"size": 1},
                },
                {"conf": {"a": {"b": "new"}, "size": 2}, "other": {"size": 2}},
                conf={"type": "json"},
            ),
        )

    def test_hidden_parameters(self) -> None:
        hidden = {"type": "json", "hidden": True}
        self.assertEqual(
            [
                ("parameters.fresh", None, "***"),
                ("parameters.nfv", *HIDDEN),
                ("parameters.shown", "1", "2"),
                ("parameters.stored", *HIDDEN),
            ],
            self.changes(
                {"nfv": "******", "stored": "******", "shown": 1},
                {
                    "nfv": {"VDU": 1},
                    "fresh": "secret",
                    "shown": 2,
                    "stored": "secret",
                },
                nfv=hidden,
                fresh=hidden,
            ),
        )

    def test_parameters_that_are_not_declared(self) -> None:
        self.assertEqual(
            [("parameters.ki", *HIDDEN), ("parameters.opc", None, "***")],
            self.changes({"ki": "1"}, {"ki": "2", "opc": "3"}),
        )

    def test_the_elements_of_a_vnfd(self) -> None:
        def nfv(image: str, key: str) -> dict[str, Any]:
            vdu = {"vcImageId": image, "password": key}
            return {"nfv": {"VDU": {"web": vdu}, "ki": key}}

        self.assertEqual(
            [
                ("parameters.nfv.VDU.web.password", *HIDDEN),
                ("parameters.nfv.VDU.web.vcImageId", "a", "b"),
                ("parameters.nfv.ki", *HIDDEN),
            ],
            self.changes(nfv("a", "1"), nfv("b", "2"), nfv={"type": "json"}),
        )

    def test_a_parameter_that_was_not_hidden_before(self) -> None:
        found = stack_changes.compare_parameters(
            {"key": "1"},
            {"key": "2"},
            ["key"],
            template(parameters={"key": {"type": "string"}}),
            template(parameters={"key": {"hidden": True}}),
        )
        self.assertEqual([("parameters.key", *HIDDEN)], shown(found))


class TestTemplates(testtools.TestCase):
    def test_all_sections(self) -> None:
        before = template(
            resources={"a": {"type": "X"}},
            conditions={"c": 1},
            outputs={"o": {"value": 1}},
            parameters={
                "size": {"default": 1},
                "key": {"default": "1", "hidden": True},
            },
        )
        after = (
            before.replace("X", "Y")
            .replace(": 1}", ": 2}")
            .replace('"1"', "3")
        )
        self.assertEqual(
            [
                ("template.conditions.c", *HIDDEN),
                ("template.outputs.o.value", *HIDDEN),
                ("template.resources.a.type", "X", "Y"),
                ("template.parameters.key.default", *HIDDEN),
                ("template.parameters.size.default", *HIDDEN),
            ],
            shown(stack_changes.compare_templates(before, after, "template")),
        )

    def test_files(self) -> None:
        nested = "resources: {server: {type: %s}}\n"
        self.assertEqual(
            [
                ("files[new.yaml].resources", None, {"server": {"type": "X"}}),
                ("files[run.sh]", *HIDDEN),
                ("files[vdu.yaml].resources.server.type", "X", "Y"),
            ],
            shown(
                stack_changes.compare_files(
                    {"run.sh": "echo 1", "vdu.yaml": nested % "X", "k": "[]"},
                    {
                        "run.sh": "echo 2",
                        "vdu.yaml": nested % "Y",
                        "k": "[]",
                        "new.yaml": nested % "X",
                    },
                )
            ),
        )
