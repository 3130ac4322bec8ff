from tacker_cnf.vnfd.descriptor import (
    LcmDefaults,
)
from tests.unit.vnfd.packages import ENTRY, changed, vnfd_files
from tests.unit.vnfd.testcases import (
    NODES,
    SIMPLE,
    TOP_NODES,
    TOPOLOGY,
    DescriptorTest,
)


class TestFlavours(DescriptorTest):
    def test_notations_of_a_flavour_id(self) -> None:
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

    def test_flavours_are_in_the_order_of_their_imports(self) -> None:
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

    def test_a_vnfd_in_a_single_file(self) -> None:
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

    def test_a_vnfd_without_flavours_is_rejected(self) -> None:
        files = changed(vnfd_files(), f"{ENTRY}|imports", ["types.yaml"])
        del files[SIMPLE]  # it is found, imported or not
        self.assertEqual(
            f"{ENTRY}: the VNFD has no deployment flavour",
            self.refused(files),
        )

    def test_a_repeated_flavour_is_rejected(self) -> None:
        files = vnfd_files()
        files["Definitions/again.yaml"] = files[SIMPLE]
        files[ENTRY]["imports"].append("again.yaml")
        self.assertEqual(
            f"Definitions/again.yaml: flavour simple is in {SIMPLE}, too",
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
