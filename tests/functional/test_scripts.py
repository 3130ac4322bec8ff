"""Management scripts of a package, run around the fake driver."""

import base64
import contextlib
import json
import os
import signal
import textwrap
from pathlib import Path
from typing import Any, Final

import testtools

from tacker_cnf.cmd import compose
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.scripts.limits import limits_of
from tests.fixtures import waiting
from tests.fixtures.clock import ManualClock
from tests.fixtures.crashing_conductor import expire_leases
from tests.fixtures.processes import is_running
from tests.fixtures.vnfm import FAKE_VIM, SAMPLES, Csar, Vnfm

#: seconds, more than any script takes; a lease has to be longer
TIMEOUT_S = 300.0
#: names that these tests read back
PUBLIC_NAMES = ["b", "stack", "step"]
FLAVOUR = "Definitions/five_kinds_df_small.yaml"
SCRIPT = "Scripts/hooks.py"
HOOKS = (
    "instantiate_start",
    "instantiate_end",
    "instantiate_rollback_start",
    "instantiate_rollback_end",
    "scale_start",
    "terminate_end",
)

RECORDING = """\
    import json
    from pathlib import Path
    from tacker_cnf.mgmt_drivers.base import MgmtDriver
    from tacker_cnf.sol import base

    class Driver(MgmtDriver):
        def write(self, script_input):
            with open({path!r}, "a") as file:
                file.write(base.encode(script_input).decode() + "\\n")

        {hooks}

    Driver.main()
"""


def flavour_with_scripts(*hooks: str) -> str:
    """Return the flavour's definition with a script at each hook."""
    interfaces = "".join(
        f"          {hook}: {{implementation: hooks}}\n" for hook in hooks
    )
    plain = (SAMPLES / "cnf" / FLAVOUR).read_text()
    return plain.replace(
        "        flavour_description: The Deployment alone\n",
        "        flavour_description: The Deployment alone\n"
        "      interfaces:\n        Vnflcm:\n"
        + interfaces
        + "      artifacts:\n"
        "        hooks:\n"
        "          type: tosca.artifacts.Implementation.Python\n"
        f"          file: ../{SCRIPT}\n",
    )


class ScriptCase(testtools.TestCase):
    hooks: tuple[str, ...] = HOOKS
    clock: Clock = SYSTEM_CLOCK

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(
            Vnfm(
                self.clock,
                scripts={"timeout": TIMEOUT_S},
                secrets={"public_names": PUBLIC_NAMES},
                conductor={"lease": 3 * TIMEOUT_S},
            )
        )
        self.inputs_path = Path(self.vnfm.state_path) / "seen"

    def instance(self, script: str, *hooks: str, **more: str) -> str:
        """Create an instance of a package with this script.

        :param hooks: the hooks that run it; none: the usual ones
        :param more: name -> text of other files of the package
        """
        files = {
            SCRIPT: textwrap.dedent(script),
            FLAVOUR: flavour_with_scripts(*(hooks or self.hooks)),
        }
        files |= {f"Scripts/{name}": text for name, text in more.items()}
        csar = self.useFixture(Csar(files=files))
        return self.vnfm.create(self.vnfm.onboard(csar))

    def lose_conductor(self) -> None:
        """Lose the conductor of the next operation in its INFRA step; another
        one resumes it.
        """

        def lose(call: Any) -> None:
            del self.vnfm.driver.before["apply"]
            expire_leases(self.vnfm.parts.store, call.task.operation_id)
            raise SystemExit  # what no except clause of ours catches

        self.vnfm.conf.set_override(
            "resume_infra", override=True, group="conductor"
        )
        self.vnfm.driver.before["apply"] = lose

    def instantiate(self, instance_id: str) -> Any:
        body = {"flavourId": "small", "vimConnectionInfo": FAKE_VIM}
        return self.vnfm.run(instance_id, "instantiate", body)

    def read_script_inputs(self) -> list[Any]:
        lines = self.inputs_path.read_text().splitlines()
        return [json.loads(line) for line in lines]

    def recording(self, body: str = "self.write(script_input)") -> str:
        hooks = "\n\n        ".join(
            f"def {hook}(self, script_input): {body}" for hook in self.hooks
        )
        return RECORDING.format(path=str(self.inputs_path), hooks=hooks)


class TestHooks(ScriptCase):
    def test_scripts_run_around_the_change(self) -> None:
        instance_id = self.instance(self.recording())
        end = self.instantiate(instance_id)
        self.assertEqual("COMPLETED", end["operationState"], end)
        before, after = self.read_script_inputs()
        self.assertEqual("instantiate_start", before["operation"])
        self.assertEqual(
            "NOT_INSTANTIATED", before["vnfInstance"]["instantiationState"]
        )
        self.assertEqual("small", before["request"]["flavourId"])
        self.assertEqual("instantiate_end", after["operation"])
        info = after["vnfInstance"]["instantiatedVnfInfo"]
        self.assertEqual(1, len(info["vnfcInfo"]))
        self.assertEqual(end["grantId"], after["grantResponse"]["id"])

    def test_only_named_hooks_run(self) -> None:
        instance_id = self.instance(self.recording())
        self.instantiate(instance_id)
        for task, body in (
            ("scale", {"type": "SCALE_OUT", "aspectId": "web_aspect"}),
            ("heal", {}),
            ("terminate", {"terminationType": "FORCEFUL"}),
        ):
            end = self.vnfm.run(instance_id, task, body)
            self.assertEqual("COMPLETED", end["operationState"], end)
        hooks = [
            script_input["operation"]
            for script_input in self.read_script_inputs()
        ]
        self.assertEqual(["scale_start", "terminate_end"], hooks[2:])

    def test_scripts_read_a_copy_of_the_package(self) -> None:
        body = (
            "import shutil; shutil.rmtree(script_input.package_dir); "
            "self.write(script_input)"
        )
        instance_id = self.instance(self.recording(body))
        end = self.instantiate(instance_id)
        self.assertEqual("COMPLETED", end["operationState"], end)
        for script_input in self.read_script_inputs():
            self.assertFalse(Path(script_input["packageDir"]).exists())
        tree = self.vnfm.unpacked(instance_id)
        self.assertTrue((tree.path / SCRIPT).is_file())

    def test_rollback_has_hooks_of_its_own(self) -> None:
        def fail(_task: Any) -> None:
            raise RuntimeError

        self.vnfm.driver.before["apply"] = fail
        instance_id = self.instance(self.recording())
        end = self.instantiate(instance_id)
        self.assertEqual("FAILED_TEMP", end["operationState"])
        end = self.vnfm.decide(end["id"], "rollback")
        self.assertEqual("ROLLED_BACK", end["operationState"], end)
        hooks = [
            script_input["operation"]
            for script_input in self.read_script_inputs()
        ]
        self.assertEqual(
            [
                "instantiate_start",
                "instantiate_rollback_start",
                "instantiate_rollback_end",
            ],
            hooks,
        )

    def test_data_of_a_failed_run_is_passed_to_the_retry(self) -> None:
        script = """\
            from tacker_cnf.mgmt_drivers.base import MgmtDriver

            class Driver(MgmtDriver):
                def instantiate_end(self, script_input):
                    if self.user_script_err_handling_data is None:
                        self.user_script_err_handling_data = {"step": 3}
                        raise RuntimeError("stopped at step 3")
                    assert self.user_script_err_handling_data == {"step": 3}

            Driver.main()
        """
        instance_id = self.instance(script, "instantiate_end")
        end = self.instantiate(instance_id)
        self.assertEqual("FAILED_TEMP", end["operationState"])
        detail = end["error"]["detail"]
        self.assertIn("Scripts/hooks.py (instantiate_end)", detail)
        self.assertIn("stopped at step 3", detail)
        self.assertEqual(
            {"step": 3}, end["error"]["userScriptErrHandlingData"]
        )
        end = self.vnfm.decide(end["id"], "retry")
        self.assertEqual("COMPLETED", end["operationState"], end)

    def test_the_protocol_of_tacker(self) -> None:
        script = f"""\
            import json
            import pickle
            import sys
            script_input = pickle.load(sys.stdin.buffer)
            with open({str(self.inputs_path)!r}, "a") as file:
                file.write(json.dumps(script_input) + "\\n")
            sys.stdout.buffer.write(pickle.dumps({{"vnf_instance": {{}}}}))
        """
        end = self.instantiate(self.instance(script))
        self.assertEqual("COMPLETED", end["operationState"], end)
        script_input = self.read_script_inputs()[1]
        self.assertEqual(
            {
                "operation",
                "request",
                "vnf_instance",
                "grant_request",
                "grant_response",
                "tmp_csar_dir",
                "user_script_err_handling_data",
            },
            set(script_input),
        )
        self.assertEqual("instantiate_end", script_input["operation"])
        self.assertEqual(
            "INSTANTIATED", script_input["vnf_instance"]["instantiationState"]
        )

    def test_the_environment_contains_no_secrets(self) -> None:
        os.environ["OS_PASSWORD"] = "s3cret"
        self.addCleanup(os.environ.pop, "OS_PASSWORD")
        script = f"""\
            import os
            with open({str(self.inputs_path)!r}, "w") as file:
                file.write(str(sorted(os.environ)))
        """
        self.instantiate(self.instance(script))
        self.assertNotIn("OS_PASSWORD", self.inputs_path.read_text())


class TestCopies(ScriptCase):
    """Changes of a script to its copy do not reach the stored package."""

    def test_a_large_file_is_copied(self) -> None:
        large = base64.b64encode(os.urandom(2 * 1024**2)).decode()
        script = f"""\
            import json, os, sys
            script_input = json.load(sys.stdin)
            path = script_input["packageDir"] + "/Scripts/image"
            with open({str(self.inputs_path)!r}, "w") as file:
                file.write(oct(os.stat(path).st_mode) + " " + path)
            os.chmod(path, 0o600)
            with open(path, "r+") as image:
                image.write("harm")
        """
        instance_id = self.instance(script, image=large)
        end = self.instantiate(instance_id)
        self.assertEqual("COMPLETED", end["operationState"], end)
        mode, _, path = self.inputs_path.read_text().partition(" ")
        self.assertEqual("0o100444", mode)
        root = Path(self.vnfm.state_path) / "scripts"
        self.assertTrue(Path(path).is_relative_to(root))
        self.assertEqual([], list(root.iterdir()))
        tree = self.vnfm.unpacked(instance_id)
        stored = (tree.path / "Scripts/image").read_text()
        self.assertTrue(stored == large)  # without 2 MiB in the message

    def test_a_package_that_cannot_be_copied(self) -> None:
        instance_id = self.instance(self.recording())
        (Path(self.vnfm.state_path) / "scripts").write_text("in the way")
        end = self.instantiate(instance_id)
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.assertIn("could not be copied", end["error"]["detail"])

    def test_copies_of_a_killed_conductor_are_deleted_at_the_next_start(
        self,
    ) -> None:
        leftover = Path(self.vnfm.state_path) / "scripts" / "left" / "package0"
        leftover.mkdir(parents=True)
        (leftover / "image").touch(0o444)
        leftover.chmod(0o500)
        other = compose.conductor(self.vnfm.parts, self.vnfm.nfvo)
        self.addCleanup(other.stop)
        other.start(self.vnfm.parts.transport)
        self.assertFalse(leftover.parent.exists())


class TestForceful(ScriptCase):
    """A failed script does not stop a FORCEFUL termination."""

    def run_terminate(self, how: str) -> Any:
        script = "import sys; sys.exit('still in use')"
        instance_id = self.instance(script, "terminate_start", "terminate_end")
        self.instantiate(instance_id)
        body = {"terminationType": how}
        return self.vnfm.run(instance_id, "terminate", body)

    def test_forceful(self) -> None:
        end = self.run_terminate("FORCEFUL")
        self.assertEqual("COMPLETED", end["operationState"], end)
        found = self.vnfm.instance(end["vnfInstanceId"])
        self.assertEqual("NOT_INSTANTIATED", found["instantiationState"])
        for hook in ("terminate_start", "terminate_end"):
            self.assertIn(
                f"Script {SCRIPT} ({hook}): it ended with exit code 1: "
                "still in use\nThe termination is FORCEFUL and continues.",
                end["scriptLog"],
            )

    def test_graceful(self) -> None:
        end = self.run_terminate("GRACEFUL")
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.assertIn("(terminate_start)", end["error"]["detail"])
        found = self.vnfm.instance(end["vnfInstanceId"])
        self.assertEqual("INSTANTIATED", found["instantiationState"])


class TestOutput(ScriptCase):
    """The output of a script changes the instance, where it is allowed."""

    def instantiate_printing(self, body: str) -> tuple[Any, str]:
        """Instantiate with a script that prints an instance; return the
        operation and the instance's id.
        """
        script = f"""\
            import json, sys
            script_input = json.load(sys.stdin)
            if script_input["operation"] == "instantiate_end":
                instance = script_input["vnfInstance"]
                {body}
                print(json.dumps({{"vnfInstance": instance}}))
        """
        instance_id = self.instance(script)
        return self.instantiate(instance_id), instance_id

    def test_attributes(self) -> None:
        end, instance_id = self.instantiate_printing(
            "instance['metadata'] = {'a': 1}; "
            "instance['extensions'] = {'b': {}}; "
            "instance['vnfConfigurableProperties'] = {'c': None}"
        )
        self.assertEqual("COMPLETED", end["operationState"], end)
        found = self.vnfm.instance(instance_id)
        self.assertEqual({"a": 1}, found["metadata"])
        self.assertEqual({"b": {}}, found["extensions"])
        self.assertEqual({"c": None}, found["vnfConfigurableProperties"])

    def test_other_attributes_cannot_be_changed(self) -> None:
        end, instance_id = self.instantiate_printing(
            "instance.update(id='x', vnfdId='x', vnfProvider='x', "
            "vnfInstanceName='x', instantiationState='NOT_INSTANTIATED', "
            "vimConnectionInfo={}); "
            "instance['instantiatedVnfInfo'].update(flavourId='x', "
            "vnfState='STOPPED', scaleStatus=[])"
        )
        self.assertEqual("COMPLETED", end["operationState"], end)
        found = self.vnfm.instance(instance_id)
        self.assertNotIn("x", json.dumps([found["vnfdId"], found["id"]]))
        self.assertEqual("INSTANTIATED", found["instantiationState"])
        info = found["instantiatedVnfInfo"]
        self.assertEqual("small", info["flavourId"])
        self.assertEqual("STARTED", info["vnfState"])
        self.assertEqual(["vim1"], list(found["vimConnectionInfo"]))

    def test_resources(self) -> None:
        end, instance_id = self.instantiate_printing(
            "info = instance['instantiatedVnfInfo']; "
            "info['vnfcResourceInfo'][0]['id'] = 'other'; "
            "info['metadata'] = {'stack': 7}"
        )
        self.assertEqual("COMPLETED", end["operationState"], end)
        info = self.vnfm.instance(instance_id)["instantiatedVnfInfo"]
        self.assertEqual("web-other", info["vnfcInfo"][0]["id"])
        self.assertEqual("other", info["vnfcInfo"][0]["vnfcResourceInfoId"])
        self.assertEqual({"stack": 7}, info["metadata"])
        (affected,) = end["resourceChanges"]["affectedVnfcs"]
        self.assertEqual("other", affected["id"])

    def test_invalid_changes(self) -> None:
        found = "instance['instantiatedVnfInfo']['vnfcResourceInfo']"
        for body, message in (
            (f"{found}[0]['vduId'] = 'moon'", f"{SCRIPT} (instantiate_end)"),
            (f"{found}[0]['vduId'] = 'moon'", "names VDU moon"),
            (f"{found} *= 2", "twice"),
            (f"{found} = [1]", "instantiatedVnfInfo.vnfcResourceInfo[0]"),
            ("instance['metadata'] = 'text'", "$.vnfInstance.metadata"),
        ):
            end, _ = self.instantiate_printing(body)
            self.assertEqual("FAILED_TEMP", end["operationState"], body)
            self.assertIn(message, end["error"]["detail"])
            end = self.vnfm.decide(end["id"], "rollback")
            self.assertEqual("ROLLED_BACK", end["operationState"])

    def test_tackers_protocol(self) -> None:
        script = """\
            import pickle
            import sys
            script_input = pickle.load(sys.stdin.buffer)
            instance = script_input["vnf_instance"]
            instance["metadata"] = {"by": script_input["operation"]}
            sys.stdout.buffer.write(pickle.dumps({"vnf_instance": instance}))
        """
        instance_id = self.instance(script)
        end = self.instantiate(instance_id)
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertEqual(
            {"by": "instantiate_end"},
            self.vnfm.instance(instance_id)["metadata"],
        )

    def test_changes_by_a_driver_class(self) -> None:
        script = """\
            from tacker_cnf.lcm.script_output import InstanceChanges
            from tacker_cnf.mgmt_drivers.base import MgmtDriver

            class Driver(MgmtDriver):
                def instantiate_end(self, script_input):
                    metadata = script_input.vnf_instance.metadata
                    self.changes = InstanceChanges(
                        metadata={**metadata, "licence": 12}
                    )

            Driver.main()
        """
        instance_id = self.instance(script, "instantiate_end")
        self.instantiate(instance_id)
        found = self.vnfm.instance(instance_id)
        self.assertEqual({"licence": 12}, found["metadata"])

    def test_changes_of_a_start_hook_survive_a_lost_conductor(self) -> None:
        script = """\
            from tacker_cnf.lcm.script_output import InstanceChanges
            from tacker_cnf.mgmt_drivers.base import MgmtDriver

            class Driver(MgmtDriver):
                def instantiate_start(self, script_input):
                    self.changes = InstanceChanges(metadata={"begun": 1})

            Driver.main()
        """
        self.lose_conductor()
        instance_id = self.instance(script, "instantiate_start")
        end = self.instantiate(instance_id)
        self.assertEqual("COMPLETED", end["operationState"], end)
        found = self.vnfm.instance(instance_id)
        self.assertEqual({"begun": 1}, found["metadata"])


class TestLog(ScriptCase):
    """The stderr of a script is stored, without secrets."""

    vim: Final = {
        "vim1": {
            "vimType": "fake",
            "interfaceInfo": {"endpoint": "x"},
            "accessInfo": {"password": "hunter-2", "username": "ops"},
        }
    }

    def run_script(self, script: str, **request: Any) -> Any:
        body = {"flavourId": "small", "vimConnectionInfo": self.vim} | request
        instance_id = self.instance(script)
        return self.vnfm.run(instance_id, "instantiate", body)

    def test_invalid_output_reveals_no_secret(self) -> None:
        end = self.run_script(
            "import pickle, sys; sys.stdin.buffer.read(); "
            r"sys.stdout.buffer.write(b'cposix\nhunter-2\n.')"
        )
        detail = end["error"]["detail"]
        self.assertIn("posix.*** is not plain data", detail)

    def test_it_is_stored(self) -> None:
        end = self.run_script(
            "import sys; print('two', 'words', file=sys.stderr)"
        )
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertEqual(
            "instantiate_start, Scripts/hooks.py:\ntwo words\n"
            "instantiate_end, Scripts/hooks.py:\ntwo words\n",
            end["scriptLog"],
        )
        path = "/vnflcm/v2/vnf_lcm_op_occs"
        (listed,) = self.vnfm.call("GET", path).json
        self.assertNotIn("scriptLog", listed)
        (listed,) = self.vnfm.call("GET", f"{path}?all_fields").json
        self.assertIn("scriptLog", listed)

    def test_it_is_shown_while_the_script_runs(self) -> None:
        script = f"""\
            import os, sys, time
            print("first words", file=sys.stderr, flush=True)
            print("a line that", end="", file=sys.stderr, flush=True)
            until = time.monotonic() + 120
            while not os.path.exists({str(self.inputs_path)!r}):
                assert time.monotonic() < until, "no client read it"
                time.sleep(0.01)
            print(" ends", file=sys.stderr)
        """
        instance_id = self.instance(script, "instantiate_end")
        body = {"flavourId": "small", "vimConnectionInfo": FAKE_VIM}
        response = self.vnfm.task(instance_id, "instantiate", body)
        place = response.headers["Location"]
        head = f"instantiate_end, {SCRIPT}:\nfirst words\n"
        waiting.until(
            lambda: self.vnfm.call("GET", place).json.get("scriptLog") == head,
            "what the script wrote",
        )
        self.inputs_path.touch()
        end = self.vnfm.wait_operation(place)
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertEqual(f"{head}a line that ends\n", end["scriptLog"])

    def test_without_secrets(self) -> None:
        script = """\
            import json, sys
            script_input = json.load(sys.stdin)
            request = script_input["request"]
            vim = script_input["vnfInstance"].get("vimConnectionInfo") or {}
            print(vim or request["vimConnectionInfo"], file=sys.stderr)
            print(request["additionalParams"], file=sys.stderr)
            sys.exit(1)
        """
        key = "-----BEGIN KEY-----\nMIIabc\n-----END KEY-----"
        end = self.run_script(script, additionalParams={"ki": key})
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        for text in (end["scriptLog"], end["error"]["detail"]):
            self.assertNotIn("hunter", text)
            self.assertNotIn("MIIabc", text)
            self.assertIn("'password': '***'", text)
            self.assertIn("'username': 'ops'", text)

    def test_bounded(self) -> None:
        script = """\
            import sys
            for number in range(100_000):
                print("line", number, file=sys.stderr)
        """
        end = self.run_script(script)
        self.assertEqual("COMPLETED", end["operationState"], end)
        first, second = end["scriptLog"].split("instantiate_end", 1)
        self.assertLess(len(first), 70_000)
        self.assertIn("line 99999", first)
        self.assertIn("line 99999", second)
        self.assertNotIn("line 10\n", first)

    def test_vims_are_passed_with_credentials(self) -> None:
        script = self.recording()
        self.run_script(script)
        (vim,) = self.read_script_inputs()[1]["vnfInstance"][
            "vimConnectionInfo"
        ].values()
        self.assertEqual("hunter-2", vim["accessInfo"]["password"])

    def test_vims_are_passed_without_credentials(self) -> None:
        self.vnfm.conf.set_override(
            "vim_credentials", group="scripts", override=False
        )
        self.vnfm.conductor._script_limits = limits_of(self.vnfm.conf)
        self.run_script(self.recording())
        script_input = self.read_script_inputs()[1]
        (vim,) = script_input["vnfInstance"]["vimConnectionInfo"].values()
        self.assertEqual({"username": "ops"}, vim["accessInfo"])
        self.assertNotIn("hunter", json.dumps(script_input))


class TestResume(ScriptCase):
    def test_a_script_that_ended_is_not_run_again(self) -> None:
        """Its conductor was lost in the step after the script."""
        instance_id = self.instance(self.recording())
        self.lose_conductor()
        end = self.instantiate(instance_id)
        self.assertEqual("COMPLETED", end["operationState"], end)
        hooks = [
            script_input["operation"]
            for script_input in self.read_script_inputs()
        ]
        self.assertEqual(["instantiate_start", "instantiate_end"], hooks)


class TestMisbehaviour(ScriptCase):
    """However a script ends, the conductor continues and reports it."""

    def instantiate_failing(self, script: str) -> str:
        instance_id = self.instance(script)
        end = self.instantiate(instance_id)
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.assertEqual(422, end["error"]["status"])
        end_of_it = self.vnfm.decide(end["id"], "fail")
        self.assertEqual("FAILED", end_of_it["operationState"])
        return str(end["error"]["detail"])

    def test_exit_code(self) -> None:
        detail = self.instantiate_failing("import sys; sys.exit('no licence')")
        self.assertIn("exit code 1: no licence", detail)

    def test_syntax_error(self) -> None:
        self.assertIn("SyntaxError", self.instantiate_failing("def"))

    def test_killed(self) -> None:
        script = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
        self.assertIn("killed by SIGKILL", self.instantiate_failing(script))

    def test_killed_by_a_signal_without_a_name(self) -> None:
        script = "import os; os.kill(os.getpid(), 35)"
        self.assertIn("killed by signal 35", self.instantiate_failing(script))

    def test_a_hook_without_a_method(self) -> None:
        script = """\
            from tacker_cnf.mgmt_drivers.base import MgmtDriver

            class Licence(MgmtDriver):
                def instantiate_stop(self, script_input): pass

            Licence.main()
        """
        detail = self.instantiate_failing(script)
        message = "exit code 1: class Licence has no method instantiate_start"
        self.assertIn(message, detail)

    def test_a_class_without_a_call_of_main(self) -> None:
        script = """\
            import tacker_cnf.mgmt_drivers.base as ours

            class Driver(ours.MgmtDriver):
                def instantiate_start(self, script_input): pass

            print(end="")
        """
        reads = script.replace('print(end="")', "open(0).read()")
        for one in (script, reads):
            detail = self.instantiate_failing(one)
            self.assertIn("wrote no output on stdout", detail)
            self.assertIn("has to end with a call of main()", detail)

    def test_the_cause_comes_first(self) -> None:
        script = """\
            import sys
            print("asking for a licence", file=sys.stderr)
            try:
                {}["licence"]
            except KeyError as error:
                raise RuntimeError("no licence:\\nask for one") from error
        """
        message = "it ended with exit code 1: RuntimeError: no licence:"
        self.assertEqual(
            [
                f"Script {SCRIPT} (instantiate_start): {message}",
                "ask for one",
                "",
                "The end of what it wrote:",
                "asking for a licence",
            ],
            self.instantiate_failing(script).split("\n")[:5],
        )

    def test_garbage_on_stdout(self) -> None:
        detail = self.instantiate_failing("print('hello')")
        self.assertIn("output on stdout is not valid", detail)

    def test_flood_on_stdout(self) -> None:
        script = "import sys; sys.stdout.write('x' * 5_000_000)"
        self.assertIn(
            "more than 1048576 bytes", self.instantiate_failing(script)
        )

    def test_flood_on_stderr(self) -> None:
        script = """\
            import sys
            sys.stderr.write('y' * 5_000_000 + 'the end')
            sys.exit(3)
        """
        detail = self.instantiate_failing(script)
        self.assertIn("exit code 3", detail)
        self.assertIn("the end", detail)
        self.assertLess(len(detail), 3000)

    def test_a_pickle_of_a_script_for_tacker(self) -> None:
        """Its content is not executed."""
        for dumped, message in (
            ("b'nonsense'", "no plain pickle"),
            ("pickle.dumps(print)", "builtins.print is not plain data"),
            ("pickle.dumps({'vnf_instance': [1]})", "$.vnfInstance"),
        ):
            script = f"""\
                import pickle, sys
                sys.stdout.buffer.write({dumped})
            """
            self.assertIn(message, self.instantiate_failing(script), dumped)

    def test_a_result_too_deep(self) -> None:
        self.assertIn(
            "output on stdout is not valid",
            self.instantiate_failing("print('['*100000 + ']'*100000)"),
        )

    def test_deleting_its_directories(self) -> None:
        script = """\
            import json, os, shutil, sys
            script_input = json.load(sys.stdin)
            shutil.rmtree(script_input["packageDir"])
            shutil.rmtree(os.environ["HOME"])
            sys.exit("all deleted")
        """
        self.assertIn("all deleted", self.instantiate_failing(script))
        self.assertEqual(
            "COMPLETED", self.instantiate_again()["operationState"]
        )

    def instantiate_again(self) -> Any:
        """Instantiate from a package with a script that does nothing."""
        return self.instantiate(self.instance(""))

    def test_leaving_a_child_process(self) -> None:
        """Processes outside the process group are killed with the script."""
        script = f"""\
            import os, time
            before = len(open({str(self.inputs_path)!r}).readlines())
            for _ in range(20):
                if os.fork() == 0:
                    os.setsid()
                    if os.fork() == 0:
                        with open({str(self.inputs_path)!r}, "a") as file:
                            file.write(f"{{os.getpid()}}\\n")
                        time.sleep(60)
                    os._exit(0)
            while len(open({str(self.inputs_path)!r}).readlines()) < before + 20:
                time.sleep(0.01)
        """
        self.inputs_path.touch()
        end = self.instantiate(self.instance(script))
        self.assertEqual("COMPLETED", end["operationState"], end)
        pids = [int(pid) for pid in self.inputs_path.read_text().split()]
        self.assertEqual(20 * 2, len(pids))  # of two hooks
        self.assertEqual([], [pid for pid in pids if is_running(pid)])

    def test_too_much_memory(self) -> None:
        self.assertIn(
            "MemoryError", self.instantiate_failing("x = bytearray(3 << 30)")
        )

    def test_stopping_its_supervisor(self) -> None:
        """It is continued, so that it can end; if it is stopped again and
        again, all processes are killed from outside.
        """
        script = f"""\
            import os, signal, time
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    with open({str(self.inputs_path)!r}, "a") as file:
                        file.write(f"{{os.getpid()}}\\n")
                    time.sleep(300)
                os._exit(0)
            while True:
                os.kill(os.getppid(), signal.SIGSTOP)
        """
        instance_id = self.instance(script)
        body = {"flavourId": "small", "vimConnectionInfo": FAKE_VIM}
        response = self.vnfm.task(instance_id, "instantiate", body)
        waiting.until(
            lambda: self.inputs_path.exists() and self.inputs_path.read_text(),
            "the script",
        )
        place = response.headers["Location"]
        how = {"cancelMode": "FORCEFUL"}
        self.assertEqual(
            202, self.vnfm.call("POST", f"{place}/cancel", how).status
        )
        end = self.vnfm.wait_operation(place, timeout=120)
        self.assertIn("was cancelled", end["error"]["detail"])
        (pid,) = self.inputs_path.read_text().split()
        self.assertFalse(is_running(int(pid)))

    def test_leaving_a_child_process_with_its_pipes(self) -> None:
        """A script that kills its supervisor can leave a process, no pipes."""
        script = f"""\
            import os, signal, time
            supervisor = os.getppid()
            if os.fork() == 0:
                os.setsid()
                with open({str(self.inputs_path)!r}, "w") as file:
                    file.write(str(os.getpid()))
                os.kill(supervisor, signal.SIGKILL)
                time.sleep(300)
            time.sleep(300)
        """
        self.addCleanup(self.kill_leftover_process)
        before = self.count_pipes()
        self.assertIn("killed by SIGKILL", self.instantiate_failing(script))
        self.assertEqual(before, self.count_pipes())

    def kill_leftover_process(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(self.inputs_path.read_text()), signal.SIGKILL)

    def count_pipes(self) -> int:
        """Count the pipes of this process."""
        links = []
        for handle in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                links.append(str(handle.readlink()))
        return sum(link.startswith("pipe:") for link in links)


class TestTimeout(ScriptCase):
    def setUp(self) -> None:
        self.clock = self.manual_clock = ManualClock()
        super().setUp()

    def test_hanging_with_children(self) -> None:
        script = f"""\
            import os, subprocess, time
            child = subprocess.Popen(["sleep", "600"])
            path = {str(self.inputs_path)!r}
            with open(path + ".new", "w") as file:
                file.write(str(child.pid))
            os.rename(path + ".new", path)
            time.sleep(600)
        """
        instance_id = self.instance(script)
        body = {"flavourId": "small", "vimConnectionInfo": FAKE_VIM}
        response = self.vnfm.task(instance_id, "instantiate", body)
        waiting.until(self.inputs_path.exists, "the start of the script")
        self.manual_clock.advance(TIMEOUT_S)
        end = self.vnfm.wait_operation(response.headers["Location"])
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.assertIn(
            f"did not end within {TIMEOUT_S:.0f} s", end["error"]["detail"]
        )
        self.assertFalse(is_running(int(self.inputs_path.read_text())))
