from tacker_cnf.sol import base
from tacker_cnf.vnfd import scaling
from tacker_cnf.vnfd.descriptor import (
    AffinityRule,
    Aspect,
    Flavour,
    Level,
    Vdu,
    Vnfd,
)
from tests.unit.vnfd.packages import ENTRY, changed, vnfd_files
from tests.unit.vnfd.testcases import (
    NODES,
    TOP_NODES,
    TOPOLOGY,
    TYPES,
    DescriptorTest,
)


class TestVnfd(DescriptorTest):
    def test_all_values_of_a_small_vnfd(self) -> None:
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
            parameters=(),
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
            files=tuple(sorted(vnfd_files())),
            named_files=(),
        )
        vnfd = self.read(vnfd_files())
        self.assertEqual(expected, vnfd)
        self.assertEqual(vnfd, base.decode(base.encode(vnfd), Vnfd))
        self.assertEqual(
            {"VDU1": 4, "VDU2": 1},
            scaling.counts_of_level(vnfd.flavours["simple"], "high"),
        )

    def test_optional_identity_attributes(self) -> None:
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
            ("product_name", None, "the property is required and not set"),
            ("product_name", "", "the property is required and not set"),
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
        self.assertIn(
            f"{ENTRY}: neither it nor its imports have a VNF node,",
            self.refused(files),
        )
