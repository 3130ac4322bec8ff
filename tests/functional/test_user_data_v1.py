"""VNFs with user data of version 1, on a Heat that expands templates."""

from typing import Any, ClassVar, Final

from tests.fixtures import user_data_v1
from tests.fixtures.heat import ExpandingHeat, HeatStack
from tests.fixtures.user_data_v1 import PARAMETERS, PATH
from tests.fixtures.vnfm import ApiCase, Csar, Response, Vnfm

OUT: Final = {"type": "SCALE_OUT", "aspectId": "front_aspect"}
IN: Final = {"type": "SCALE_IN", "aspectId": "front_aspect"}
TERMINATE: Final = {"terminationType": "FORCEFUL"}
#: user data of version 2
NAMED: Final = {
    "lcm-operation-user-data": "UserData/named.py",
    "lcm-operation-user-data-class": "NamedUserData",
}


class UserDataCase(ApiCase):
    root: ClassVar[str] = "/vnflcm/v2"

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm())
        self.cloud = self.useFixture(ExpandingHeat())
        vim = {"vim": self.cloud.vim}
        response = self.vnfm.call("POST", "/v1.0/vims", vim)
        self.assertEqual(201, response.status, str(response.content))

    def create(
        self, text: str, template: str = user_data_v1.IN_TEMPLATE, **more: str
    ) -> None:
        """Create an instance of a package with user data."""
        files = user_data_v1.package_files(text, template) | more
        self.vnfd_id = self.vnfm.onboard(
            self.useFixture(Csar("vnf", files=files))
        )
        self.instance_id = self.vnfm.create(self.vnfd_id)

    def task(self, task: str, body: Any) -> Response:
        path = f"{self.root}/vnf_instances/{self.instance_id}/{task}"
        return self.vnfm.call("POST", path, body)

    def run_task(self, task: str, body: Any, state: str = "COMPLETED") -> Any:
        """Run an operation; check its final state."""
        response = self.task(task, body)
        self.assertEqual(202, response.status, str(response.content))
        done = self.vnfm.wait_operation(response.headers["Location"])
        self.assertEqual(state, done["operationState"], done)
        return done

    def request(self) -> dict[str, Any]:
        return user_data_v1.instantiation()

    def start(self, text: str, *template: str) -> None:
        """Instantiate a VNF with user data."""
        self.create(text, *template)
        self.run_task("instantiate", self.request())
        self.cloud.requests.clear()

    @property
    def stack(self) -> HeatStack:
        return self.cloud.stacks[f"vnf-{self.instance_id}"]

    @property
    def size(self) -> int:
        """The size of the group."""
        return self.stack.size(self.stack.template["resources"]["front_group"])

    @property
    def nfv(self) -> Any:
        return self.stack.parameters["nfv"]

    @property
    def info(self) -> Any:
        return self.vnfm.instance(self.instance_id)["instantiatedVnfInfo"]

    def servers(self, vdu: str) -> set[str]:
        vnfcs = self.info["vnfcResourceInfo"]
        return {vnfc["id"] for vnfc in vnfcs if vnfc["vduId"] == vdu}

    def vnfc(self, vdu: str) -> str:
        """Return the id of a VNFC, as a heal names it."""
        vnfcs = self.info["vnfcInfo"]
        return next(str(v["id"]) for v in vnfcs if v["vduId"] == vdu)

    def whole(self) -> dict[str, Any]:
        """Return the body of a heal of the whole VNF."""
        return {"additionalParams": {"all": True}}


class TestLifecycle(UserDataCase):
    """Later requests do not name the user data."""

    def test_values_of_the_vnfd(self) -> None:
        self.start(user_data_v1.OF_VNFD)
        vdus = self.nfv["VDU"]
        self.assertEqual(
            {"flavor": "m1.tiny", "image": "cirros"}, vdus["front"]
        )
        parameters = self.stack.parameters
        self.run_task("scale", OUT)
        self.assertEqual((2, 2), (self.size, len(self.servers("front"))))
        self.assertEqual(["PATCH"], self.cloud.changes)
        self.assertEqual(parameters, self.stack.parameters)
        before = self.stack.id, self.servers("front"), self.servers("store")
        self.run_task("heal", {"vnfcInstanceId": [self.vnfc("store")]})
        self.assertEqual(before[:2], (self.stack.id, self.servers("front")))
        self.assertEqual(set(), before[2] & self.servers("store"))
        self.assertEqual(parameters, self.stack.parameters)
        self.run_task("heal", self.whole())
        self.assertNotEqual(before[0], self.stack.id)
        self.assertEqual((2, 2), (self.size, len(self.servers("front"))))
        self.assertEqual(parameters, self.stack.parameters)
        self.run_task("scale", IN)
        self.assertEqual(1, self.size)
        self.run_task("terminate", TERMINATE)
        self.assertEqual({}, self.cloud.stacks)

    def test_values_of_its_own(self) -> None:
        self.start(user_data_v1.FIXED)
        self.assertEqual("good day", self.stack.parameters["greeting"])
        self.assertEqual("large", self.nfv["VDU"]["store"]["flavor"])
        parameters = self.stack.parameters
        self.run_task("heal", self.whole())
        self.assertEqual(parameters, self.stack.parameters)

    def test_methods_for_scale_and_heal(self) -> None:
        self.start(user_data_v1.METHODS, user_data_v1.IN_NFV)
        self.run_task("scale", OUT)
        self.assertEqual({"front_aspect": 2}, self.nfv["desired_capacity"])
        self.assertEqual(2, self.nfv["seen"]["scale"][-1])
        self.run_task("heal", {"vnfcInstanceId": [self.vnfc("store")]})
        self.assertEqual(["store"], self.nfv["seen"]["heal"])
        self.assertEqual("newer", self.nfv["VDU"]["store"]["image"])
        self.assertEqual((2, 2), (self.size, len(self.servers("front"))))

    def test_other_networks(self) -> None:
        self.start(user_data_v1.OF_VNFD)
        links = self.request()["extVirtualLinks"]
        links[0] |= {"id": "other", "resourceId": "net-2"}
        self.run_task("change_ext_conn", {"extVirtualLinks": links})
        networks = {p["network"] for p in self.nfv["CP"].values()}
        self.assertEqual({"net-2"}, networks)

    def test_a_stack_that_another_client_deleted(self) -> None:
        self.start(user_data_v1.OF_VNFD)
        self.run_task("scale", OUT)
        self.cloud.stacks.clear()
        self.run_task("heal", self.whole())
        self.assertEqual((2, 2), (self.size, len(self.servers("front"))))

    def test_rollback(self) -> None:
        self.start(user_data_v1.OF_VNFD)
        self.cloud.result = "FAILED"
        failed = self.run_task("scale", OUT, "FAILED_TEMP")
        self.assertEqual(2, self.size)
        path = f"{self.root}/vnf_lcm_op_occs/{failed['id']}"
        response = self.vnfm.call("POST", f"{path}/rollback")
        self.assertEqual(202, response.status)
        done = self.vnfm.wait_operation(path)
        self.assertEqual("ROLLED_BACK", done["operationState"], done)
        self.assertEqual(1, self.size)
        self.run_task("scale", OUT)
        self.assertEqual(2, self.size)


class TestLifecycleOfVersion1(TestLifecycle):
    """The same requests to version 1 of the API."""

    root = "/vnflcm/v1"

    def request(self) -> dict[str, Any]:
        request = super().request()
        for link in request["extVirtualLinks"]:
            for point in link["extCps"]:
                point["cpConfig"] = list(point["cpConfig"].values())
        return request

    def whole(self) -> dict[str, Any]:
        return {}


class TestRefused(UserDataCase):
    def check_refused(self, task: str, body: Any, message: str) -> None:
        response = self.task(task, body)
        self.assert_problem(400, response, message)
        self.assertEqual([], self.cloud.changes)

    def check_fails(self, message: str) -> None:
        """Check that the instantiation fails before there is a stack."""
        failed = self.run_task("instantiate", self.request(), "FAILED_TEMP")
        self.assertIn(message, failed["error"]["detail"])
        self.assertEqual([], self.cloud.changes)

    def test_operations_that_version_1_does_not_have(self) -> None:
        self.start(user_data_v1.OF_VNFD)
        self.check_refused(
            "change_vnfpkg",
            {
                "vnfdId": self.vnfm.onboard(self.useFixture(Csar("vnf"))),
                "additionalParams": {"upgrade_type": "RollingUpdate"},
            },
            f"{PATH} is user data of version 1, which does not know "
            "change_vnfpkg",
        )

    def test_a_request_may_name_other_user_data(self) -> None:
        self.start(user_data_v1.OF_VNFD)
        body = OUT | {"additionalParams": NAMED}
        # it does not set what the template of version 1 reads
        self.run_task("scale", body, "FAILED_TEMP")
        self.assertEqual(1, self.size)

    def test_a_file_that_the_package_does_not_name(self) -> None:
        self.create(user_data_v1.OF_VNFD)
        request = self.request()
        name = {"lcm-operation-user-data": "./UserData/missing.py"}
        request["additionalParams"] = PARAMETERS | name
        self.check_refused("instantiate", request, "no file")

    def test_a_template_that_reads_more(self) -> None:
        template = user_data_v1.IN_TEMPLATE.replace(
            "VDU, store, flavor", "VDU, other, flavor"
        )
        self.create(user_data_v1.OF_VNFD, template)
        self.check_fails("nfv.VDU.other.flavor: required by the template")

    def test_a_result_that_is_no_dict(self) -> None:
        text = user_data_v1.FIXED.replace("return {", "return 1 or {")
        self.create(text)
        self.check_fails("has to return a dict, the parameters of the stack")

    def test_a_class_that_is_defined_elsewhere(self) -> None:
        text = (
            "from UserData.start import Own as Start\nclass Own(Start): pass"
        )
        files = {"UserData/start.py": user_data_v1.OF_VNFD}
        self.create(text, **files)
        self.check_fails(
            f"{PATH}: Own is user data of version 1, but the file imports "
            "nothing of it"
        )

    def test_other_modules_of_the_reference(self) -> None:
        text = f"import tacker.extensions.vnfm\n{user_data_v1.OF_VNFD}"
        self.create(text)
        packages = self.vnfm.call("GET", "/vnfpkgm/v1/vnf_packages?all_fields")
        (warning,) = packages.json[0]["warnings"]
        self.assertEqual(
            f"{PATH} imports tacker.extensions.vnfm: requests that run it fail",
            warning,
        )
        self.check_fails("No module named 'tacker.extensions'")
