"""Management scripts of a package, really run, around the fake VIM."""

import json
import os
import textwrap
from pathlib import Path
from typing import Any

import testtools

from tests.fixtures.vnfm import FAKE_VIM, SAMPLES, Csar, Vnfm

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
        def write(self, told):
            with open({path!r}, "a") as file:
                file.write(base.encode(told).decode() + "\\n")

        {hooks}

    Driver.main()
"""


class ScriptCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(Vnfm(scripts={"timeout": 5.0}))
        self.seen = Path(self.vnfm.state_path) / "seen"

    def flavour(self) -> str:
        """Give the flavour's definition with a script at each hook."""
        hooks = "".join(
            f"          {hook}: {{implementation: hooks}}\n" for hook in HOOKS
        )
        plain = (SAMPLES / "cnf" / FLAVOUR).read_text()
        return plain.replace(
            "        flavour_description: The Deployment alone\n",
            "        flavour_description: The Deployment alone\n"
            "      interfaces:\n        Vnflcm:\n"
            + hooks
            + "      artifacts:\n"
            "        hooks:\n"
            "          type: tosca.artifacts.Implementation.Python\n"
            f"          file: ../{SCRIPT}\n",
        )

    def instance(self, script: str) -> str:
        """Make an instance of a package with this script."""
        files = {SCRIPT: textwrap.dedent(script), FLAVOUR: self.flavour()}
        csar = self.useFixture(Csar(files=files))
        return self.vnfm.create(self.vnfm.onboard(csar))

    def instantiate(self, instance_id: str) -> Any:
        body = {"flavourId": "small", "vimConnectionInfo": FAKE_VIM}
        return self.vnfm.run(instance_id, "instantiate", body)

    def told(self) -> list[Any]:
        lines = self.seen.read_text().splitlines()
        return [json.loads(line) for line in lines]

    def recording(self, body: str = "self.write(told)") -> str:
        hooks = "\n\n        ".join(
            f"def {hook}(self, told): {body}" for hook in HOOKS
        )
        return RECORDING.format(path=str(self.seen), hooks=hooks)


class TestHooks(ScriptCase):
    def test_they_run_around_the_change(self) -> None:
        instance_id = self.instance(self.recording())
        end = self.instantiate(instance_id)
        self.assertEqual("COMPLETED", end["operationState"], end)
        before, after = self.told()
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
        hooks = [told["operation"] for told in self.told()]
        self.assertEqual(["scale_start", "terminate_end"], hooks[2:])

    def test_they_read_a_copy_of_the_package(self) -> None:
        body = (
            "import shutil; shutil.rmtree(told.package_dir); self.write(told)"
        )
        instance_id = self.instance(self.recording(body))
        end = self.instantiate(instance_id)
        self.assertEqual("COMPLETED", end["operationState"], end)
        for told in self.told():
            self.assertFalse(Path(told["packageDir"]).exists())
        tree = self.vnfm.parts.catalogue.tree(
            self.vnfm.instance(instance_id)["vnfdId"]
        )
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
        hooks = [told["operation"] for told in self.told()]
        self.assertEqual(
            [
                "instantiate_start",
                "instantiate_rollback_start",
                "instantiate_rollback_end",
            ],
            hooks,
        )

    def test_data_of_a_failed_run_comes_back(self) -> None:
        script = """\
            from tacker_cnf.mgmt_drivers.base import MgmtDriver

            class Driver(MgmtDriver):
                def instantiate_end(self, told):
                    if self.user_script_err_handling_data is None:
                        self.user_script_err_handling_data = {"step": 3}
                        raise RuntimeError("stopped at step 3")
                    assert self.user_script_err_handling_data == {"step": 3}

            Driver.main()
        """
        instance_id = self.instance(script)
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

    def test_tackers_protocol_is_spoken(self) -> None:
        script = f"""\
            import json
            import pickle
            import sys
            told = pickle.load(sys.stdin.buffer)
            with open({str(self.seen)!r}, "a") as file:
                file.write(json.dumps(told) + "\\n")
            sys.stdout.buffer.write(pickle.dumps({{"vnf_instance": {{}}}}))
        """
        end = self.instantiate(self.instance(script))
        self.assertEqual("COMPLETED", end["operationState"], end)
        told = self.told()[1]
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
            set(told),
        )
        self.assertEqual("instantiate_end", told["operation"])
        self.assertEqual(
            "INSTANTIATED", told["vnf_instance"]["instantiationState"]
        )

    def test_the_environment_holds_no_secrets(self) -> None:
        os.environ["OS_PASSWORD"] = "s3cret"
        self.addCleanup(os.environ.pop, "OS_PASSWORD")
        script = f"""\
            import os
            with open({str(self.seen)!r}, "w") as file:
                file.write(str(sorted(os.environ)))
        """
        self.instantiate(self.instance(script))
        self.assertNotIn("OS_PASSWORD", self.seen.read_text())


class TestResume(ScriptCase):
    def test_a_script_that_ended_is_not_run_again(self) -> None:
        """Its conductor was lost in the step that followed it."""
        instance_id = self.instance(self.recording())
        lost: list[Any] = []

        def lose(task: Any) -> None:
            if not lost:
                lost.append(task)
                raise SystemExit  # what no except clause of ours catches

        self.vnfm.conf.set_override(
            "resume_infra", override=True, group="conductor"
        )
        self.vnfm.conf.set_override("lease", 1.0, "conductor")
        self.vnfm.conductor.claims._lease = 1.0
        self.vnfm.driver.before["apply"] = lose
        end = self.instantiate(instance_id)
        self.assertEqual("COMPLETED", end["operationState"], end)
        hooks = [told["operation"] for told in self.told()]
        self.assertEqual(["instantiate_start", "instantiate_end"], hooks)


class TestMisbehaviour(ScriptCase):
    """However a script ends, ours goes on and says what happened."""

    def failed(self, script: str) -> str:
        instance_id = self.instance(script)
        end = self.instantiate(instance_id)
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.assertEqual(422, end["error"]["status"])
        end_of_it = self.vnfm.decide(end["id"], "fail")
        self.assertEqual("FAILED", end_of_it["operationState"])
        return str(end["error"]["detail"])

    def test_exit_code(self) -> None:
        detail = self.failed("import sys; sys.exit('no licence')")
        self.assertIn("exit code 1: no licence", detail)

    def test_syntax_error(self) -> None:
        self.assertIn("SyntaxError", self.failed("def"))

    def test_killed(self) -> None:
        script = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
        self.assertIn("killed by SIGKILL", self.failed(script))

    def test_garbage_on_stdout(self) -> None:
        detail = self.failed("print('hello')")
        self.assertIn("no valid answer", detail)

    def test_flood_on_stdout(self) -> None:
        script = "import sys; sys.stdout.write('x' * 5_000_000)"
        self.assertIn("more than 1048576 bytes", self.failed(script))

    def test_flood_on_stderr(self) -> None:
        script = """\
            import sys
            sys.stderr.write('y' * 5_000_000 + 'the end')
            sys.exit(3)
        """
        detail = self.failed(script)
        self.assertIn("exit code 3", detail)
        self.assertIn("the end", detail)
        self.assertLess(len(detail), 3000)

    def test_a_pickle_with_a_class(self) -> None:
        script = """\
            import pickle, os, sys
            class Evil:
                def __reduce__(self):
                    return os.system, ("echo harmed",)
            sys.stdout.buffer.write(pickle.dumps(Evil()))
        """
        self.assertIn("system is not plain data", self.failed(script))

    def test_too_much_memory(self) -> None:
        self.assertIn("MemoryError", self.failed("x = bytearray(3 << 30)"))

    def test_hanging_with_children(self) -> None:
        self.vnfm.conf.set_override("timeout", 0.5, "scripts")
        self.vnfm.conductor._script_bounds = type(
            self.vnfm.conductor._script_bounds
        )(
            timeout=0.5,
            max_memory=0,
            max_file=0,
            max_output=1000,
        )
        script = f"""\
            import os, subprocess, time
            child = subprocess.Popen(["sleep", "60"])
            with open({str(self.seen)!r}, "w") as file:
                file.write(str(child.pid))
            time.sleep(60)
        """
        self.assertIn("did not end within 0.5 s", self.failed(script))
        pid = int(self.seen.read_text())
        state = Path(f"/proc/{pid}/stat")
        if state.exists():  # not yet reaped by whoever adopted it
            self.assertIn(") Z", state.read_text())
