"""The names that a VNFD allows to show."""

from typing import Any

from tacker_cnf.vnfd.model import PublicNames
from tests.unit.vnfd.packages import ENTRY, vnfd_files
from tests.unit.vnfd.testcases import SIMPLE, TYPES, DescriptorTest

STRING = {"type": "string"}
SENSITIVE = STRING | {"metadata": {"sensitive": "true"}}
TYPE_PREFIX = "vendor."


class TestPublicNames(DescriptorTest):
    def names(
        self,
        *,
        properties: Any = None,
        vdu: Any = None,
        inputs: Any = None,
        **types: Any,
    ) -> PublicNames:
        """Read a VNFD.

        :param properties: definitions in the type of the VNF
        :param vdu: definitions in the type of the VDUs
        :param inputs: of its lifecycle operations
        :param types: data types: name -> properties
        """
        files = vnfd_files()
        node_types = files[TYPES]["node_types"]
        node_types["vendor.VNF"]["properties"] |= properties or {}
        node_types["vendor.Vdu"] = {
            "derived_from": "tosca.nodes.nfv.Vdu.Compute",
            "properties": vdu or {},
        }
        files[TYPES]["data_types"] = {
            f"{TYPE_PREFIX}{name}": {"properties": defined}
            for name, defined in types.items()
        }
        nodes = files[SIMPLE]["topology_template"]["node_templates"]
        nodes["VNF"]["interfaces"] = {"Vnflcm": {"inputs": inputs or {}}}
        for node in nodes.values():
            if node["type"] == "tosca.nodes.nfv.Vdu.Compute":
                node["type"] = "vendor.Vdu"
        return self.read(files).public_names

    def test_nothing_is_declared(self) -> None:
        self.assertEqual(PublicNames(), self.names())

    def test_parameters(self) -> None:
        inputs = {
            "size": STRING,
            "ki": SENSITIVE,
            "value": 5,
            "additional_parameters": {"type": "vendor.More"},
        }
        found = self.names(
            inputs=inputs, More={"site": STRING, "opc": SENSITIVE}
        )
        self.assertEqual(("site", "size", "value"), found.parameters)

    def test_marks(self) -> None:
        nested = {"type": "vendor.Nested"}
        entries = {"type": "list", "entry_schema": nested}
        for number, (definition, is_shown) in enumerate(
            (
                (STRING, True),
                (STRING | {"metadata": {"sensitive": "false"}}, True),
                (STRING | {"metadata": {"sensitive": False}}, True),
                (STRING | {"metadata": {"other": "true"}}, True),
                (STRING | {"metadata": {"sensitive": True}}, False),
                (STRING | {"metadata": {"sensitive": "yes"}}, False),
                ({"type": "tosca.datatypes.Credential"}, False),
                (nested, False),
                (entries, False),
                ({"type": "list", "entry_schema": STRING}, True),
                ({"type": "vendor.Outer"}, False),
                ({"type": "vendor.Open"}, True),
            )
        ):
            found = self.names(
                inputs={"a": definition},
                Nested={"hidden": SENSITIVE},
                Outer={"inner": nested},
                Open={"b": STRING},
            )
            self.assertEqual(is_shown, "a" in found.parameters, str(number))

    def test_a_mark_of_any_declaration_counts(self) -> None:
        inputs = {"a": STRING, "b": {"type": "vendor.More"}}
        found = self.names(inputs=inputs, More={"a": SENSITIVE})
        self.assertEqual((), found.parameters)

    def test_modifiable_attributes(self) -> None:
        found = self.names(
            properties={
                "modifiable_attributes": {"type": "vendor.Modifiable"}
            },
            Modifiable={
                "extensions": {"type": "vendor.Extensions"},
                "metadata": {"type": "vendor.Metadata"},
            },
            Extensions={"site": STRING, "ki": SENSITIVE},
            Metadata={"owner": STRING, "pin": SENSITIVE},
        )
        self.assertEqual(("site",), found.extensions)
        self.assertEqual(("pin",), found.sensitive_metadata)

    def test_configurable_properties(self) -> None:
        more = "additional_configurable_properties"
        found = self.names(
            properties={"configurable_properties": {"type": "vendor.Conf"}},
            vdu={"configurable_properties": {"type": "vendor.VduConf"}},
            Conf={
                "is_autoheal_enabled": {"type": "boolean"},
                more: {"type": "vendor.More"},
            },
            More={"level": STRING, "ki": SENSITIVE},
            VduConf={
                "additional_vnfc_configurable_properties": {
                    "type": "vendor.VduMore"
                }
            },
            VduMore={"role": STRING, "opc": SENSITIVE},
        )
        self.assertEqual(
            ("isAutohealEnabled", "level", "role"), found.properties
        )

    def test_values_of_the_node_are_declarations(self) -> None:
        files = vnfd_files()
        nodes = files[ENTRY]["topology_template"]["node_templates"]
        nodes["VNF"]["properties"]["modifiable_attributes"] = {
            "extensions": {"site": {"metadata": {"sensitive": True}}}
        }
        found = self.read(files).public_names
        self.assertEqual(("site",), found.extensions)
