"""What is left out of a VNFD, and the limits of a package."""

from typing import Any

import msgspec
import testtools

from tacker_cnf.vnfd.limits import Limits
from tacker_cnf.vnfd.model import Flavour, LcmDefaults, PublicNames, Vnfd

#: attributes of a flavour that are empty by default
EMPTY_MAPS = {
    *("vdus", "storages", "virtual_links", "connection_points"),
    *("external_connection_points", "aspects", "initial_deltas", "levels"),
    *("scripts", "placement_groups"),
}


class TestDefaults(testtools.TestCase):
    def test_a_flavour(self) -> None:
        expected: dict[str, Any] = {
            "id": "a",
            "description": None,
            "default_level": None,
            "parameters": None,
            "affinity_rules": (),
            "lcm_defaults": LcmDefaults(),
        }
        for flavour in (
            Flavour(id="a"),
            msgspec.convert({"id": "a"}, Flavour),
        ):
            self.assertEqual(
                expected | {name: {} for name in EMPTY_MAPS},
                msgspec.structs.asdict(flavour),
            )

    def test_a_vnfd(self) -> None:
        required: dict[str, Any] = {
            "id": "a",
            "provider": "b",
            "product_name": "c",
            "software_version": "d",
            "descriptor_version": "e",
            "flavours": {},
        }
        expected: dict[str, Any] = required | {
            "default_flavour": None,
            "product_info_name": None,
            "product_info_description": None,
            "vnfm_info": (),
            "localization_languages": (),
            "default_localization_language": None,
            "configurable_properties": {},
            "extensions": {},
            "metadata": {},
            "software_images": (),
            "public_names": PublicNames(),
            "files": (),
            "named_files": None,
            "tree_digest": None,
        }
        vnfd = Vnfd(**required)
        self.assertEqual(expected, msgspec.structs.asdict(vnfd))

    def test_limits(self) -> None:
        self.assertEqual(
            {
                "max_unpacked_bytes": 4_294_967_296,
                "max_files": 20_000,
                "max_directory_bytes": 8_388_608,
                "max_ratio": 200,
                "max_package_ratio": 200,
                "min_free_bytes": 0,
                "max_metadata_bytes": 4_194_304,
                "max_path_bytes": 1_024,
                "max_path_depth": 32,
                "max_yaml_bytes": 2_097_152,
                "max_yaml_nodes": 200_000,
                "max_yaml_depth": 64,
                "max_definitions": 100,
                "max_definitions_bytes": 8_388_608,
                "max_value_reads": 1_000_000,
                "max_import_depth": 32,
            },
            msgspec.structs.asdict(Limits()),
        )
