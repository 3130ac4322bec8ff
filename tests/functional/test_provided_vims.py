"""VIMs that a VNF provides: its scripts say so, and the VNFM keeps them."""

from typing import Any

from tests.fixtures import waiting
from tests.fixtures.mortal import MortalConductor, conductor_of
from tests.fixtures.vnfm import FAKE_VIM, Answer
from tests.functional.test_script_memory import ActingCase
from tests.functional.test_scripts import SCRIPT

VIMS = "/v1.0/vims"
INSTANCES = "/vnflcm/v2/vnf_instances"


def provides(
    name: str = "k8s", where: str = "https://k8s", **more: str
) -> str:
    """Write down that a script provides a VIM."""
    given = {
        "type": "fake",
        "auth_url": where,
        "auth_cred": {"bearer_token": "hunter2"},
    } | more
    return f"self.vims[{name!r}] = ProvidedVim(**{given!r})"


class ProvidedCase(ActingCase):
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
        answer = self.vnfm.call("POST", VIMS, {"vim": body})
        self.assertEqual(201, answer.status, str(answer.content))
        return str(answer.json["vim"]["id"])

    def delete(self, vim_id: str) -> Answer:
        return self.vnfm.call("DELETE", f"{VIMS}/{vim_id}")

    def shown(self, instance_id: str) -> Any:
        return self.vnfm.instance(instance_id)["vimConnectionInfo"]

    def providing(self) -> str:
        """Make an instance that runs and provides VIM k8s."""
        self.does("instantiate_end", provides())
        instance_id = self.acting()
        self.up(instance_id)
        self.does("instantiate_end", "")
        return instance_id

    def tenant(self, vim_id: str) -> str:
        """Make a VNF instance that lives on a registered VIM."""
        instance_id = self.vnfm.create()
        named = {"vim1": {"vimId": vim_id}}
        body = {"flavourId": "simple", "vimConnectionInfo": named}
        self.completed(instance_id, "instantiate", **body)
        return instance_id

    def failed(self, instance_id: str, task: str = "heal") -> Any:
        body = {} if task == "heal" else {"terminationType": "GRACEFUL"}
        end = self.vnfm.run(instance_id, task, body)
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        return end

    def decided(self, end: Any, decision: str, state: str) -> None:
        end = self.vnfm.decide(end["id"], decision)
        self.assertEqual(state, end["operationState"], end)

    def down(self, instance_id: str, how: str = "GRACEFUL") -> Any:
        return self.completed(instance_id, "terminate", terminationType=how)


class TestLife(ProvidedCase):
    def test_from_instantiation_to_termination(self) -> None:
        instance_id = self.providing()
        (vim,) = self.vims().values()
        self.assertEqual("fake", vim["type"])
        self.assertEqual("https://k8s", vim["auth_url"])
        self.assertEqual({}, vim["auth_cred"])
        self.assertFalse(vim["is_default"])
        known = {"vimId": vim["id"], "vimType": "fake"}
        self.assertEqual(FAKE_VIM | {"k8s": known}, self.shown(instance_id))
        other = self.vnfm.create()
        query = f"{INSTANCES}?fields=vimConnectionInfo"
        listed = self.vnfm.call("GET", query).json
        self.assertEqual(
            {instance_id: FAKE_VIM | {"k8s": known}, other: None},
            {one["id"]: one.get("vimConnectionInfo") for one in listed},
        )
        # a script is told where its VNF lives, and no more
        self.completed(instance_id, "heal")
        told = self.told()[-1]
        self.assertEqual("heal_end", told["operation"])
        lives = told["vnfInstance"]["vimConnectionInfo"]
        self.assertEqual(["vim1"], [*lives])
        self.down(instance_id)
        self.assertEqual({}, self.vims())
        self.assertNotIn("vimConnectionInfo", self.vnfm.instance(instance_id))

    def test_others_live_on_it_and_go_on_when_it_is_renewed(self) -> None:
        instance_id = self.providing()
        vim_id = self.vims()["k8s"]["id"]
        tenant = self.tenant(vim_id)
        self.does("heal_start", "self.vims['k8s'] = None")
        self.does("heal_end", provides(where="https://new"))
        self.completed(instance_id, "heal")
        vim = self.vims()["k8s"]
        self.assertEqual(vim_id, vim["id"])
        self.assertEqual("https://new", vim["auth_url"])
        self.assertIsNotNone(vim["updated_at"])
        self.completed(tenant, "heal")
        # it stays for them when it is nobody's any more
        self.down(instance_id)
        self.assertEqual(vim_id, self.vims()["k8s"]["id"])
        self.assertEqual(409, self.delete(vim_id).status)
        self.down(tenant)
        self.assertEqual(204, self.delete(vim_id).status)

    def test_an_operator_deletes_it_and_a_heal_makes_it_anew(self) -> None:
        instance_id = self.providing()
        before = self.tag(instance_id)
        vim_id = self.vims()["k8s"]["id"]
        self.assertEqual(204, self.delete(vim_id).status)
        self.assertEqual(FAKE_VIM, self.shown(instance_id))
        self.assertNotEqual(before, self.tag(instance_id))
        self.does("heal_end", provides())
        self.completed(instance_id, "heal")
        self.assertNotEqual(vim_id, self.vims()["k8s"]["id"])
        self.assertIn("k8s", self.shown(instance_id))

    def tag(self, instance_id: str) -> str:
        answer = self.vnfm.call("GET", f"{INSTANCES}/{instance_id}")
        return str(answer.headers["ETag"])

    def test_the_tag_is_good_for_a_condition(self) -> None:
        instance_id = self.providing()
        path = f"{INSTANCES}/{instance_id}"
        same = {"If-None-Match": self.tag(instance_id)}
        self.assertEqual(304, self.vnfm.call("GET", path, None, same).status)
        match = {"If-Match": self.tag(instance_id)}
        answer = self.vnfm.call("POST", f"{path}/heal", {}, match)
        self.assertEqual(202, answer.status, str(answer.content))
        self.vnfm.ended(answer.headers["Location"])
        self.down(instance_id)
        match = {"If-Match": self.tag(instance_id)}
        answer = self.vnfm.call("DELETE", path, None, match)
        self.assertEqual(204, answer.status, str(answer.content))

    def test_a_script_takes_it_back(self) -> None:
        instance_id = self.providing()
        self.does("heal_end", "self.vims['k8s'] = self.vims['none'] = None")
        self.completed(instance_id, "heal")
        self.assertEqual({}, self.vims())
        self.assertEqual(FAKE_VIM, self.shown(instance_id))

    def test_a_script_without_our_base(self) -> None:
        said = """{"vims": {"k8s": {"type": "fake", "auth_cred": {},
            "auth_url": "https://k8s", "extra": {"region": "north"}}}}"""
        self.does("instantiate_end", said)
        self.up(self.plain())
        self.assertEqual({"region": "north"}, self.vims()["k8s"]["extra"])

    def test_a_patch_does_not_reach_it(self) -> None:
        instance_id = self.providing()
        for entry in (None, {"extra": {"a": 1}}):
            patch = {"vimConnectionInfo": {"k8s": entry}}
            answer = self.vnfm.patch(instance_id, patch)
            self.assertEqual(400, answer.status)
            self.assertIn("vimConnectionInfo.k8s: VNF inst", answer.detail)
        patch = {"vimConnectionInfo": {"vim1": {"extra": {"a": 1}}}}
        end = self.vnfm.modify(instance_id, patch)
        self.assertEqual("COMPLETED", end["operationState"], end)
        self.assertEqual({"a": 1}, self.shown(instance_id)["vim1"]["extra"])
        self.assertIn("k8s", self.shown(instance_id))


class TestRefused(ProvidedCase):
    def test_another_vim_has_the_name(self) -> None:
        vim_id = self.register("k8s")
        self.does("heal_end", f"{provides()}; {provides('also')}")
        instance_id = self.acting()
        self.up(instance_id)
        end = self.failed(instance_id)
        self.assertEqual("POSTAMBLE", end["progress"])
        self.assertEqual(
            f"A management script of VNF instance {instance_id} names VIM "
            f"'k8s' as its own, but VIM {vim_id} of this name is provided by "
            "no VNF instance. Rename or delete that one, and retry.",
            end["error"]["detail"],
        )
        self.assertEqual(["k8s"], [*self.vims()])
        self.assertEqual(FAKE_VIM, self.shown(instance_id))
        body = {"vim": {"name": "mine"}}
        self.vnfm.call("PUT", f"{VIMS}/{vim_id}", body)
        self.decided(end, "retry", "COMPLETED")
        self.assertEqual({"k8s", "also", "mine"}, {*self.vims()})
        self.assertEqual(vim_id, self.vims()["mine"]["id"])

    def test_nobody_forgets_what_is_not_its_own(self) -> None:
        first = self.providing()
        self.does("heal_start", "self.vims['k8s'] = None")
        second = self.acting()
        self.up(second)
        self.completed(second, "heal")
        self.assertIn("k8s", self.shown(first))
        self.assertNotIn("k8s", self.shown(second))
        self.assertIn("k8s", self.vims())

    def test_what_cannot_be(self) -> None:
        hook = f"Script {SCRIPT} (heal_end): "
        instance_id = self.providing()
        for deed, why in (
            (
                provides("vim1"),
                f"{hook}its answer names VIM vim1, and by this name vimConn",
            ),
            (
                provides(type="kubernets"),
                f"{hook}vimType: there is no driver for 'kubernets'.",
            ),
            (provides(where=""), "length >= 1"),
            (provides(name=""), "length >= 1"),
            (
                provides(type="kubernetes"),
                "VIM 'k8s', which was registered as fake, is kubernetes.",
            ),
        ):
            self.does("heal_end", deed)
            end = self.failed(instance_id)
            self.assertIn(why, end["error"]["detail"])
            self.assertNotIn("hunter2", end["error"]["detail"])
            self.decided(end, "fail", "FAILED")
        self.assertEqual("fake", self.vims()["k8s"]["type"])


class TestFailure(ProvidedCase):
    """What counts is the good end of a hook's step."""

    def test_the_script_fails_itself(self) -> None:
        self.does("heal_end", f"{provides()}; raise ValueError")
        instance_id = self.acting()
        self.up(instance_id)
        end = self.failed(instance_id)
        self.assertEqual({}, self.vims())
        self.does("heal_end", provides())
        self.decided(end, "retry", "COMPLETED")
        self.assertIn("k8s", self.shown(instance_id))

    def test_a_later_step_fails(self) -> None:
        self.does("instantiate_start", provides())
        self.does("instantiate_end", "raise ValueError")
        instance_id = self.acting()
        end = self.instantiate(instance_id)
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.assertIn("k8s", self.vims())
        self.decided(end, "rollback", "ROLLED_BACK")
        self.assertEqual({}, self.vims())

    def test_a_forceful_termination_whose_script_fails(self) -> None:
        instance_id = self.providing()
        self.does("terminate_end", f"{provides('more')}; raise ValueError")
        self.down(instance_id, "FORCEFUL")
        self.assertEqual({}, self.vims())

    def test_the_instance_is_deleted(self) -> None:
        """Its instantiation was given up, so what it made may be there."""
        self.does("instantiate_start", provides())
        self.does("instantiate_end", "raise ValueError")
        instance_id = self.acting()
        end = self.instantiate(instance_id)
        self.decided(end, "fail", "FAILED")
        path = f"{INSTANCES}/{instance_id}"
        # what it has left on its VIM is removed first
        self.assertEqual(409, self.vnfm.call("DELETE", path).status)
        waiting.until(
            lambda: self.vnfm.call("DELETE", path).status == 204,
            "the deletion",
        )
        vim_id = self.vims()["k8s"]["id"]
        self.assertEqual(204, self.delete(vim_id).status)

    def test_it_is_cancelled_at_its_end(self) -> None:
        """The script runs when it is cancelled, and ends well."""
        going, on = self.seen.parent / "going", self.seen.parent / "on"
        wait = (
            f"import time\nPath({str(going)!r}).touch()\n"
            f"while not Path({str(on)!r}).exists(): time.sleep(0.02)\n"
        )
        self.does("heal_end", wait + provides())
        self.patient()
        instance_id = self.acting()
        self.up(instance_id)
        answer = self.vnfm.task(instance_id, "heal", {})
        where = answer.headers["Location"].removeprefix("http://localhost")
        waiting.until(going.exists, "the script runs")
        mode = {"cancelMode": "GRACEFUL"}
        answer = self.vnfm.call("POST", f"{where}/cancel", mode)
        self.assertEqual(202, answer.status, str(answer.content))
        on.touch()
        end = self.vnfm.ended(where)
        self.assertEqual("FAILED_TEMP", end["operationState"], end)
        self.assertEqual({}, self.vims())

    def test_the_conductor_dies_around_the_commit(self) -> None:
        self.vnfm.conductor.stop()
        mortal = conductor_of(self.vnfm, MortalConductor)
        for committed in (False, True):
            self.does("heal_end", provides(name := f"k8s-{committed}".lower()))
            self.does("instantiate_end", "")
            instance_id = self.acting()
            self.up(instance_id)
            # after those of GRANT and the steps before the last one
            mortal.dies_at[instance_id] = (3, committed)
            end = self.vnfm.run(instance_id, "heal", {})
            if not committed:
                self.assertEqual("FAILED_TEMP", end["operationState"], end)
                self.assertEqual({}, self.vims())
                self.decided(end, "retry", "COMPLETED")
            self.assertIn(name, self.shown(instance_id))
