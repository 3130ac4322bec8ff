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
TELLING = """\
import json
import pickle
import sys
told = pickle.load(sys.stdin.buffer)
with open({seen!r}, "a") as file:
    file.write(json.dumps(told) + "\\n")
if {fails!r} and not told["is_rollback"]:
    raise RuntimeError("the peer said ABORT")
"""


class TestCoordination(UpdateCase):
    fails = False

    def package(self, name: str, **_files: str) -> str:
        """Onboard a package with a coordination script."""
        self.seen = Path(self.vnfm.state_path) / "seen"
        text = TELLING.format(seen=str(self.seen), fails=self.fails)
        changed = {SCRIPT: text}
        source = SAMPLES / name / "Scripts" / "update.py"
        changed["Scripts/update.py"] = source.read_text()
        return self.vnfm.onboard(
            self.useFixture(Csar(name=name, files=changed))
        )

    def asked(self, **more: Any) -> dict[str, Any]:
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

    def told(self) -> list[Any]:
        return [json.loads(line) for line in self.seen.open()]

    def test_each_vnfc_is_coordinated(self) -> None:
        body = self.asked()
        task = "change_vnfpkg"
        done = self.vnfm.run(self.instance_id, task, body)
        self.assertEqual("COMPLETED", done["operationState"], done)
        told = self.told()
        ids = {one["vnfc_info_id"] for one in told}
        infos = self.vnfm.vnfcs(self.instance_id)
        kinds = {
            name
            for name, vnfc in infos.items()
            if vnfc["computeResource"]["vimLevelResourceType"] == "Deployment"
        }
        self.assertEqual(kinds, ids)
        for one in told:
            self.assertFalse(one["is_rollback"])
            self.assertTrue(one["ssh_ip"])
            known = one["inst"]["instantiatedVnfInfo"]["vnfcInfo"]
            self.assertIn(one["vnfc_info_id"], [v["id"] for v in known])
            request = one["LcmCoordRequest"]
            self.assertEqual(self.instance_id, request["vnfInstanceId"])
            self.assertEqual(done["id"], request["vnfLcmOpOccId"])
            self.assertNotIn("bearer_token", json.dumps(one))

    def test_one_that_fails_ends_it_and_the_way_back_is_coordinated(
        self,
    ) -> None:
        self.fails = True
        secret = "very-" + "secret"
        (vdu, *_) = [
            vnfc["vduId"]
            for vnfc in self.vnfm.vnfcs(self.instance_id).values()
            if vnfc["computeResource"]["vimLevelResourceType"] == "Deployment"
        ]
        mine = {"endpoint": "http://peer", "password": secret}
        one = {"vdu_id": vdu, "new_vnfc_param": mine, "old_vnfc_param": mine}
        body = self.asked(vdu_params=[one])
        task = "change_vnfpkg"
        failed = self.vnfm.run(self.instance_id, task, body)
        self.assertEqual("FAILED_TEMP", failed["operationState"], failed)
        detail = failed["error"]["detail"]
        self.assertIn(f"Script {SCRIPT} ({NEW})", detail)
        self.assertIn("the peer said ABORT", detail)
        self.assertNotIn(secret, json.dumps(failed))
        (told,) = self.told()
        self.assertEqual(secret, told["password"])
        again = self.vnfm.decide(failed["id"], "retry")
        self.assertEqual("FAILED_TEMP", again["operationState"], again)
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"], back)
        last = self.told()[-1]
        self.assertTrue(last["is_rollback"])
        self.assertEqual("http://peer", last["endpoint"])

    def test_a_script_that_is_not_there(self) -> None:
        for name in (NEW, OLD):
            body = self.asked(**{name: "Scripts/moon.py"})
            answer = self.vnfm.task(self.instance_id, "change_vnfpkg", body)
            self.assertEqual(400, answer.status)
            self.assertIn(f"{name}: the VNF package", answer.detail)
