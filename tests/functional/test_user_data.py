"""User data of a package, run in a process."""

import concurrent.futures
import contextlib
import dataclasses
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fixtures
import msgspec
import testtools
import yaml

from samples import build
from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.context import REQUEST_ID_VARIABLE
from tacker_cnf.drivers.base import InfraTask, PackageCall, TaskContext
from tacker_cnf.drivers.openstack.stack_fields import (
    StackFields,
)
from tacker_cnf.drivers.openstack.userdata import ChosenUserData
from tacker_cnf.lcm.change import Change
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.scripts.limits import limits_of
from tacker_cnf.sol.lcm_request import InstantiateVnfRequest
from tacker_cnf.vnfd import code_files, csar, descriptor
from tests.factories import an_instance
from tests.fixtures import waiting

SAMPLE = Path(build.__file__).parent / "vnf"
INSTANCE = "6b1d2f0c-8a35-4e9b-bd17-0c4f7e2a9d51"
PATH = "lcm-operation-user-data"
CLASS = "lcm-operation-user-data-class"
LINK = {
    "id": "outside",
    "resourceId": "net-1",
    "extCps": [
        {"cpdId": "front_cp", "cpConfig": {"a": {"linkPortId": "p"}}},
        {"cpdId": "store_cp", "cpConfig": {"b": {"linkPortId": "q"}}},
    ],
}
#: user data that is written for Tacker
TACKER_USER_DATA = """
    import yaml

    from tacker.sol_refactored.common import common_script_utils
    from tacker.sol_refactored.common import vnf_instance_utils as inst_utils
    from tacker.sol_refactored.infra_drivers.openstack import userdata_utils
    from tacker.sol_refactored.infra_drivers.openstack.userdata_default \\
        import DefaultUserData
    from tacker.sol_refactored.infra_drivers.openstack.userdata_standard \\
        import StandardUserData
    from UserData import sibling

    assert not hasattr(userdata_utils.AbstractUserData, "nothing")
    assert StandardUserData.heal

    class Mine(userdata_utils.AbstractUserData):
        @staticmethod
        def instantiate(req, inst, grant_req, grant, tmp_csar_dir):
            vnfd = userdata_utils.get_vnfd(inst["vnfdId"], tmp_csar_dir)
            hot = vnfd.get_base_hot(req["flavourId"])["template"]
            nfv = common_script_utils.init_nfv_dict(hot)
            front = nfv["VDU"]["front"]
            front["vcImageId"] = userdata_utils.get_param_image(
                "front", req["flavourId"], vnfd, grant)
            nfv = inst_utils.json_merge_patch(nfv, {"CP": None})
            return {
                "template": yaml.safe_dump(hot),
                "parameters": {"nfv": nfv, "asked": sibling.ASKED},
                "files": {},
            }

        scale = change_ext_conn = heal = instantiate
"""


class UserDataCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        root = Path(self.useFixture(fixtures.TempDir()).path)
        self.folder = root / "tree"
        opened = csar.unpack(build.build(SAMPLE, root / "a.csar"), self.folder)
        vnfd = descriptor.read(self.folder, opened.entry_definitions).vnfd
        vnfd = code_files.with_listed(vnfd, opened.artifacts)
        self.package = UnpackedPackage(
            content_id="x", path=self.folder, vnfd=vnfd
        )
        conf = configuration.load([])
        conf.set_override("isolation", "none", "scripts")
        conf.set_override("run", "all", "scripts")
        conf.set_override("timeout", 60.0, "scripts")
        conf.set_override("max_output_bytes", 100_000, "scripts")
        self.user_data = ChosenUserData(limits_of(conf))
        self.cancel_token = CancelToken()
        self.log = ""
        self.places: list[str] = []

    def build_task(self, **parameters: Any) -> InfraTask:
        request = build_request(parameters)
        return InfraTask(
            instance=an_instance(
                id=INSTANCE,
                vnfd_id=self.package.vnfd.id,
                vim_connection_info=request.vim_connection_info,
            ),
            package=self.package,
            vim_connections={},
            change=Change(current=None, desired=None, parameters=parameters),
            package_call=PackageCall.of_request("instantiate", request),
        )

    def compute_fields(self, **parameters: Any) -> StackFields:
        context = TaskContext(
            deadline=Deadline.within(120),
            cancel_token=self.cancel_token,
            save_log=self.save_log,
            script_place=self.script_place,
        )
        return self.user_data.fields(self.build_task(**parameters), context)

    def save_log(self, line: str) -> None:
        self.log += line

    @contextlib.contextmanager
    def script_place(self, _seconds: float) -> Iterator[None]:
        self.places.append("entered")
        yield
        self.places.append("left")

    def write(
        self, text: str, name: str = "mine.py", *, listed: bool = True
    ) -> None:
        """Write a file, which the metadata of the package lists, or not."""
        path = f"UserData/{name}"
        (self.folder / path).write_text(textwrap.dedent(text))
        if listed:
            vnfd = self.package.vnfd
            named = (*(vnfd.named_files or ()), path)
            vnfd = msgspec.structs.replace(vnfd, named_files=named)
            self.package = dataclasses.replace(self.package, vnfd=vnfd)

    def call_user_data(self, path: str, class_name: str) -> StackFields:
        return self.compute_fields(**{PATH: path, CLASS: class_name})

    def run_failing(self, body: str) -> str:
        """Run a method that fails; return the error."""
        body = textwrap.indent(textwrap.dedent(body), " " * 8)
        self.write(
            "class Mine:\n    @staticmethod\n"
            f"    def instantiate(*arguments):\n{body}\n"
        )
        error = self.assertRaises(
            errors.ScriptFailed,
            self.call_user_data,
            "UserData/mine.py",
            "Mine",
        )
        self.assertIn("UserData/mine.py, Mine (instantiate)", str(error))
        return str(error)


def build_request(parameters: Any) -> InstantiateVnfRequest:
    access = {"username": "me", "password": "hunter2"}
    body = {
        "flavourId": "simple",
        "extVirtualLinks": [LINK],
        "vimConnectionInfo": {"a": {"vimType": "x", "accessInfo": access}},
        "additionalParams": parameters,
    }
    return msgspec.convert(body, InstantiateVnfRequest)


class TestNames(UserDataCase):
    def test_both_or_neither(self) -> None:
        self.user_data.check(self.build_task())
        self.user_data.check(
            self.build_task(
                **{PATH: "./UserData/named.py", CLASS: "NamedUserData"}
            )
        )
        for parameters, message in (
            ({PATH: "UserData/named.py"}, CLASS),
            ({CLASS: "NamedUserData"}, PATH),
            ({PATH: 1, CLASS: "NamedUserData"}, PATH),
            ({PATH: "UserData/missing.py", CLASS: "Mine"}, "no file"),
            ({PATH: "../../etc/passwd", CLASS: "Mine"}, "no file"),
            ({PATH: "UserData/named.py", CLASS: "a b"}, "a Python class"),
        ):
            error = self.assertRaises(
                errors.InvalidParameters,
                self.user_data.check,
                self.build_task(**parameters),
            )
            self.assertIn(message, str(error))

    def test_a_rollback_needs_it_in_the_old_package(self) -> None:
        former_package = Path(self.useFixture(fixtures.TempDir()).path)
        task = self.build_task(
            **{PATH: "UserData/named.py", CLASS: "NamedUserData"}
        )
        package = dataclasses.replace(self.package, path=former_package)
        task = dataclasses.replace(task, current_package=package)
        error = self.assertRaises(
            errors.InvalidParameters, self.user_data.check, task
        )
        self.assertIn("is not in the current VNF package", str(error))
        (former_package / "UserData").mkdir()
        (former_package / "UserData" / "named.py").touch()
        self.user_data.check(task)

    def test_the_default_user_data(self) -> None:
        fields = self.compute_fields()
        nfv = fields.parameters["nfv"]
        self.assertEqual("m1.tiny", nfv["VDU"]["front"]["computeFlavourId"])
        self.assertFalse(fields.existing)
        self.assertEqual({"front.yaml"}, fields.files.keys())


class TestScripts(UserDataCase):
    def test_the_samples(self) -> None:
        result = self.call_user_data("./UserData/named.py", "NamedUserData")
        assert result.template is not None
        description = yaml.safe_load(result.template)["description"]
        self.assertEqual(f"Front and Store of {INSTANCE}", description)
        self.assertIn(f"a stack for {INSTANCE}", self.log)

    def test_it_runs_in_a_place_for_scripts(self) -> None:
        self.compute_fields()  # the default runs in this process
        self.assertEqual([], self.places)
        self.call_user_data("./UserData/named.py", "NamedUserData")
        self.assertEqual(["entered", "left"], self.places)

    def test_user_data_that_was_written_for_tacker(self) -> None:
        self.write("ASKED = 'for Tacker'\nprint('noise')", "sibling.py")
        self.write(TACKER_USER_DATA)
        result = self.call_user_data("UserData/mine.py", "Mine")
        self.assertEqual("for Tacker", result.parameters["asked"])
        nfv = result.parameters["nfv"]
        self.assertEqual("cirros", nfv["VDU"]["front"]["vcImageId"])
        self.assertNotIn("CP", nfv)
        assert result.template is not None
        self.assertIn("front_group", result.template)
        self.assertTrue(result.existing)
        self.assertIn("noise", self.log)

    def test_it_receives_no_credentials(self) -> None:
        self.write(
            """
            import json, os
            class Mine:
                @staticmethod
                def instantiate(*arguments):
                    return {"parameters": {"arguments": json.dumps(arguments),
                                           "environ": dict(os.environ)}}
            """
        )
        parameters = self.call_user_data("UserData/mine.py", "Mine").parameters
        self.assertIn("vimConnectionInfo", parameters["arguments"])
        self.assertNotIn("hunter2", parameters["arguments"])
        environ = {"HOME", "TMPDIR", "PATH", "LANG", "LC_ALL", "TZ"}
        allowed_variables = environ | {
            "PYTHONPATH",
            "LC_CTYPE",
            REQUEST_ID_VARIABLE,
        }
        self.assertEqual(
            set(), parameters["environ"].keys() - allowed_variables
        )


class TestFailures(UserDataCase):
    def test_raising(self) -> None:
        error = self.run_failing("raise ValueError('of the package')")
        self.assertIn("ValueError: of the package", error)
        self.assertIn("UserData/mine.py", error)
        # the arguments of the call are not shown
        self.assertNotIn("child.py", error)

    def test_invalid_results(self) -> None:
        self.assertIn(
            "JSON", self.run_failing("return {'template': object()}")
        )
        self.assertIn("template", self.run_failing("return {'template': {}}"))
        self.assertIn(
            "nfv", self.run_failing("return {'parameters': {'nfv': 1}}")
        )

    def test_a_missing_class_or_method(self) -> None:
        self.write("class Mine: pass")
        for name in ("Mine", "Yours"):
            error = self.assertRaises(
                errors.ScriptFailed,
                self.call_user_data,
                "UserData/mine.py",
                name,
            )
            self.assertIn("AttributeError", str(error))

    def test_a_result_that_is_too_large(self) -> None:
        error = self.run_failing("return {'template': 'x' * 1_000_000}")
        self.assertIn("more than 100000 bytes", error)

    def test_cancelled(self) -> None:
        runs = self.folder.parent / "runs"
        self.write(
            f"""
            import pathlib, threading
            class Mine:
                @staticmethod
                def instantiate(*arguments):
                    pathlib.Path({str(runs)!r}).touch()
                    threading.Event().wait()
            """
        )

        def cancel() -> None:
            waiting.until(runs.exists, "the start", 60)
            self.cancel_token.cancel(
                errors.Cancelled("no more"), forceful=True
            )

        with concurrent.futures.ThreadPoolExecutor() as pool:
            done = pool.submit(cancel)
            self.assertRaises(
                errors.Cancelled,
                self.call_user_data,
                "UserData/mine.py",
                "Mine",
            )
            done.result()

    def test_it_does_not_end(self) -> None:
        conf = configuration.load([])
        conf.set_override("isolation", "none", "scripts")
        conf.set_override("run", "all", "scripts")
        conf.set_override("timeout", 5.0, "scripts")
        self.user_data = ChosenUserData(limits_of(conf))
        error = self.run_failing("import threading; threading.Event().wait()")
        self.assertIn("did not end within 5 s", error)


class TestNamedFiles(UserDataCase):
    """A request chooses among the files that the package names."""

    other = "UserData/other.py"
    content = """
        class Mine:
            @staticmethod
            def instantiate(*arguments):
                return {"parameters": {"ran": True}}
    """

    def setUp(self) -> None:
        super().setUp()
        self.write(self.content, "other.py", listed=False)

    def objection(self, path: str) -> str:
        task = self.build_task(**{PATH: path, CLASS: "Mine"})
        error = self.assertRaises(
            errors.InvalidParameters, self.user_data.check, task
        )
        return str(error)

    def test_a_file_that_is_not_named(self) -> None:
        objection = self.objection(f"./UserData/../{self.other}")
        self.assertIn(f"{self.other!r} may not run", objection)
        self.assertIn("UserData/named.py, UserData/single.py", objection)
        error = self.assertRaises(
            errors.ScriptFailed, self.call_user_data, self.other, "Mine"
        )
        self.assertIn("may not run", str(error))

    def test_a_file_that_is_no_module(self) -> None:
        for path in ("TOSCA-Metadata/TOSCA.meta", self.package.vnfd.files[0]):
            self.assertIn("has to be a Python file", self.objection(path))

    def test_the_option(self) -> None:
        limits = dataclasses.replace(
            self.user_data._limits, unlisted_files=True
        )
        self.user_data = ChosenUserData(limits)
        fields = self.call_user_data(self.other, "Mine")
        self.assertEqual({"ran": True}, fields.parameters)

    def test_a_package_of_an_earlier_release(self) -> None:
        """It does not record the names."""
        vnfd = msgspec.structs.replace(self.package.vnfd, named_files=None)
        self.package = dataclasses.replace(self.package, vnfd=vnfd)
        fields = self.call_user_data(self.other, "Mine")
        self.assertEqual({"ran": True}, fields.parameters)

    def test_the_package_that_a_rollback_runs(self) -> None:
        vnfd = self.package.vnfd
        named = (*(vnfd.named_files or ()), self.other)
        self.package = dataclasses.replace(
            self.package,
            vnfd=msgspec.structs.replace(vnfd, named_files=named),
        )
        task = self.build_task(**{PATH: self.other, CLASS: "Mine"})
        self.user_data.check(task)
        before = dataclasses.replace(self.package, vnfd=vnfd)
        task = dataclasses.replace(task, current_package=before)
        error = self.assertRaises(
            errors.InvalidParameters, self.user_data.check, task
        )
        self.assertIn("may not run", str(error))
