"""VIMs that a VNF provides: its scripts return them, the VNFM stores them."""

from typing import Any

from tacker_cnf.db.quotas import Resource
from tests.fixtures import waiting
from tests.fixtures.crashing_conductor import (
    CrashingConductor,
    start_conductor,
)
from tests.fixtures.vnfm import FAKE_VIM, Response
from tests.functional.test_script_memory import ScriptedHooksCase
from tests.functional.test_scripts import SCRIPT

VIMS = "/v1.0/vims"
INSTANCES = "/vnflcm/v2/vnf_instances"


def provides(
    name: str = "k8s", auth_url: str = "https://k8s", **more: Any
) -> str:
    """Build the line of a script that provides a VIM."""
    attributes = {
        "type": "fake",
        "auth_url": auth_url,
        "auth_cred": {"bearer_token": "hunter2"},
    } | more
    return f"self.vims[{name!r}] = ProvidedVim(**{attributes!r})"


class ProvidedCase(ScriptedHooksCase):
    def vims(self) -> dict[str, Any]:
        found = self.vnfm.call("GET", VIMS).json["vims"]
        return {vim["name"]: vim for vim in found}

    def register(self, name: str) -> str:
        body = {
            "name": name,
            "type": "fake",
            "auth_url": "https://mine",
            "auth_cred": {},
        }
        response = self.vnfm.call("POST", VIMS, {"vim": body})
        self.assertEqual(201, response.status, str(response.content))
        return str(response.json["vim"]["id"])

    def delete(self, vim_id: str) -> Response:
        return self.vnfm.call("DELETE", f"{VIMS}/{vim_id}")

    def shown(self, instance_id: str) -> Any:
        return self.vnfm.instance(instance_id)["vimConnectionInfo"]

    def create_providing(self) -> str:
        """Create a running instance that provides VIM k8s."""
        self.set_action("instantiate_end", provides())
        instance_id = self.create_scripted()
        self.run_instantiate(instance_id)
        self.set_action("instantiate_end", "")
        return instance_id

    def create_vnf_on(self, vim_id: str) -> str:
        """Create a VNF instance on a registered VIM."""
        instance_id = self.vnfm.create()
        vim_connections = {"vim1": {"vimId": vim_id}}
        body = {"flavourId": "simple", "vimConnectionInfo": vim_connections}
        self.run_completed(instance_id, "instantiate", **body)
        return instance_id

    def run_failing(self, instance_id: str, task: str = "heal") -> Any:
        body = {} if task == "heal" else {"terminationType": "GRACEFUL"}
        end = self.vnfm.run(instance_id, task, body)
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        return end

    def decide_and_check(self, end: Any, decision: str, state: str) -> None:
        end = self.vnfm.decide(end["id"], decision)
        self.assertEqual(state, end["operationState"], end)

    def terminate(self, instance_id: str, how: str = "GRACEFUL") -> Any:
        return self.run_completed(
            instance_id, "terminate", terminationType=how
        )


class TestQuota(ProvidedCase):
    def test_a_vim_beyond_the_quota(self) -> None:
        self.register("one")
        self.vnfm.parts.store.quotas = {Resource.VIMS: 1}
        self.set_action("instantiate_end", provides())
        instance_id = self.create_scripted()
        end = self.instantiate(instance_id)
        self.assertEqual("FAILED_TEMP", end["operationState"])
        self.assertIn("registers VIM 'k8s'. Quota", end["error"]["detail"])
        self.assertEqual(["one"], [*self.vims()])
        self.vnfm.parts.store.quotas = {Resource.VIMS: 2}
        self.decide_and_check(end, "retry", "COMPLETED")
        self.assertEqual({"one", "k8s"}, {*self.vims()})


class TestLifecycle(ProvidedCase):
    def test_a_provided_vim_from_instantiation_to_termination(self) -> None:
        instance_id = self.create_providing()
        (vim,) = self.vims().values()
        self.assertEqual("fake", vim["type"])
        self.assertEqual("https://k8s", vim["auth_url"])
        self.assertEqual({}, vim["auth_cred"])
        self.assertFalse(vim["is_default"])
        vim_connection = {"vimId": vim["id"], "vimType": "fake"}
        self.assertEqual(
            FAKE_VIM | {"k8s": vim_connection}, self.shown(instance_id)
        )
        other = self.vnfm.create()
        query = f"{INSTANCES}?fields=vimConnectionInfo"
        listed = self.vnfm.call("GET", query).json
        self.assertEqual(
            {instance_id: FAKE_VIM | {"k8s": vim_connection}, other: None},
            {one["id"]: one.get("vimConnectionInfo") for one in listed},
        )
        # the input of a script has the VIM of its VNF, and no other
        self.run_completed(instance_id, "heal")
        script_input = self.read_script_inputs()[-1]
        self.assertEqual("heal_end", script_input["operation"])
        lives = script_input["vnfInstance"]["vimConnectionInfo"]
        self.assertEqual(["vim1"], [*lives])
        self.terminate(instance_id)
        self.assertEqual({}, self.vims())
        self.assertNotIn("vimConnectionInfo", self.vnfm.instance(instance_id))

    def test_other_vnfs_use_a_vim_and_its_renewed_credentials(self) -> None:
        instance_id = self.create_providing()
        vim_id = self.vims()["k8s"]["id"]
        tenant = self.create_vnf_on(vim_id)
        self.set_action("heal_start", "self.vims['k8s'] = None")
        self.set_action("heal_end", provides(auth_url="https://new"))
        self.run_completed(instance_id, "heal")
        vim = self.vims()["k8s"]
        self.assertEqual(vim_id, vim["id"])
        self.assertEqual("https://new", vim["auth_url"])
        self.assertIsNotNone(vim["updated_at"])
        self.run_completed(tenant, "heal")
        # it stays for them when no VNF provides it any more
        self.terminate(instance_id)
        self.assertEqual(vim_id, self.vims()["k8s"]["id"])
        self.assertEqual(409, self.delete(vim_id).status)
        self.terminate(tenant)
        self.assertEqual(204, self.delete(vim_id).status)

    def test_a_heal_recreates_a_deleted_vim(self) -> None:
        instance_id = self.create_providing()
        before = self.tag(instance_id)
        vim_id = self.vims()["k8s"]["id"]
        self.assertEqual(204, self.delete(vim_id).status)
        self.assertEqual(FAKE_VIM, self.shown(instance_id))
        self.assertNotEqual(before, self.tag(instance_id))
        self.set_action("heal_end", provides())
        self.run_completed(instance_id, "heal")
        self.assertNotEqual(vim_id, self.vims()["k8s"]["id"])
        self.assertIn("k8s", self.shown(instance_id))

    def tag(self, instance_id: str) -> str:
        response = self.vnfm.call("GET", f"{INSTANCES}/{instance_id}")
        return str(response.headers["ETag"])

    def test_the_etag_of_a_provided_vim_changes_with_it(self) -> None:
        instance_id = self.create_providing()
        path = f"{INSTANCES}/{instance_id}"
        same = {"If-None-Match": self.tag(instance_id)}
        self.assertEqual(304, self.vnfm.call("GET", path, None, same).status)
        match = {"If-Match": self.tag(instance_id)}
        response = self.vnfm.call("POST", f"{path}/heal", {}, match)
        self.assertEqual(202, response.status, str(response.content))
        self.vnfm.wait_operation(response.headers["Location"])
        self.terminate(instance_id)
        match = {"If-Match": self.tag(instance_id)}
        response = self.vnfm.call("DELETE", path, None, match)
        self.assertEqual(204, response.status, str(response.content))

    def test_the_etag_changes_with_the_name_of_a_provided_vim(self) -> None:
        instance_id = self.create_providing()
        (vim,) = self.vims().values()
        path = f"{INSTANCES}/{instance_id}"
        known = {"If-None-Match": self.tag(instance_id)}
        for change, status in (
            ({"description": "of the site", "name": vim["name"]}, 304),
            ({"name": "renamed"}, 200),
        ):
            vim_path = f"{VIMS}/{vim['id']}"
            response = self.vnfm.call("PUT", vim_path, {"vim": change})
            self.assertEqual(200, response.status, str(response.content))
            response = self.vnfm.call("GET", path, None, known)
            self.assertEqual(status, response.status, str(change))
        self.assertIn("renamed", response.json["vimConnectionInfo"])

    def test_a_script_withdraws_a_vim(self) -> None:
        instance_id = self.create_providing()
        self.set_action(
            "heal_end", "self.vims['k8s'] = self.vims['none'] = None"
        )
        self.run_completed(instance_id, "heal")
        self.assertEqual({}, self.vims())
        self.assertEqual(FAKE_VIM, self.shown(instance_id))

    def test_a_script_without_the_base_class_provides_a_vim(self) -> None:
        script_output = """{"vims": {"k8s": {"type": "fake", "auth_cred": {},
            "auth_url": "https://k8s", "extra": {"region": "north"}}}}"""
        self.set_action("instantiate_end", script_output)
        self.run_instantiate(self.create_with_plain_script())
        self.assertEqual({"region": "north"}, self.vims()["k8s"]["extra"])

    def test_a_patch_cannot_change_a_provided_vim(self) -> None:
        instance_id = self.create_providing()
        for entry in (None, {"extra": {"a": 1}}):
            patch = {"vimConnectionInfo": {"k8s": entry}}
            response = self.vnfm.patch(instance_id, patch)
            self.assertEqual(400, response.status)
            self.assertIn("vimConnectionInfo.k8s: VNF inst", response.detail)
        region = {"vim1": {"extra": {"region": "a"}}}
        end = self.vnfm.modify(instance_id, {"vimConnectionInfo": region})
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertEqual(
            {"region": "a"}, self.shown(instance_id)["vim1"]["extra"]
        )
        self.assertIn("k8s", self.shown(instance_id))


class TestRefused(ProvidedCase):
    def test_a_vim_with_the_name_of_another_vim(self) -> None:
        vim_id = self.register("k8s")
        self.set_action("heal_end", f"{provides()}; {provides('also')}")
        instance_id = self.create_scripted()
        self.run_instantiate(instance_id)
        end = self.run_failing(instance_id)
        self.assertEqual("POSTAMBLE", end["progress"])
        self.assertEqual(
            f"A management script of VNF instance {instance_id} names VIM "
            f"'k8s' as its own, but VIM {vim_id} of this name is provided by "
            "no VNF instance. Rename or delete that VIM, and retry.",
            end["error"]["detail"],
        )
        self.assertEqual(["k8s"], [*self.vims()])
        self.assertEqual(FAKE_VIM, self.shown(instance_id))
        body = {"vim": {"name": "mine"}}
        self.vnfm.call("PUT", f"{VIMS}/{vim_id}", body)
        self.decide_and_check(end, "retry", "COMPLETED")
        self.assertEqual({"k8s", "also", "mine"}, {*self.vims()})
        self.assertEqual(vim_id, self.vims()["mine"]["id"])

    def test_vims_that_the_instance_does_not_provide_are_kept(self) -> None:
        first = self.create_providing()
        self.set_action("heal_start", "self.vims['k8s'] = None")
        second = self.create_scripted()
        self.run_instantiate(second)
        self.run_completed(second, "heal")
        self.assertIn("k8s", self.shown(first))
        self.assertNotIn("k8s", self.shown(second))
        self.assertIn("k8s", self.vims())

    def test_invalid_vims(self) -> None:
        hook = f"Script {SCRIPT} (heal_end): "
        instance_id = self.create_providing()
        for action, why in (
            (
                provides("vim1"),
                f"{hook}its output has a VIM vim1, but this key of vimConn",
            ),
            (
                provides(type="kubernets"),
                f"{hook}vimType: there is no driver for 'kubernets', ",
            ),
            (provides(auth_url=""), "length >= 1"),
            (provides(name=""), "length >= 1"),
            (
                provides(type="kubernetes"),
                "VIM 'k8s', which was registered as fake, is kubernetes.",
            ),
        ):
            self.set_action("heal_end", action)
            end = self.run_failing(instance_id)
            self.assertIn(why, end["error"]["detail"])
            self.assertNotIn("hunter2", end["error"]["detail"])
            self.decide_and_check(end, "fail", "FAILED")
        self.assertEqual("fake", self.vims()["k8s"]["type"])


class TestFailure(ProvidedCase):
    """VIMs are stored when the step of the hook completes."""

    def test_a_script_that_provides_a_vim_and_fails(self) -> None:
        self.set_action("heal_end", f"{provides()}; raise ValueError")
        instance_id = self.create_scripted()
        self.run_instantiate(instance_id)
        end = self.run_failing(instance_id)
        self.assertEqual({}, self.vims())
        self.set_action("heal_end", provides())
        self.decide_and_check(end, "retry", "COMPLETED")
        self.assertIn("k8s", self.shown(instance_id))

    def test_a_later_step_that_fails(self) -> None:
        self.set_action("instantiate_start", provides())
        self.set_action("instantiate_end", "raise ValueError")
        instance_id = self.create_scripted()
        end = self.instantiate(instance_id)
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.assertIn("k8s", self.vims())
        self.decide_and_check(end, "rollback", "ROLLED_BACK")
        self.assertEqual({}, self.vims())

    def test_a_forceful_termination_whose_script_fails(self) -> None:
        instance_id = self.create_providing()
        self.set_action(
            "terminate_end", f"{provides('more')}; raise ValueError"
        )
        self.terminate(instance_id, "FORCEFUL")
        self.assertEqual({}, self.vims())

    def test_the_instance_of_a_provided_vim_is_deleted(self) -> None:
        """Its instantiation was failed, so its objects may still exist."""
        self.set_action("instantiate_start", provides())
        self.set_action("instantiate_end", "raise ValueError")
        instance_id = self.create_scripted()
        end = self.instantiate(instance_id)
        self.decide_and_check(end, "fail", "FAILED")
        path = f"{INSTANCES}/{instance_id}"
        # its leftovers on the VIM are removed first
        self.assertEqual(409, self.vnfm.call("DELETE", path).status)
        waiting.until(
            lambda: self.vnfm.call("DELETE", path).status == 204,
            "the deletion",
        )
        vim_id = self.vims()["k8s"]["id"]
        self.assertEqual(204, self.delete(vim_id).status)

    def test_a_script_cancelled_at_its_end(self) -> None:
        """The script runs when it is cancelled, and succeeds."""
        started, released = (
            self.inputs_path.parent / "going",
            self.inputs_path.parent / "on",
        )
        wait = (
            f"import time\nPath({str(started)!r}).touch()\n"
            f"while not Path({str(released)!r}).exists(): time.sleep(0.02)\n"
        )
        self.set_action("heal_end", wait + provides())
        instance_id = self.create_scripted()
        self.run_instantiate(instance_id)
        response = self.vnfm.task(instance_id, "heal", {})
        location = response.headers["Location"].removeprefix(
            "http://localhost"
        )
        waiting.until(started.exists, "the script runs")
        mode = {"cancelMode": "GRACEFUL"}
        response = self.vnfm.call("POST", f"{location}/cancel", mode)
        self.assertEqual(202, response.status, str(response.content))
        released.touch()
        end = self.vnfm.wait_operation(location)
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.assertEqual({}, self.vims())

    def test_the_conductor_crashes_around_the_commit(self) -> None:
        self.vnfm.conductor.stop()
        conductor = start_conductor(self.vnfm, CrashingConductor)
        for committed in (False, True):
            self.set_action(
                "heal_end", provides(name := f"k8s-{committed}".lower())
            )
            self.set_action("instantiate_end", "")
            instance_id = self.create_scripted()
            self.run_instantiate(instance_id)
            # after those of GRANT and the steps before the last one
            conductor.crash_at[instance_id] = (3, committed)
            end = self.vnfm.run(instance_id, "heal", {})
            if not committed:
                self.assertEqual("FAILED_TEMP", end["operationState"], end)
                self.assertEqual({}, self.vims())
                self.decide_and_check(end, "retry", "COMPLETED")
            self.assertIn(name, self.shown(instance_id))
