"""What user data written for Tacker reads of a VNFD."""

from typing import Any

import msgspec

from tacker_cnf.user_data import parameters
from tacker_cnf.user_data.package import Package
from tacker_cnf.vnfd.model import AffinityRule
from tests.fixtures.user_data import UserDataCase

IMAGE = {"front": "cirros", "store_disk": "cirros"}


class PackageCase(UserDataCase):
    def setUp(self) -> None:
        super().setUp()
        self.package = Package(self.vnfd, self.folder)

    def with_flavour(self, **changes: Any) -> Package:
        """Return the package with a changed flavour."""
        flavours = dict(self.vnfd.flavours)
        flavours["simple"] = msgspec.structs.replace(
            flavours["simple"], **changes
        )
        vnfd = msgspec.structs.replace(self.vnfd, flavours=flavours)
        return Package(vnfd, self.folder)


class TestNodes(PackageCase):
    def test_nodes_are_those_of_the_vnfd(self) -> None:
        package = self.package
        vdus = package.get_vdu_nodes("simple")
        self.assertEqual(["front", "store"], list(vdus))
        self.assertEqual("front", vdus["front"]["properties"]["name"])
        storages = package.get_storage_nodes("simple")
        data = storages["store_disk"]["properties"]
        self.assertEqual(
            {"size_of_storage": "1 GB"}, data["virtual_block_storage_data"]
        )
        links = package.get_virtual_link_nodes("simple")
        self.assertEqual(["inside"], list(links))
        points = package.get_vducp_nodes("simple")
        self.assertEqual(4, len(points))
        self.assertIn(
            {"virtual_binding": "front"}, points["front_cp"]["requirements"]
        )

    def test_what_belongs_to_a_vdu(self) -> None:
        package = self.package
        store = package.get_vdu_nodes("simple")["store"]
        self.assertEqual(["store_disk"], package.get_vdu_storages(store))
        self.assertEqual([], package.get_vdu_storages({}))
        as_map = {"requirements": [{"virtual_storage": {"node": "a"}}]}
        self.assertEqual(["a"], package.get_vdu_storages(as_map))
        self.assertEqual(
            ["store_cp", "store_inside_cp"],
            package.get_vdu_cps("simple", "store"),
        )
        flavour = package.get_compute_flavor("simple", "front")
        self.assertEqual("m1.tiny", flavour)
        self.assertIsNone(package.get_compute_flavor("simple", "other"))

    def test_images(self) -> None:
        self.assertEqual(IMAGE, self.package.get_sw_image("simple"))
        data = self.package.get_sw_image_data("simple")
        self.assertEqual(IMAGE.keys(), data.keys())
        self.assertEqual("raw", data["front"]["disk_format"])
        self.assertNotIn("file", data["front"])
        path = "Definitions/front_and_store_df_simple.yaml"
        text = (self.folder / path).read_text()
        self.folder.joinpath(path).unlink()
        artifact = "front:\n      artifacts: {sw_image: {file: ../a.img}}"
        self.write(path, text.replace("    front:", f"    {artifact}", 1))
        data = Package(self.vnfd, self.folder).get_sw_image_data("simple")
        self.assertEqual("../a.img", data["front"]["file"])

    def test_a_package_of_an_earlier_release(self) -> None:
        """It does not record the definitions files."""
        vnfd = msgspec.structs.replace(self.vnfd, files=())
        nodes = Package(vnfd, self.folder).get_vdu_nodes("single")
        self.assertEqual(["front", "store"], list(nodes))

    def test_templates_and_the_directory(self) -> None:
        self.assertEqual(str(self.folder), self.package.csar_dir)
        hot = self.package.get_base_hot("simple")
        self.assertEqual({"template", "files"}, hot.keys())


class TestPolicies(PackageCase):
    def test_levels_and_aspects(self) -> None:
        package = self.package
        level = package.get_default_instantiation_level("simple")
        self.assertIn(level, self.vnfd.flavours["simple"].levels)
        self.assertEqual(1, package.get_vdu_num("simple", "front", level))
        self.assertEqual(0, package.get_vdu_num("simple", "other", level))
        self.assertEqual(1, package.get_initial_delta("simple", "front"))
        (aspect,) = self.vnfd.flavours["simple"].aspects
        self.assertEqual(
            {"front": 1}, package.get_scale_vdu_and_num("simple", aspect)
        )
        self.assertEqual({}, package.get_scale_vdu_and_num("simple", "other"))
        self.assertEqual(2, package.get_max_scale_level("simple", aspect))
        self.assertEqual(0, package.get_max_scale_level("simple", "other"))

    def test_policies_are_those_of_the_vnfd(self) -> None:
        kind = "tosca.policies.nfv.VduInitialDelta"
        found = self.package.get_policy_values_by_type("simple", kind)
        self.assertIn(["front"], [policy["targets"] for policy in found])
        self.assertEqual({kind}, {policy["type"] for policy in found})

    def test_affinity(self) -> None:
        rules = (
            AffinityRule(
                id="a", kind="AFFINITY", scope="ZONE", targets=("all", "x")
            ),
            AffinityRule(id="b", kind="AFFINITY", scope="NFVI_POP"),
            AffinityRule(
                id="c",
                kind="ANTI_AFFINITY",
                scope="NFVI_NODE",
                targets=("front",),
            ),
        )
        package = self.with_flavour(
            affinity_rules=rules, placement_groups={"all": ("front", "store")}
        )
        self.assertEqual(
            {"all": ["front", "store"]}, package.get_placement_groups("simple")
        )
        self.assertEqual(
            [(["front", "store", "x"], "zone")],
            package.get_affinity_targets("simple"),
        )
        self.assertEqual(
            [(["front"], "nfvi_node")],
            package.get_anti_affinity_targets("simple"),
        )

    def test_scripts(self) -> None:
        package = self.with_flavour(scripts={"heal_end": "Scripts/a.py"})
        script = package.get_interface_script("simple", "heal_end")
        self.assertEqual("Scripts/a.py", script)
        self.assertIsNone(package.get_interface_script("simple", "heal_start"))


class TestParameters(PackageCase):
    def test_an_image_without_that_of_the_vnfd(self) -> None:
        find: Any = parameters.get_param_image
        arguments: Any = ("front", "simple", self.package, {})
        self.assertEqual("cirros", find(*arguments))
        self.assertIsNone(find(*arguments, False))  # noqa: FBT003
        self.assertIsNone(find(*arguments, fallback_vnfd=False))
        granted = {
            "softwareImages": [
                {"vnfdSoftwareImageId": "front", "vimSoftwareImageId": "i"}
            ]
        }
        image = find(
            "front",
            "simple",
            self.package,
            {"vimAssets": granted},
            fallback_vnfd=False,
        )
        self.assertEqual("i", image)

    def test_the_zone_of_a_resource(self) -> None:
        grant = {
            "zones": [{"id": "z", "zoneId": "east"}],
            "addResources": [
                {"resourceDefinitionId": "a", "zoneId": "z"},
                {"resourceDefinitionId": "b"},
            ],
        }
        for name, expected in (("a", "east"), ("b", None), ("c", None)):
            found = parameters.get_param_zone_by_vnfc(name, grant)
            self.assertEqual(expected, found, name)
        self.assertIsNone(parameters.get_param_zone_by_vnfc("a", {}))

    def test_managed_links_of_an_instance(self) -> None:
        link = {
            "vnfVirtualLinkDescId": "inside",
            "networkResource": {"resourceId": "net-9"},
        }
        hot = self.package.get_base_hot("simple")["template"]
        for inst in ({}, self.instance({})):
            parameters.apply_ext_managed_vls_from_inst(hot, inst)
            self.assertIn("inside", hot["resources"])
        inst = self.instance({}, extManagedVirtualLinkInfo=[link])
        parameters.apply_ext_managed_vls_from_inst(hot, inst)
        self.assertNotIn("inside", hot["resources"])
        self.assertNotIn("inside_subnet", hot["resources"])
        self.assertIn("net-9", str(hot))

    def test_a_merge_patch_changes_its_target(self) -> None:
        target = {"a": {"b": 1, "c": 2}, "d": 3}
        patch = {"a": {"b": None}, "d": [4]}
        found = parameters.json_merge_patch(target, patch)
        self.assertIs(target, found)
        self.assertEqual({"a": {"c": 2}, "d": [4]}, target)
