from tacker_cnf.vnfd.descriptor import (
    ConnectionPoint,
    SoftwareImage,
    Vdu,
    VirtualLink,
    VirtualStorage,
)
from tests.unit.vnfd import packages
from tests.unit.vnfd.packages import changed, vnfd_files
from tests.unit.vnfd.testcases import (
    NODES,
    SIMPLE,
    TYPES,
    DescriptorTest,
)


class TestNodes(DescriptorTest):
    def test_a_vendor_type_is_used_as_its_base_type(self) -> None:
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

    def test_the_path_of_an_image(self) -> None:
        for file, expected in (
            ("../Files/missing.img", None),
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
                    "VDU1.requirements.virtual_storage: there is no node"
                    " VDU2 of a matching type"
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
                    "CP.requirements.virtual_binding: the requirement is listed"
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

    def test_a_type_that_derives_from_itself_is_rejected(self) -> None:
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
