from pathlib import Path
from typing import Any

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.sol import base
from tacker_cnf.vnfd import descriptor, scaling
from tacker_cnf.vnfd.descriptor import (
    AffinityRule,
    Aspect,
    ConnectionPoint,
    Flavour,
    LcmDefaults,
    Level,
    SoftwareImage,
    Vdu,
    VirtualLink,
    VirtualStorage,
    Vnfd,
)
from tacker_cnf.vnfd.limits import Limits
from tests.unit.vnfd import packages
from tests.unit.vnfd.packages import ENTRY, changed, vnfd_files

TYPES = "Definitions/types.yaml"
SIMPLE = "Definitions/simple.yaml"
VNF_TYPE = f"{TYPES}|node_types|vendor.VNF"
TOP_NODES = f"{ENTRY}|topology_template|node_templates"
TOPOLOGY = f"{SIMPLE}|topology_template"
NODES = f"{TOPOLOGY}|node_templates"


class DescriptorTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = Path(self.useFixture(fixtures.TempDir()).path)
        self.number = 0

    def tree(self, files: Any) -> Path:
        self.number += 1
        return packages.write_tree(self.root / str(self.number), files)

    def read(self, files: Any, limits: Limits | None = None) -> Vnfd:
        return descriptor.read(self.tree(files), ENTRY, limits)

    def simple(self, path: str, value: Any) -> Flavour:
        """Read the simple flavour with one thing changed."""
        return self.read(changed(vnfd_files(), path, value)).flavours["simple"]

    def refused(self, files: Any, limits: Limits | None = None) -> str:
        error = self.assertRaises(
            errors.InvalidPackage,
            descriptor.read,
            self.tree(files),
            ENTRY,
            limits,
        )
        return str(error)


class TestVnfd(DescriptorTest):
    def test_the_whole_of_a_small_one(self) -> None:
        vdus = {
            name: Vdu(
                id=name,
                name=f"{name.lower()}-name",
                description=f"the {name}",
                min_instances=1,
                max_instances=most,
            )
            for name, most in (("VDU1", 5), ("VDU2", 1))
        }
        flavour = Flavour(
            id="simple",
            description="the simple flavour",
            vdus=vdus,
            aspects={
                "web": Aspect(
                    id="web",
                    name="Web",
                    description="more of it",
                    max_scale_level=3,
                    step_deltas=("one",),
                    deltas={"VDU1": {"one": 1}},
                ),
            },
            initial_deltas={"VDU1": 2},
            levels={
                "low": Level(
                    id="low",
                    description="little",
                    counts={"VDU1": 2},
                ),
                "high": Level(
                    id="high",
                    description="much",
                    scale_levels={"web": 2},
                    counts={"VDU1": 4},
                ),
            },
            default_level="low",
            affinity_rules=(
                AffinityRule(
                    id="together",
                    kind="AFFINITY",
                    scope="ZONE",
                    targets=("near",),
                ),
                AffinityRule(
                    id="apart",
                    kind="ANTI_AFFINITY",
                    scope="NFVI_NODE",
                    targets=("VDU1",),
                ),
            ),
            placement_groups={"near": ("VDU1", "VDU2")},
        )
        expected = Vnfd(
            id="an-id",
            provider="Type & Co",
            product_name="Product",
            software_version="1.0",
            descriptor_version="7.0",
            flavours={"simple": flavour},
            default_flavour="simple",
        )
        vnfd = self.read(vnfd_files())
        self.assertEqual(expected, vnfd)
        self.assertEqual(vnfd, base.decode(base.encode(vnfd), Vnfd))
        self.assertEqual(
            {"VDU1": 4, "VDU2": 1},
            scaling.counts_of_level(vnfd.flavours["simple"], "high"),
        )

    def test_the_rest_of_its_identity(self) -> None:
        files = vnfd_files()
        properties = files[ENTRY]["topology_template"]["node_templates"][
            "VNF"
        ]["properties"]
        properties |= {
            "product_info_name": "Pretty name",
            "product_info_description": "What it does",
            "vnfm_info": ["etsivnfm:v3.3.1"],
            "localization_languages": ["en", "ja"],
            "default_localization_language": "en",
        }
        vnfd = self.read(files)
        self.assertEqual("Pretty name", vnfd.product_info_name)
        self.assertEqual("What it does", vnfd.product_info_description)
        self.assertEqual(("etsivnfm:v3.3.1",), vnfd.vnfm_info)
        self.assertEqual(("en", "ja"), vnfd.localization_languages)
        self.assertEqual("en", vnfd.default_localization_language)

    def test_identity_by_the_type_that_a_flavour_substitutes(self) -> None:
        files = changed(vnfd_files(), TOP_NODES, {})
        changed(files, f"{NODES}|VNF", None)
        properties = files[TYPES]["node_types"]["vendor.VNF"]["properties"]
        for name in ("product_name", "software_version", "descriptor_version"):
            properties[name] = {"type": "string", "default": f"the {name}"}
        vnfd = self.read(files)
        self.assertEqual("of-type", vnfd.id)
        self.assertEqual("the product_name", vnfd.product_name)

    def test_identity_faults(self) -> None:
        properties = f"{TOP_NODES}|VNF|properties"
        place = "topology_template.node_templates.VNF.properties"
        for name, value, expected in (
            ("product_name", None, "the VNFD does not say it"),
            ("product_name", "", "the VNFD does not say it"),
            (
                "descriptor_id",
                "x" * 256,
                "the text is longer than 255 characters",
            ),
            ("software_version", 1.0, "a text is expected; put 1.0 in quotes"),
            (
                "software_version",
                True,
                "a text is expected; put True in quotes",
            ),
            ("descriptor_id", ["a"], "a text is expected, not a list"),
            ("descriptor_id", {"a": 1}, "a text is expected, not a map"),
            ("vnfm_info", "Tacker", "a list is expected, not a text"),
            ("vnfm_info", {"a": 1}, "a list is expected, not a map"),
            (
                "descriptor_id",
                {"get_input": "nothing"},
                "get_input: there is no input 'nothing'",
            ),
            (
                "descriptor_id",
                {"get_input": {"a": 1}},
                "get_input: there is no input {'a': 1}",
            ),
        ):
            path = f"{properties}|{name}"
            self.assertEqual(
                f"{ENTRY}: {place}.{name}: {expected}",
                self.refused(changed(vnfd_files(), path, value)),
            )

    def test_two_vnf_nodes(self) -> None:
        files = changed(
            vnfd_files(),
            f"{TOP_NODES}|Other",
            {"type": "tosca.nodes.nfv.VNF"},
        )
        self.assertEqual(
            f"{ENTRY}: topology_template.node_templates.Other: the template"
            " has a second VNF node",
            self.refused(files),
        )

    def test_no_vnf_node(self) -> None:
        files = changed(vnfd_files(), TOP_NODES, {})
        changed(files, f"{NODES}|VNF", None)
        path = f"{TOPOLOGY}|substitution_mappings|node_type"
        changed(files, path, "tosca.nodes.Root")
        self.assertEqual(f"{ENTRY}: there is no VNF node", self.refused(files))


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
                    "owner": {"type": "string", "default": "nobody"},
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
        self.assertEqual({"owner": "nobody"}, vnfd.metadata)
        self.assertEqual(
            {
                "isAutohealEnabled": True,
                "isAutoscaleEnabled": False,
                "mode": "fast",
            },
            vnfd.configurable_properties,
        )
        self.assertEqual(vnfd, base.decode(base.encode(vnfd), Vnfd))

    def test_data_types_that_hold_themselves(self) -> None:
        files = vnfd_files()
        files[TYPES]["data_types"] = {
            "vendor.Loop": {"properties": {"again": {"type": "vendor.Loop"}}},
        }
        path = f"{VNF_TYPE}|properties|modifiable_attributes"
        changed(files, path, {"type": "vendor.Loop"})
        self.assertIn(
            "the data types are nested too deep", self.refused(files)
        )

    def test_defaults_of_a_wrong_kind(self) -> None:
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


class TestFlavours(DescriptorTest):
    def test_ways_to_name_a_flavour(self) -> None:
        for mappings in (
            {"properties": {"flavour_id": "simple"}},
            {"properties": {"flavour_id": ["simple"]}},
            {"properties": {"flavour_id": {"equal": "simple"}}},
            {"properties": {"flavour_id": [{"equal": "simple"}]}},
            {
                "substitution_filter": {
                    "properties": [{"flavour_id": {"equal": "simple"}}],
                },
            },
            {
                "substitution_filter": {
                    "properties": {"flavour_id": [{"equal": "simple"}]},
                },
            },
            {},
        ):
            path = f"{TOPOLOGY}|substitution_mappings"
            mappings["node_type"] = "vendor.VNF"  # type: ignore[assignment]
            vnfd = self.read(changed(vnfd_files(), path, mappings))
            self.assertEqual(["simple"], list(vnfd.flavours), str(mappings))

    def test_several_in_the_order_of_their_imports(self) -> None:
        files = vnfd_files()
        other = vnfd_files()[SIMPLE]
        mappings = other["topology_template"]["substitution_mappings"]
        mappings["properties"]["flavour_id"] = "other"
        files["Definitions/deep/other.yaml"] = other
        other["imports"] = ["../types.yaml"]
        files[ENTRY]["imports"].append("deep/other.yaml")
        vnfd = self.read(files)
        self.assertEqual(["simple", "other"], list(vnfd.flavours))
        self.assertEqual("simple", vnfd.default_flavour)

    def test_a_vnfd_of_one_file(self) -> None:
        files = vnfd_files()
        topology = files[SIMPLE]["topology_template"]
        del topology["substitution_mappings"]
        del topology["node_templates"]["VNF"]
        files[ENTRY]["topology_template"]["node_templates"] |= topology[
            "node_templates"
        ]
        files[ENTRY]["imports"] = ["types.yaml"]
        self.assertEqual(["simple"], list(self.read(files).flavours))
        path = f"{TOP_NODES}|VNF|properties|flavour_id"
        vnfd = self.read(changed(files, path, "alone"))
        self.assertEqual(["alone"], list(vnfd.flavours))

    def test_none(self) -> None:
        files = changed(vnfd_files(), f"{ENTRY}|imports", ["types.yaml"])
        self.assertEqual(
            f"{ENTRY}: the VNFD has no deployment flavour",
            self.refused(files),
        )

    def test_one_twice(self) -> None:
        files = vnfd_files()
        files["Definitions/again.yaml"] = files[SIMPLE]
        files[ENTRY]["imports"].append("again.yaml")
        self.assertEqual(
            f"Definitions/again.yaml: the flavour simple is in {SIMPLE} too",
            self.refused(files),
        )

    def test_description_of_the_vnf_node_first(self) -> None:
        path = f"{NODES}|VNF|properties|flavour_description"
        self.assertEqual("mine", self.simple(path, "mine").description)

    def test_lifecycle_defaults(self) -> None:
        flavour = self.simple(
            f"{NODES}|VNF|properties|lcm_operations_configuration",
            {
                "scale": {"scaling_by_more_than_one_step_supported": True},
                "heal": {"causes": ["fire", "water"]},
                "terminate": {
                    "min_graceful_termination_timeout": "500 ms",
                    "max_recommended_graceful_termination_timeout": "2 m",
                },
            },
        )
        self.assertEqual(
            LcmDefaults(
                scaling_by_more_than_one_step_supported=True,
                heal_causes=("fire", "water"),
                min_graceful_termination_timeout=0.5,
                max_recommended_graceful_termination_timeout=120,
            ),
            flavour.lcm_defaults,
        )


class TestNodes(DescriptorTest):
    def test_a_company_type_is_what_it_derives_from(self) -> None:
        files = vnfd_files()
        files[TYPES]["node_types"] |= {
            "vendor.Vdu": {
                "derived_from": "vendor.BaseVdu",
                "properties": {
                    "name": {"type": "string", "default": "of-type"},
                    "vdu_profile": {
                        "default": {
                            "min_number_of_instances": 0,
                            "max_number_of_instances": 9,
                        },
                    },
                },
            },
            "vendor.BaseVdu": {"derived_from": "tosca.nodes.nfv.Vdu.Compute"},
        }
        vdu = {"type": "vendor.Vdu"}
        flavour = self.read(changed(files, f"{NODES}|VDU3", vdu)).flavours
        self.assertEqual(
            Vdu(id="VDU3", name="of-type", min_instances=0, max_instances=9),
            flavour["simple"].vdus["VDU3"],
        )

    def test_container_deployable_units_are_vdus(self) -> None:
        node = packages.vdu("POD", 1, 2)
        node["type"] = "tosca.nodes.nfv.Vdu.OsContainerDeployableUnit"
        flavour = self.simple(f"{NODES}|POD", node)
        self.assertEqual("pod-name", flavour.vdus["POD"].name)

    def test_vdu_with_compute_storage_and_image(self) -> None:
        files = vnfd_files()
        nodes = files[SIMPLE]["topology_template"]["node_templates"]
        image_data = {
            "name": "an image",
            "version": "0.5",
            "checksum": {"algorithm": "sha-256", "hash": "abc"},
            "container_format": "bare",
            "disk_format": "qcow2",
            "min_disk": "0 B",
            "min_ram": "8192 MB",
            "size": "1.5 GiB",
        }
        nodes["VDU1"] |= {
            "capabilities": {
                "virtual_compute": {
                    "properties": {
                        "requested_additional_capabilities": {
                            "properties": {
                                "requested_additional_capability_name": "m1.tiny",
                                "support_mandatory": True,
                            },
                        },
                        "virtual_memory": {"virtual_mem_size": "512 MiB"},
                        "virtual_cpu": {"num_virtual_cpu": 2},
                    },
                },
            },
            "requirements": [
                {"virtual_storage": "disk"},
                {"virtual_storage": {"node": "files"}},
            ],
        }
        nodes["VDU1"]["properties"]["sw_image_data"] = image_data
        nodes["disk"] = {
            "type": "tosca.nodes.nfv.Vdu.VirtualBlockStorage",
            "properties": {
                "virtual_block_storage_data": {"size_of_storage": "1 GB"},
                "sw_image_data": {"name": "disk", "version": "1"},
            },
            "artifacts": {
                "sw_image": {
                    "type": "tosca.artifacts.nfv.SwImage",
                    "file": "../Files/disk.img",
                },
            },
        }
        nodes["files"] = {
            "type": "tosca.nodes.nfv.Vdu.VirtualFileStorage",
            "properties": {
                "virtual_file_storage_data": {"size_of_storage": 7}
            },
        }
        nodes["things"] = {
            "type": "tosca.nodes.nfv.Vdu.VirtualObjectStorage",
            "properties": {
                "virtual_object_storage_data": {"max_size_of_storage": "3 KB"},
            },
        }
        vnfd = self.read(files | {"Files/disk.img": "bits"})
        flavour = vnfd.flavours["simple"]
        self.assertEqual(
            Vdu(
                id="VDU1",
                name="vdu1-name",
                description="the VDU1",
                min_instances=1,
                max_instances=5,
                storages=("disk", "files"),
                image="VDU1",
                compute_flavour="m1.tiny",
                num_virtual_cpu=2,
                virtual_mem_size=512 * 2**20,
            ),
            flavour.vdus["VDU1"],
        )
        self.assertEqual(
            {
                "disk": VirtualStorage(
                    id="disk",
                    kind="block",
                    size_of_storage=10**9,
                    image="disk",
                ),
                "things": VirtualStorage(
                    id="things",
                    kind="object",
                    size_of_storage=3000,
                ),
                "files": VirtualStorage(
                    id="files",
                    kind="file",
                    size_of_storage=7,
                ),
            },
            flavour.storages,
        )
        self.assertEqual(
            (
                SoftwareImage(
                    id="VDU1",
                    name="an image",
                    version="0.5",
                    checksum_algorithm="sha-256",
                    checksum_hash="abc",
                    container_format="bare",
                    disk_format="qcow2",
                    min_disk=0,
                    min_ram=8192 * 10**6,
                    size=3 * 2**29,
                ),
                SoftwareImage(
                    id="disk",
                    name="disk",
                    version="1",
                    image_path="Files/disk.img",
                ),
            ),
            vnfd.software_images,
        )

    def test_where_an_image_lies(self) -> None:
        for file, expected in (
            ("../Files/gone.img", None),
            ("https://host/disk.img", "https://host/disk.img"),
        ):
            files = vnfd_files()
            node = files[SIMPLE]["topology_template"]["node_templates"]["VDU1"]
            node["properties"]["sw_image_data"] = {"name": "n", "version": "1"}
            node["artifacts"] = {
                "img": {"type": "tosca.artifacts.nfv.SwImage", "file": file},
            }
            (image,) = self.read(files).software_images
            self.assertEqual(expected, image.image_path)

    def test_links_and_connection_points(self) -> None:
        files = vnfd_files()
        topology = files[SIMPLE]["topology_template"]
        topology["node_templates"] |= {
            "VL": {
                "type": "tosca.nodes.nfv.VnfVirtualLink",
                "properties": {
                    "description": "inside",
                    "connectivity_type": {"layer_protocols": ["ipv4"]},
                },
            },
            "CP1": {
                "type": "tosca.nodes.nfv.VduCp",
                "properties": {"layer_protocols": ["ipv4"], "order": 0},
                "requirements": [
                    {"virtual_binding": "VDU1"},
                    {"virtual_link": "VL"},
                ],
            },
            "CP2": {
                "type": "tosca.nodes.nfv.VduCp",
                "requirements": [{"virtual_binding": {"node": "VDU2"}}],
            },
            "EXT": {
                "type": "tosca.nodes.nfv.VnfExtCp",
                "requirements": [{"internal_virtual_link": "VL"}],
            },
        }
        topology["substitution_mappings"]["requirements"] = {
            "virtual_link_external_1": ["CP2", "virtual_link"],
            "virtual_link_external_2": {"mapping": ["EXT", "x"]},
            "virtual_link_external_3": [],
        }
        flavour = self.read(files).flavours["simple"]
        self.assertEqual(
            {
                "VL": VirtualLink(
                    id="VL",
                    description="inside",
                    layer_protocols=("ipv4",),
                ),
            },
            flavour.virtual_links,
        )
        self.assertEqual(
            {
                "CP1": ConnectionPoint(
                    id="CP1",
                    vdu="VDU1",
                    virtual_link="VL",
                    order=0,
                    layer_protocols=("ipv4",),
                ),
                "CP2": ConnectionPoint(id="CP2", vdu="VDU2", external=True),
                "EXT": ConnectionPoint(
                    id="EXT",
                    virtual_link="VL",
                    external=True,
                ),
            },
            flavour.connection_points,
        )
        self.assertEqual(
            {
                "CP2": "virtual_link_external_1",
                "EXT": "virtual_link_external_2",
            },
            flavour.external_connection_points,
        )

    def test_faults(self) -> None:
        block = {"type": "tosca.nodes.nfv.Vdu.VirtualBlockStorage"}
        cp = {"type": "tosca.nodes.nfv.VduCp"}
        image = {"type": "tosca.artifacts.nfv.SwImage", "file": "a.img"}
        profile = "VDU1.properties.vdu_profile"
        for path, value, expected in (
            ("VDU1|type", None, "VDU1.type: a text is expected, not nothing"),
            (
                "VDU1|type",
                "no.Type",
                "VDU1.type: the type no.Type is not defined",
            ),
            ("VDU1", [], "VDU1: a map is expected, not a list"),
            (
                "VDU1|properties",
                "x",
                "VDU1.properties: a map is expected, not a text",
            ),
            (
                "VDU1|properties|name",
                None,
                "VDU1.properties.name: a text is expected, not nothing",
            ),
            (
                "VDU1|properties|vdu_profile",
                None,
                (
                    f"{profile}.min_number_of_instances: a number of 0 or more is"
                    " expected, not nothing"
                ),
            ),
            (
                "VDU1|properties|vdu_profile|max_number_of_instances",
                -1,
                (
                    f"{profile}.max_number_of_instances: a number of 0 or more is"
                    " expected, not -1"
                ),
            ),
            (
                "VDU1|properties|vdu_profile|max_number_of_instances",
                True,
                (
                    f"{profile}.max_number_of_instances: a number of 0 or more is"
                    " expected, not a boolean"
                ),
            ),
            (
                "VDU1|properties|vdu_profile|max_number_of_instances",
                2.0,
                (
                    f"{profile}.max_number_of_instances: a number of 0 or more is"
                    " expected, not a number"
                ),
            ),
            (
                "VDU1|properties|vdu_profile|min_number_of_instances",
                6,
                f"{profile}: the minimum 6 is above the maximum 5",
            ),
            (
                "VDU1|requirements",
                [{"virtual_storage": "VDU2"}],
                (
                    "VDU1.requirements.virtual_storage: there is no fitting node"
                    " VDU2"
                ),
            ),
            (
                "VDU1|requirements",
                [{"a": "b", "c": "d"}],
                "VDU1.requirements.0: a map of exactly one key is expected",
            ),
            (
                "VDU1|requirements",
                "disk",
                "VDU1.requirements: a map is expected, not a text",
            ),
            (
                "VDU1|capabilities",
                {
                    "virtual_compute": {
                        "properties": {
                            "virtual_memory": {"virtual_mem_size": "big"},
                        },
                    },
                },
                (
                    "VDU1.capabilities.virtual_compute.properties.virtual_memory"
                    ".virtual_mem_size: a size like 2 GB is expected, not 'big'"
                ),
            ),
            (
                "disk",
                block
                | {
                    "properties": {
                        "virtual_block_storage_data": {
                            "size_of_storage": "99999999 TiB",
                        },
                    },
                },
                (
                    "disk.properties.virtual_block_storage_data.size_of_storage:"
                    " 99999999 TiB is more than 1152921504606846976 bytes"
                ),
            ),
            (
                "disk",
                block | {"artifacts": {"i": image}},
                (
                    "disk.properties.sw_image_data: disk has a software image"
                    " without data"
                ),
            ),
            (
                "disk",
                block
                | {
                    "artifacts": {"i": image, "j": image},
                    "properties": {
                        "sw_image_data": {"name": "n", "version": "1"},
                    },
                },
                "disk.artifacts.j.file: disk has more than one software image",
            ),
            (
                "CP",
                cp
                | {
                    "requirements": [
                        {"virtual_binding": "VDU1"},
                        {"virtual_binding": "VDU2"},
                    ],
                },
                (
                    "CP.requirements.virtual_binding: the requirement is there"
                    " more than once"
                ),
            ),
            (
                "CP",
                cp | {"properties": {"order": "first"}},
                (
                    "CP.properties.order: a number of 0 or more is expected, not a"
                    " text"
                ),
            ),
        ):
            self.assertEqual(
                f"{SIMPLE}: topology_template.node_templates.{expected}",
                self.refused(changed(vnfd_files(), f"{NODES}|{path}", value)),
            )

    def test_a_mapping_to_a_node_that_is_not_there(self) -> None:
        path = f"{TOPOLOGY}|substitution_mappings|requirements"
        files = changed(vnfd_files(), path, {"ext": ["CP9", "virtual_link"]})
        self.assertEqual(
            f"{SIMPLE}: topology_template.substitution_mappings.requirements"
            ".ext.0: there is no node CP9",
            self.refused(files),
        )

    def test_a_type_that_derives_from_itself(self) -> None:
        for chain in (["a"], ["a", "b", "c"]):
            files = vnfd_files()
            following = [*chain[1:], chain[0]]
            for name, parent in zip(chain, following, strict=True):
                files[TYPES]["node_types"][name] = {"derived_from": parent}
            changed(files, f"{NODES}|VDU1|type", "a")
            self.assertEqual(
                f"{TYPES}: node_types.a: the type derives from itself",
                self.refused(files),
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

    def test_a_type_gives_defaults(self) -> None:
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

    def test_other_interfaces_are_left_alone(self) -> None:
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
                    f"{vnf}.interfaces.Vnflcm.heal_start.implementation: the file"
                    " Definitions/a is not in the package"
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
                "gone.yaml",
                (
                    f"{SIMPLE} imports Definitions/gone.yaml, which is not in the"
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
                    " package"
                ),
            ),
            (
                "file:///etc/passwd",
                (
                    f"{SIMPLE}: imports.0: file:///etc/passwd is not in the"
                    " package"
                ),
            ),
            (1, f"{SIMPLE}: imports.0: a text is expected; put 1 in quotes"),
            ([], f"{SIMPLE}: imports.0: a text is expected, not a list"),
            (
                {"a": "b", "c": "d"},
                f"{SIMPLE}: imports.0: an import names one file",
            ),
            (
                {"a": {"b": "c"}},
                f"{SIMPLE}: imports.0.a.file: a text is expected, not nothing",
            ),
            (
                "simple.yaml",
                f"the imports are a cycle: {SIMPLE} -> {SIMPLE}",
            ),
            (
                "top.vnfd.yaml",
                f"the imports are a cycle: {ENTRY} -> {SIMPLE} -> {ENTRY}",
            ),
        ):
            path = f"{SIMPLE}|imports"
            self.assertEqual(
                expected,
                self.refused(changed(vnfd_files(), path, [form])),
            )

    def test_imports_that_are_no_list(self) -> None:
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

    def test_an_entry_outside(self) -> None:
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
            "Definitions/c31.yaml: imports lead too deep",
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
            "Definitions/more.yaml: node_types.vendor.VNF: defined otherwise in"
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
                f"{SIMPLE}, line 2, column 1: the key 'a' is there twice",
            ),
            (
                "a: 1\n---\nb: 2",
                f"{SIMPLE}: this is 2 YAML documents where one is expected",
            ),
            (
                "a: " + "b" * 2**21,
                f"{SIMPLE}: the file is longer than the 2097152 bytes accepted",
            ),
        ):
            self.assertEqual(
                expected,
                self.refused(vnfd_files() | {SIMPLE: text}),
            )

    def test_bytes_that_are_no_text(self) -> None:
        tree = self.tree(vnfd_files())
        (tree / SIMPLE).write_bytes(b"a: \xff")
        error = self.assertRaises(
            errors.InvalidPackage,
            descriptor.read,
            tree,
            ENTRY,
        )
        self.assertEqual(f"{SIMPLE}: this is not UTF-8", str(error))
