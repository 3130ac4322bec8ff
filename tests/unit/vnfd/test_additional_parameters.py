"""The names of the additionalParams that a VNFD declares."""

from typing import Any

from tests.unit.vnfd.packages import vnfd_files
from tests.unit.vnfd.testcases import SIMPLE, TYPES, DescriptorTest

LIFECYCLE = "tosca.interfaces.nfv.Vnflcm"
STRING = {"type": "string"}


class TestNames(DescriptorTest):
    def names(self, *, of_type: Any = None, **types: Any) -> Any:
        """Return a function of the interfaces of the VNF node.

        :param of_type: the interfaces of its type
        """

        def read(**interfaces: Any) -> tuple[str, ...] | None:
            files = vnfd_files()
            template = files[SIMPLE]["topology_template"]
            template["node_templates"]["VNF"]["interfaces"] = interfaces
            files[TYPES] |= types
            if of_type:
                node_type = files[TYPES]["node_types"]["vendor.VNF"]
                node_type["interfaces"] = of_type
            return self.read(files).flavours["simple"].parameters

        return read

    def test_inputs_of_interfaces_and_operations(self) -> None:
        names = self.names()
        for interface, expected in (
            ({}, ()),
            ({"inputs": {"b": 1, "a": 2}}, ("a", "b")),
            ({"heal_end": {"inputs": {"c": 1}}}, ("c",)),
            ({"operations": {"heal_end": {"inputs": {"d": 1}}}}, ("d",)),
            (
                {"inputs": {"a": 1}, "heal_end": {"inputs": {"a": 1, "e": 2}}},
                ("a", "e"),
            ),
            ({"heal_start": [], "heal_end": {"inputs": {"f": 1}}}, ("f",)),
            ({"inputs": ["a"]}, ()),
        ):
            found = names(Vnflcm=interface)
            self.assertEqual(expected, found, str(interface))

    def test_only_lifecycle_interfaces_count(self) -> None:
        inputs = {"inputs": {"a": 1}}
        names = self.names()
        self.assertEqual((), names(Standard=inputs))
        self.assertEqual((), names())
        own = inputs | {"type": LIFECYCLE}
        self.assertEqual(("a",), names(Standard=[], Own=own))
        both = names(Own=own, Vnflcm={"inputs": {"b": 1}})
        self.assertEqual(("a", "b"), both)

    def test_inputs_of_types(self) -> None:
        names = self.names(
            of_type={"Vnflcm": {"inputs": {"of_type": 1}}},
            interface_types={
                "vendor.Base": {
                    "derived_from": LIFECYCLE,
                    "inputs": {"of_base": STRING},
                    "operations": {"heal_end": {"inputs": {"op": STRING}}},
                },
                "vendor.Vnflcm": {
                    "derived_from": "vendor.Base",
                    "inputs": {"of_interface": STRING},
                },
            },
        )
        self.assertEqual(("of_type",), names())
        interface = {"type": "vendor.Vnflcm", "inputs": {"own": 1}}
        self.assertEqual(
            ("of_base", "of_interface", "of_type", "op", "own"),
            names(Own=interface),
        )

    def test_properties_of_data_types(self) -> None:
        names = self.names(
            data_types={
                "vendor.Base": {"properties": {"p": STRING}},
                "vendor.Extra": {
                    "derived_from": "vendor.Base",
                    "properties": {"q": STRING},
                },
            }
        )
        for kind, expected in (
            ("vendor.Base", ("a", "p")),
            ("vendor.Extra", ("a", "p", "q")),
            ("string", ("a",)),
            (["vendor.Base"], ("a",)),
        ):
            found = names(Vnflcm={"inputs": {"a": {"type": kind}}})
            self.assertEqual(expected, found, str(kind))
        # as values
        for value, expected in (
            ({"b": 1, "c": {"d": 1}}, ("additional_parameters", "b", "c")),
            ("text", ("additional_parameters",)),
            (
                {"type": "vendor.Base", "b": 1},
                ("additional_parameters", "p"),
            ),
        ):
            inputs = {"additional_parameters": value}
            found = names(Vnflcm={"inputs": inputs})
            self.assertEqual(expected, found, str(value))
