"""User data of version 1, called as that of version 2."""

import runpy
import sys
from typing import Any, Final

from fixtures import MonkeyPatch

from tacker_cnf import errors
from tacker_cnf.scripts import compat_modules
from tacker_cnf.user_data.compat import MODULES
from tacker_cnf.user_data.v1 import groups
from tacker_cnf.user_data.v1.adapter import Version1UserData
from tests.fixtures import user_data_v1
from tests.fixtures.user_data import (
    UserDataCase,
    added_computes,
    grant_with_zones,
    removed_computes,
)

SERVERS: Final[Any] = {"s1": ("front", None), "s2": ("store", None)}
NFV: Final = {
    "VDU": {"front": {"flavor": "f", "image": "i"}},
    "CP": {"front_cp": {"network": "net-1", "fixed_ips": []}, "in_cp": {}},
}


class VersionCase(UserDataCase):
    def setUp(self) -> None:
        super().setUp()
        self.request = user_data_v1.instantiation()

    def adapted(
        self, text: str, template: str = user_data_v1.IN_TEMPLATE
    ) -> Version1UserData:
        """Return user data; the package gets its template."""
        self.write(user_data_v1.HOT, template)
        self.write(user_data_v1.NESTED, user_data_v1.MEMBER)
        self.write(user_data_v1.PATH, text)
        self.useFixture(MonkeyPatch("sys.meta_path", [*sys.meta_path]))
        compat_modules.install(MODULES)
        found = runpy.run_path(str(self.folder / user_data_v1.PATH))
        return Version1UserData(found["Own"])

    def running(self, **info: Any) -> Any:
        status = [{"aspectId": "front_aspect", "scaleLevel": 0}]
        return self.instance(
            SERVERS, metadata={"nfv": NFV}, scaleStatus=status, **info
        )


class TestInstantiate(VersionCase):
    def start(
        self, user_data: Version1UserData, grant: Any = None, **counts: int
    ) -> Any:
        added = added_computes(**({"front": 1, "store": 1} | counts))
        return self.call_user_data(
            user_data.instantiate,
            grant_req={"addResources": added},
            grant=grant,
        )

    def test_values_of_the_vnfd_and_the_request(self) -> None:
        self.request["additionalParams"] = {"greeting": "hi"}
        fields = self.start(self.adapted(user_data_v1.OF_VNFD))
        self.assertFalse(fields["existing"])
        self.assertEqual({"front.yaml"}, fields["files"].keys())
        self.assertEqual("hi", fields["parameters"]["greeting"])
        nfv = fields["parameters"]["nfv"]
        self.assertEqual(
            {"flavor": "m1.tiny", "image": "cirros"}, nfv["VDU"]["front"]
        )
        self.assertEqual(
            {
                "network": "net-1",
                "fixed_ips": [{"ip_address": "198.51.100.7"}],
            },
            nfv["CP"]["store_cp"],
        )

    def test_values_of_its_own(self) -> None:
        grant = {
            "vimAssets": {
                "computeResourceFlavours": [
                    {
                        "vnfdVirtualComputeDescId": "front",
                        "vimFlavourId": "m1.tiny",
                    }
                ]
            }
        }
        fields = self.start(self.adapted(user_data_v1.FIXED), grant)
        nfv = fields["parameters"]["nfv"]
        self.assertEqual(
            {"flavor": "small", "image": "alpine"}, nfv["VDU"]["front"]
        )
        self.assertEqual("good day", fields["parameters"]["greeting"])

    def test_the_grant_replaces_values_of_the_vnfd(self) -> None:
        grant: Any = grant_with_zones(front0="east")
        grant["vimAssets"] = {
            "computeResourceFlavours": [
                {"vnfdVirtualComputeDescId": "front", "vimFlavourId": "big"}
            ],
            "softwareImages": [
                {
                    "vnfdSoftwareImageId": "front",
                    "vimSoftwareImageId": "an-id",
                }
            ],
        }
        fields = self.start(self.adapted(user_data_v1.OF_VNFD), grant)
        vdus = fields["parameters"]["nfv"]["VDU"]
        self.assertEqual(
            {"flavor": "big", "image": "an-id", "zone": "east"}, vdus["front"]
        )
        self.assertEqual("cirros", vdus["store_disk"]["image"])
        self.assertNotIn("zone", vdus["store"])

    def test_images_of_the_grant(self) -> None:
        text = user_data_v1.OF_VNFD.replace(
            "create_sw_image_dict(vnfd_dict)",
            "create_vdu_image_dict(grant_info)",
        )
        user_data = self.adapted(text)
        error = self.assertRaises(
            errors.InvalidParameters, self.start, user_data
        )
        self.assertIn("nfv.VDU.front.image, nfv.VDU.store_disk", str(error))
        names = ("front", "store_disk")
        images = [
            {"vnfdSoftwareImageId": name, "vimSoftwareImageId": f"id-{name}"}
            for name in names
        ]
        fields = self.start(
            user_data, {"vimAssets": {"softwareImages": images}}
        )
        vdus = fields["parameters"]["nfv"]["VDU"]
        self.assertEqual(
            ["id-front", "id-store_disk"], [vdus[n]["image"] for n in names]
        )

    def test_it_may_change_the_template(self) -> None:
        text = user_data_v1.FIXED.replace(
            "        (link,)",
            '        base_hot_dict["heat_template"]["description"] = "own"\n'
            '        assert base_hot_dict["front.yaml"]["resources"]\n'
            '        assert vnfd_dict["topology_template"]["policies"]\n'
            "        (link,)",
        )
        fields = self.start(self.adapted(text))
        self.assertEqual("own", fields["template"]["description"])

    def test_the_size_of_groups(self) -> None:
        user_data = self.adapted(user_data_v1.FIXED)
        fields = self.start(user_data, front=3)
        group = fields["template"]["resources"]["front_group"]
        self.assertEqual(3, group["properties"]["desired_capacity"])
        user_data = self.adapted(user_data_v1.FIXED, user_data_v1.IN_NFV)
        fields = self.start(user_data, front=3)
        self.assertEqual(
            {"front_aspect": 3},
            fields["parameters"]["nfv"]["desired_capacity"],
        )

    def test_a_vdu_that_cannot_scale(self) -> None:
        template = user_data_v1.IN_TEMPLATE.replace(
            "OS::Heat::AutoScalingGroup", "OS::Heat::Stack"
        )
        user_data = self.adapted(user_data_v1.FIXED, template)
        self.start(user_data, front=1)
        error = self.assertRaises(
            errors.InvalidParameters, self.start, user_data, front=2
        )
        self.assertIn("VDU front shall have 2 VNFCs, but the temp", str(error))

    def test_missing_values(self) -> None:
        self.request["extVirtualLinks"] = []
        error = self.assertRaises(
            errors.InvalidParameters,
            self.start,
            self.adapted(user_data_v1.OF_VNFD),
        )
        self.assertIn("nfv.CP.front_cp.network, nfv.CP.store_cp", str(error))

    def test_invalid_results(self) -> None:
        for result in ("'text'", "None", "{'nfv': 1}"):
            text = "class Own:\n    def instantiate(*a): return " + result
            error = self.assertRaises(
                TypeError, self.start, self.adapted(text)
            )
            self.assertIn("has to return a dict", str(error))


class TestScale(VersionCase):
    out: Final = {"type": "SCALE_OUT", "aspectId": "front_aspect"}

    def scale(self, user_data: Version1UserData) -> Any:
        return self.call_user_data(
            user_data.scale,
            self.running(),
            self.out,
            {"addResources": added_computes(front=1)},
        )

    def test_the_template_has_the_size(self) -> None:
        fields = self.scale(self.adapted(user_data_v1.FIXED))
        group = {"properties": {"desired_capacity": 2}}
        self.assertEqual(
            {"front_group": group}, fields["template"]["resources"]
        )
        self.assertEqual({}, fields["parameters"])

    def test_a_parameter_has_the_size(self) -> None:
        user_data = self.adapted(user_data_v1.FIXED, user_data_v1.IN_NFV)
        sizes = {"desired_capacity": {"front_aspect": 2}}
        self.assertEqual({"parameters": {"nfv": sizes}}, self.scale(user_data))
        template = user_data_v1.TEMPLATE % "{get_param: front_size}"
        user_data = self.adapted(user_data_v1.FIXED, template)
        self.assertEqual(
            {"parameters": {"front_size": 2}}, self.scale(user_data)
        )

    def test_its_method(self) -> None:
        fields = self.scale(self.adapted(user_data_v1.METHODS))
        nfv = fields["parameters"]["nfv"]
        self.assertEqual(NFV["VDU"], nfv["VDU"])
        expected = ["SCALE_OUT", "front_aspect", self.vnfd.id, 0, 2]
        self.assertEqual({"scale": expected}, nfv["seen"])

    def test_to_a_level(self) -> None:
        fields = self.call_user_data(
            self.adapted(user_data_v1.METHODS).scale_to_level,
            self.running(),
            {"instantiationLevelId": "busy"},
            {"addResources": added_computes(front=2)},
        )
        self.assertIn("'desired_capacity': 3", str(fields["template"]))

    def test_the_rollback(self) -> None:
        fields = self.call_user_data(
            self.adapted(user_data_v1.METHODS).scale_rollback,
            self.running(),
            self.out,
            {"addResources": added_computes(front=1)},
        )
        self.assertIn("'desired_capacity': 1", str(fields["template"]))
        self.assertEqual({}, fields["parameters"])


class TestHeal(VersionCase):
    def heal(self, user_data: Version1UserData, **request: Any) -> Any:
        return self.call_user_data(
            user_data.heal,
            self.running(),
            request,
            {
                "addResources": added_computes(front=1),
                "removeResources": removed_computes("s1"),
            },
        )

    def test_without_a_method_all_is_kept(self) -> None:
        fields = self.heal(self.adapted(user_data_v1.FIXED))
        self.assertEqual({}, fields["parameters"])
        self.assertIn("'desired_capacity': 1", str(fields["template"]))

    def test_its_method(self) -> None:
        user_data = self.adapted(user_data_v1.METHODS)
        fields = self.heal(user_data, vnfcInstanceId=["front-s1"])
        nfv = fields["parameters"]["nfv"]
        self.assertEqual({"heal": ["front"], "named": True}, nfv["seen"])
        self.assertEqual("newer", nfv["VDU"]["front"]["image"])

    def test_the_whole_vnf_does_not_call_it(self) -> None:
        user_data = self.adapted(user_data_v1.METHODS)
        fields = self.heal(user_data, additionalParams={"all": True})
        self.assertEqual({}, fields["parameters"])


class TestChangeExtConn(VersionCase):
    def test_requested_networks(self) -> None:
        request = user_data_v1.instantiation()
        request["extVirtualLinks"][0]["resourceId"] = "net-2"
        user_data = self.adapted(user_data_v1.OF_VNFD)
        fields = self.call_user_data(
            user_data.change_ext_conn, self.running(), request
        )
        self.assertEqual(
            {"front_cp": {"network": "net-2", "fixed_ips": []}},
            fields["parameters"]["nfv"]["CP"],
        )
        fields = self.call_user_data(
            user_data.change_ext_conn_rollback, self.running(), request
        )
        self.assertEqual({}, fields["parameters"])


class TestGroups(VersionCase):
    def test_other_groups_stay(self) -> None:
        hot = {
            "template": {
                "resources": {
                    "web": {"type": "OS::Heat::ResourceGroup"},
                    "other": {"type": "OS::Heat::AutoScalingGroup"},
                }
            },
            "files": {},
        }
        sizes = groups.set_sizes(hot, {"web": 2}, {"web": 1})
        self.assertEqual(
            {"resources": {"web": {"properties": {"count": 2}}}},
            sizes.template,
        )
