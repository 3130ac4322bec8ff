"""Coordination scripts of a change of package, run for each VNFC."""

import json
from pathlib import Path
from typing import Any

from tests.fixtures.http_receiver import HttpReceiver, ReceivedRequest
from tests.fixtures.http_receiver import Response as ServerResponse
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
#: imports what Tacker has for coordination scripts
REQUESTING_SCRIPT = """\
import pickle
import sys

from tacker.common import config
from tacker.sol_refactored.common import coord_client

script_input = pickle.load(sys.stdin.buffer)
config.init(["--config-file", "/etc/tacker/tacker.conf"])
request = script_input["LcmCoordRequest"]
request["coordinationActionName"] = "vendor.action"
coordination = coord_client.create_coordination(
    script_input["endpoint"], script_input["authentication"], request,
    script_input.get("timeout"))
if coordination["coordinationResult"] != "CONTINUE":
    raise Exception(f"the result is {coordination['coordinationResult']}")
"""


class CoordinationCase(UpdateCase):
    def script(self) -> str:
        """Return the coordination script of the packages."""
        raise NotImplementedError

    def package(self, name: str, **_files: str) -> str:
        """Onboard a package with a coordination script."""
        changed = {SCRIPT: self.script()}
        source = SAMPLES / name / "Scripts" / "update.py"
        changed["Scripts/update.py"] = source.read_text()
        return self.vnfm.onboard(
            self.useFixture(Csar(name=name, files=changed))
        )

    def deployments(self) -> list[str]:
        """Return the VDUs of the VNFCs of Deployments."""
        return [
            vnfc["vduId"]
            for vnfc in self.vnfm.vnfcs(self.instance_id).values()
            if vnfc["computeResource"]["vimLevelResourceType"] == "Deployment"
        ]

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


class TestCoordination(CoordinationCase):
    fails = False

    def script(self) -> str:
        self.inputs_path = Path(self.vnfm.state_path) / "seen"
        return RECORDING_SCRIPT.format(
            seen=str(self.inputs_path), fails=self.fails
        )

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
        vdu = self.deployments()[0]
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


class TestReferenceScript(CoordinationCase):
    """It requests a coordination of each VNFC from a server."""

    def script(self) -> str:
        return REQUESTING_SCRIPT

    def setUp(self) -> None:
        super().setUp()
        self.server = self.useFixture(HttpReceiver(basic=("me", "hunter2")))
        self.server.responder = self.respond
        self.result = "CONTINUE"

    def respond(self, _: ReceivedRequest) -> ServerResponse:
        found = {"id": "c", "coordinationResult": self.result}
        return 201, {}, json.dumps(found).encode()

    def change(self) -> Any:
        parameters = {
            "endpoint": self.server.url,
            "authentication": {
                "authType": ["BASIC"],
                "paramsBasic": {"userName": "me", "password": "hunter2"},
            },
        }
        body = self.change_request(
            vdu_params=[
                {
                    "vdu_id": vdu,
                    "new_vnfc_param": parameters,
                    "old_vnfc_param": parameters,
                }
                for vdu in self.deployments()
            ]
        )
        return self.vnfm.run(self.instance_id, "change_vnfpkg", body)

    def test_the_server_lets_it_continue(self) -> None:
        done = self.change()
        self.assertEqual("COMPLETED", done["operationState"], done)
        for request in self.server.requests:
            self.assertEqual("/lcmcoord/v1/coordinations", request.path)
            self.assertEqual(
                "vendor.action", request.json["coordinationActionName"]
            )
            self.assertEqual(done["id"], request.json["vnfLcmOpOccId"])
        self.assertTrue(self.server.requests)

    def test_the_server_aborts_it(self) -> None:
        self.result = "ABORT"
        failed = self.change()
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        self.assertIn("the result is ABORT", failed["error"]["detail"])
