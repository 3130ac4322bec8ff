"""Coordination scripts of a change of package, run for each VNFC."""

import json
from pathlib import Path
from typing import Any

from tests.fixtures.vnfm import SAMPLES, Csar
from tests.functional.test_cnf_change_package import NEW_FILES
from tests.functional.test_cnf_update import UpdateCase

NEW, OLD = (
    f"lcm-operation-coordinate-{which}-vnf" for which in ("new", "old")
)
SCRIPT = "Scripts/coordinate.py"
RECORDING_SCRIPT = """\
import json
import pickle
import sys
script_input = pickle.load(sys.stdin.buffer)
with open({seen!r}, "a") as file:
    file.write(json.dumps(script_input) + "\\n")
if {fails!r} and not script_input["is_rollback"]:
    raise RuntimeError("the peer said ABORT")
"""


class TestCoordination(UpdateCase):
    fails = False

    def package(self, name: str, **_files: str) -> str:
        """Onboard a package with a coordination script."""
        self.inputs_path = Path(self.vnfm.state_path) / "seen"
        text = RECORDING_SCRIPT.format(
            seen=str(self.inputs_path), fails=self.fails
        )
        changed = {SCRIPT: text}
        source = SAMPLES / name / "Scripts" / "update.py"
        changed["Scripts/update.py"] = source.read_text()
        return self.vnfm.onboard(
            self.useFixture(Csar(name=name, files=changed))
        )

    def change_request(self, **more: Any) -> dict[str, Any]:
        return {
            "vnfdId": self.after(),
            "additionalParams": {
                "upgrade_type": "RollingUpdate",
                "lcm-kubernetes-def-files": NEW_FILES,
                NEW: SCRIPT,
                OLD: SCRIPT,
                **more,
            },
        }

    def script_inputs(self) -> list[Any]:
        return [json.loads(line) for line in self.inputs_path.open()]

    def test_each_vnfc_is_coordinated(self) -> None:
        body = self.change_request()
        task = "change_vnfpkg"
        done = self.vnfm.run(self.instance_id, task, body)
        self.assertEqual("COMPLETED", done["operationState"], done)
        script_inputs = self.script_inputs()
        ids = {one["vnfc_info_id"] for one in script_inputs}
        infos = self.vnfm.vnfcs(self.instance_id)
        kinds = {
            name
            for name, vnfc in infos.items()
            if vnfc["computeResource"]["vimLevelResourceType"] == "Deployment"
        }
        self.assertEqual(kinds, ids)
        for one in script_inputs:
            self.assertFalse(one["is_rollback"])
            self.assertTrue(one["ssh_ip"])
            vnfc_infos = one["inst"]["instantiatedVnfInfo"]["vnfcInfo"]
            self.assertIn(one["vnfc_info_id"], [v["id"] for v in vnfc_infos])
            request = one["LcmCoordRequest"]
            self.assertEqual(self.instance_id, request["vnfInstanceId"])
            self.assertEqual(done["id"], request["vnfLcmOpOccId"])
            self.assertNotIn("bearer_token", json.dumps(one))

    def test_a_failed_script_ends_it_and_the_rollback_is_coordinated(
        self,
    ) -> None:
        self.fails = True
        secret = "very-" + "secret"
        (vdu, *_) = [
            vnfc["vduId"]
            for vnfc in self.vnfm.vnfcs(self.instance_id).values()
            if vnfc["computeResource"]["vimLevelResourceType"] == "Deployment"
        ]
        own_params = {"endpoint": "http://peer", "password": secret}
        one = {
            "vdu_id": vdu,
            "new_vnfc_param": own_params,
            "old_vnfc_param": own_params,
        }
        body = self.change_request(vdu_params=[one])
        task = "change_vnfpkg"
        failed = self.vnfm.run(self.instance_id, task, body)
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        detail = failed["error"]["detail"]
        self.assertIn(f"Script {SCRIPT} ({NEW})", detail)
        self.assertIn("the peer said ABORT", detail)
        self.assertNotIn(secret, json.dumps(failed))
        (script_inputs,) = self.script_inputs()
        self.assertEqual(secret, script_inputs["password"])
        again = self.vnfm.decide(failed["id"], "retry")
        self.assertEqual("FAILED_TEMP", again["operationState"], again)
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)
        last = self.script_inputs()[-1]
        self.assertTrue(last["is_rollback"])
        self.assertEqual("http://peer", last["endpoint"])

    def test_a_missing_script(self) -> None:
        for name in (NEW, OLD):
            body = self.change_request(**{name: "Scripts/moon.py"})
            response = self.vnfm.task(self.instance_id, "change_vnfpkg", body)
            self.assertEqual(400, response.status)
            self.assertIn(f"{name}: the VNF package", response.detail)

    def test_a_file_that_the_package_does_not_name(self) -> None:
        manifest = NEW_FILES[1]
        for name in (NEW, OLD):
            body = self.change_request(**{name: f"./{manifest}"})
            response = self.vnfm.task(self.instance_id, "change_vnfpkg", body)
            self.assertEqual(400, response.status)
            self.assertIn(f"{name}: {manifest!r} may not run", response.detail)
            self.assertIn(
                "It names Scripts/coordinate.py, Scripts/update.py",
                response.detail,
            )
