from tacker_cnf.sol import base
from tacker_cnf.vnfd.descriptor import (
    Vnfd,
)
from tests.unit.vnfd.packages import changed, vnfd_files
from tests.unit.vnfd.testcases import (
    TOP_NODES,
    TYPES,
    VNF_TYPE,
    DescriptorTest,
)


class TestModifiableAttributes(DescriptorTest):
    def test_defaults_of_data_types_and_of_the_node(self) -> None:
        files = vnfd_files()
        files[TYPES]["data_types"] = {
            "vendor.Base": {
                "derived_from": "tosca.datatypes.nfv.VnfInfoModifiableAttributes",
                "properties": {
                    "extensions": {
                        "type": "map",
                        "default": {"colour": "red", "depth": 3},
                    },
                },
            },
            "vendor.Modifiable": {
                "derived_from": "vendor.Base",
                "properties": {"metadata": {"type": "vendor.Metadata"}},
            },
            "vendor.Metadata": {
                "properties": {
                    "owner": {"type": "string", "default": "vendor"},
                    "free": {"type": "string"},
                },
            },
            "vendor.Configurable": {
                "properties": {
                    "is_autoheal_enabled": {
                        "type": "boolean",
                        "default": True,
                    },
                    "additional_configurable_properties": {
                        "type": "vendor.Additional",
                    },
                },
            },
            "vendor.Additional": {
                "properties": {"mode": {"type": "string", "default": "fast"}},
            },
        }
        files[TYPES]["node_types"]["vendor.VNF"]["properties"] |= {
            "modifiable_attributes": {"type": "vendor.Modifiable"},
            "configurable_properties": {"type": "vendor.Configurable"},
        }
        path = f"{TOP_NODES}|VNF|properties|configurable_properties"
        changed(files, path, {"is_autoscale_enabled": False})
        vnfd = self.read(files)
        self.assertEqual({"colour": "red", "depth": 3}, vnfd.extensions)
        self.assertEqual({"owner": "vendor"}, vnfd.metadata)
        self.assertEqual(
            {
                "isAutohealEnabled": True,
                "isAutoscaleEnabled": False,
                "mode": "fast",
            },
            vnfd.configurable_properties,
        )
        self.assertEqual(vnfd, base.decode(base.encode(vnfd), Vnfd))

    def test_recursive_data_types_are_rejected(self) -> None:
        files = vnfd_files()
        files[TYPES]["data_types"] = {
            "vendor.Loop": {"properties": {"again": {"type": "vendor.Loop"}}},
        }
        path = f"{VNF_TYPE}|properties|modifiable_attributes"
        changed(files, path, {"type": "vendor.Loop"})
        self.assertIn(
            "the data types are nested too deep", self.refused(files)
        )

    def test_defaults_of_a_wrong_type(self) -> None:
        for name, value, expected in (
            ("modifiable_attributes", {"metadata": [1]}, "a map is expected"),
            ("modifiable_attributes", [], "a map is expected"),
            (
                "configurable_properties",
                {"additional_configurable_properties": 1},
                "a map is expected",
            ),
        ):
            path = f"{TOP_NODES}|VNF|properties|{name}"
            sentence = self.refused(changed(vnfd_files(), path, value))
            self.assertIn(expected, sentence)
        path = f"{VNF_TYPE}|properties|modifiable_attributes"
        for default in ([1], "text"):
            files = changed(vnfd_files(), path, {"default": default})
            self.assertIn("a map is expected", self.refused(files))
