"""The lifecycle of a VNF over HTTP, with the fake driver."""

from typing import Any

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.fake import FakeCall
from tests.factories import a_vnfc
from tests.fixtures.vnfm import FAKE_VIM, Vnfm

INSTANCES = "/vnflcm/v2/vnf_instances"
INSTANTIATE = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
SCALE_OUT = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
SCALE_IN = {"type": "SCALE_IN", "aspectId": "web_aspect"}
TERMINATE = {"terminationType": "GRACEFUL", "gracefulTerminationTimeout": 5}
#: one VNFC of each VDU, as the flavour defines it
ONE_OF_EACH = ["agent", "cache", "probe", "store", "web"]
BROKEN = "quota exceeded"


class LifecycleTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.vnfm = self.useFixture(Vnfm())

    def run_completed(self, instance_id: str, task: str, body: Any) -> Any:
        """Run an operation that completes; return its resource changes."""
        done = self.vnfm.run(instance_id, task, body)
        self.assertEqual("COMPLETED", done["operationState"])
        self.assertNotIn("error", done)
        return self.changes(done)

    def changes(self, op_occ: Any) -> dict[str, list[str]]:
        """Return the VDUs of added and removed VNFCs: change -> VDUs."""
        changes_by_vdu: dict[str, list[str]] = {}
        for vnfc in op_occ["resourceChanges"].get("affectedVnfcs", ()):
            changes_by_vdu.setdefault(vnfc["changeType"], []).append(
                vnfc["vduId"]
            )
        return {kind: sorted(vdus) for kind, vdus in changes_by_vdu.items()}

    def inject_fault(self, *verbs: str, half: str | None = None) -> None:
        """Let methods of the driver fail, optionally after one VNFC."""

        def fail(call: FakeCall) -> None:
            if half:
                task = call.task
                vnfcs = self.vnfm.driver.vnfcs.get(task.instance.id, ())
                vnfc = a_vnfc(f"half-{len(vnfcs)}", half)
                self.vnfm.driver.vnfcs[task.instance.id] = (*vnfcs, vnfc)
            raise errors.InfraError(BROKEN)

        for verb in verbs:
            self.vnfm.driver.before[verb] = fail

    def repair(self) -> None:
        self.vnfm.driver.before.clear()

    def run_failing(self, instance_id: str, task: str, body: Any) -> Any:
        """Run an operation that fails; return it."""
        failed = self.vnfm.run(instance_id, task, body)
        self.assert_failed(failed)
        return failed

    def assert_failed(self, op_occ: Any) -> None:
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        self.assertEqual(
            {
                "status": 422,
                "title": "Unprocessable Entity",
                "detail": BROKEN,
            },
            op_occ["error"],
        )

    def on_vim(self, instance_id: str) -> list[str]:
        """Return the VDUs of an instance's VNFCs on the VIM."""
        vnfcs = self.vnfm.driver.vnfcs.get(instance_id, ())
        return sorted(vnfc.vdu_id for vnfc in vnfcs)

    def info(self, instance_id: str) -> Any:
        return self.vnfm.instance(instance_id)["instantiatedVnfInfo"]

    def list_recorded(self, instance_id: str) -> list[str]:
        """Return the VDUs of an instance's recorded VNFCs."""
        vnfcs = self.info(instance_id)["vnfcResourceInfo"]
        return sorted(vnfc["vduId"] for vnfc in vnfcs)

    def level(self, instance_id: str) -> int:
        levels = self.info(instance_id)["scaleStatus"]
        (web,) = (s for s in levels if s["aspectId"] == "web_aspect")
        return int(web["scaleLevel"])

    def state(self, instance_id: str) -> str:
        return str(self.vnfm.instance(instance_id)["instantiationState"])

    def names(self, instance_id: str) -> set[str]:
        return {v["id"] for v in self.info(instance_id)["vnfcInfo"]}


class TestTime(LifecycleTest):
    def test_the_graceful_timeout_is_not_part_of_the_operation_timeout(
        self,
    ) -> None:
        instance_id = self.vnfm.create_instantiated()
        remaining: list[float] = []
        self.vnfm.driver.before["destroy"] = lambda call: remaining.append(
            call.context.deadline.remaining
        )
        limit = self.vnfm.conf.conductor.operation_timeout
        long = {"gracefulTerminationTimeout": 10 * int(limit)}
        self.run_completed(instance_id, "terminate", TERMINATE | long)
        self.assertTrue(remaining[0] > 10 * limit)


class TestLifecycle(LifecycleTest):
    def test_from_package_to_deletion(self) -> None:
        one = self.vnfm.create()
        self.assertEqual("NOT_INSTANTIATED", self.state(one))
        self.assertEqual(
            {"ADDED": ONE_OF_EACH},
            self.run_completed(one, "instantiate", INSTANTIATE),
        )
        self.assertEqual("INSTANTIATED", self.state(one))
        self.assertEqual(ONE_OF_EACH, self.list_recorded(one))

        two_steps = SCALE_OUT | {"numberOfSteps": 2}
        self.assertEqual(
            {"ADDED": ["web", "web"]},
            self.run_completed(one, "scale", two_steps),
        )
        self.assertEqual(2, self.level(one))
        self.assertEqual(
            {"REMOVED": ["web"]}, self.run_completed(one, "scale", SCALE_IN)
        )
        self.assertEqual(1, self.level(one))
        self.assertEqual([*ONE_OF_EACH, "web"], self.list_recorded(one))

        before = self.names(one)
        (cache,) = (name for name in before if name.startswith("cache-"))
        self.assertEqual(
            {"REMOVED": ["cache"], "ADDED": ["cache"]},
            self.run_completed(one, "heal", {"vnfcInstanceId": [cache]}),
        )
        self.assertEqual({cache}, before - self.names(one))

        before = self.names(one)
        everything = [*ONE_OF_EACH, "web"]
        self.assertEqual(
            {"REMOVED": everything, "ADDED": everything},
            self.run_completed(one, "heal", {}),
        )
        self.assertEqual(set(), before & self.names(one))
        self.assertEqual(1, self.level(one))

        self.assertEqual(
            {"REMOVED": everything},
            self.run_completed(one, "terminate", TERMINATE),
        )
        self.assertEqual("NOT_INSTANTIATED", self.state(one))
        self.assertEqual([], self.on_vim(one))
        self.assertEqual(
            204, self.vnfm.call("DELETE", f"{INSTANCES}/{one}").status
        )
        self.assertEqual([], self.vnfm.call("GET", INSTANCES).json)

    def test_it_can_be_instantiated_again_with_another_flavour(self) -> None:
        one = self.vnfm.create_instantiated()
        self.run_completed(one, "terminate", TERMINATE)
        self.run_completed(
            one, "instantiate", INSTANTIATE | {"flavourId": "small"}
        )
        self.assertEqual("small", self.info(one)["flavourId"])

    def test_the_instantiation_level(self) -> None:
        one = self.vnfm.create_instantiated(instantiationLevelId="busy")
        self.assertEqual(2, self.level(one))
        self.assertEqual(3, self.list_recorded(one).count("web"))
        self.assertEqual(3, self.list_recorded(one).count("store"))

    def test_two_instances_are_independent(self) -> None:
        one = self.vnfm.create_instantiated()
        two = self.vnfm.create(self.vnfm.instance(one)["vnfdId"])
        self.run_completed(two, "instantiate", INSTANTIATE)
        self.run_completed(two, "scale", SCALE_OUT)
        self.run_completed(two, "terminate", TERMINATE)
        self.assertEqual(ONE_OF_EACH, self.on_vim(one))
        self.assertEqual(ONE_OF_EACH, self.list_recorded(one))

    def test_attributes_of_an_operation(self) -> None:
        one = self.vnfm.create()
        secret = {"ki": {"colour": "hunter2"}, "namespace": "red"}
        request = INSTANTIATE | {"additionalParams": secret}
        done = self.vnfm.run(one, "instantiate", request)
        self.assertEqual("INSTANTIATE", done["operation"])
        self.assertEqual(one, done["vnfInstanceId"])
        self.assertEqual(
            INSTANTIATE
            | {"additionalParams": {"ki": "***", "namespace": "red"}},
            done["operationParams"],
        )
        self.assertFalse(done["isAutomaticInvocation"])
        self.assertFalse(done["isCancelPending"])
        self.assertLessEqual(done["startTime"], done["stateEnteredTime"])
        (grant_request,) = self.vnfm.nfvo.requests
        self.assertEqual(done["id"], grant_request.vnf_lcm_op_occ_id)
        self.assertTrue(done["grantId"])

    def test_the_driver_gets_the_termination_type(self) -> None:
        grace_periods: list[int | None] = []
        self.vnfm.driver.before["destroy"] = lambda call: grace_periods.append(
            call.task.change.grace
        )
        for request in (
            {"terminationType": "FORCEFUL"},
            {"terminationType": "GRACEFUL"},
            TERMINATE,
        ):
            self.run_completed(
                self.vnfm.create_instantiated(), "terminate", request
            )
        self.assertEqual([0, None, 5], grace_periods)


class TestRetry(LifecycleTest):
    def test_each_operation_can_be_retried(self) -> None:
        one = self.vnfm.create()
        for task, body, changed in (
            ("instantiate", INSTANTIATE, {"ADDED": ONE_OF_EACH}),
            ("scale", SCALE_OUT, {"ADDED": ["web"]}),
            ("scale", SCALE_IN, {"REMOVED": ["web"]}),
            ("heal", {}, {"REMOVED": ONE_OF_EACH, "ADDED": ONE_OF_EACH}),
            ("terminate", TERMINATE, {"REMOVED": ONE_OF_EACH}),
        ):
            self.inject_fault("apply", "replace", "destroy")
            failed = self.run_failing(one, task, body)
            self.assert_failed(self.vnfm.decide(failed["id"], "retry"))
            self.repair()
            done = self.vnfm.decide(failed["id"], "retry")
            self.assertEqual("COMPLETED", done["operationState"])
            self.assertNotIn("error", done)
            self.assertEqual(changed, self.changes(done), task)
        self.assertEqual("NOT_INSTANTIATED", self.state(one))
        self.assertEqual([], self.on_vim(one))
        # each grant was requested once
        self.assertEqual(5, len(self.vnfm.nfvo.requests))

    def test_a_retry_continues_from_the_created_vnfcs(self) -> None:
        one = self.vnfm.create_instantiated()
        self.inject_fault("apply", half="web")
        body = SCALE_OUT | {"numberOfSteps": 2}
        failed = self.run_failing(one, "scale", body)
        self.assertEqual({"ADDED": ["web"]}, self.changes(failed))
        self.repair()
        done = self.vnfm.decide(failed["id"], "retry")
        self.assertEqual({"ADDED": ["web", "web"]}, self.changes(done))
        self.assertEqual(3, self.on_vim(one).count("web"))
        self.assertEqual(2, self.level(one))


class TestRollback(LifecycleTest):
    def test_of_an_instantiation_leaves_nothing(self) -> None:
        one = self.vnfm.create()
        before = self.vnfm.instance(one)
        self.inject_fault("apply", half="web")
        failed = self.run_failing(one, "instantiate", INSTANTIATE)
        self.assertEqual({"ADDED": ["web"]}, self.changes(failed))
        self.assertEqual(["web"], self.on_vim(one))
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"])
        self.assertEqual(BROKEN, back["error"]["detail"])
        self.assertEqual({}, self.changes(back))
        self.assertEqual([], self.on_vim(one))
        self.assertEqual(before, self.vnfm.instance(one))
        self.repair()
        self.run_completed(one, "instantiate", INSTANTIATE)

    def test_of_a_scale_restores_the_former_level(self) -> None:
        one = self.vnfm.create_instantiated()
        self.run_completed(one, "scale", SCALE_OUT)
        before = self.vnfm.instance(one)
        self.inject_fault("apply", half="web")
        failed = self.run_failing(one, "scale", SCALE_OUT)
        self.repair()
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"])
        self.assertEqual({}, self.changes(back))
        self.assertEqual(before, self.vnfm.instance(one))
        self.assertEqual([*ONE_OF_EACH, "web"], self.on_vim(one))
        self.run_completed(one, "scale", SCALE_IN)

    def test_a_failed_rollback_can_be_repeated(self) -> None:
        one = self.vnfm.create()
        self.inject_fault("apply", half="web")
        failed = self.run_failing(one, "instantiate", INSTANTIATE)
        self.inject_fault("destroy")
        self.assert_failed(self.vnfm.decide(failed["id"], "rollback"))
        self.assertEqual(["web"], self.on_vim(one))
        self.repair()
        back = self.vnfm.decide(failed["id"], "rollback")
        self.assertEqual("ROLLED_BACK", back["operationState"])
        self.assertEqual([], self.on_vim(one))

    def test_a_retry_is_possible_after_a_failed_rollback(self) -> None:
        one = self.vnfm.create()
        self.inject_fault("apply", "destroy")
        failed = self.run_failing(one, "instantiate", INSTANTIATE)
        self.assert_failed(self.vnfm.decide(failed["id"], "rollback"))
        self.repair()
        done = self.vnfm.decide(failed["id"], "retry")
        self.assertEqual("COMPLETED", done["operationState"])
        self.assertEqual(ONE_OF_EACH, self.on_vim(one))

    def test_heal_and_terminate_cannot_be_rolled_back(self) -> None:
        one = self.vnfm.create_instantiated()
        self.inject_fault("replace", "destroy")
        for task, body in (("heal", {}), ("terminate", TERMINATE)):
            failed = self.run_failing(one, task, body)
            path = f"/vnflcm/v2/vnf_lcm_op_occs/{failed['id']}"
            refused = self.vnfm.call("POST", f"{path}/rollback")
            self.assertEqual(409, refused.status)
            self.assertIn("cannot be rolled back", refused.detail)
            unchanged = self.vnfm.call("GET", path).json
            self.assertEqual("FAILED_TEMP", unchanged["operationState"])
            self.vnfm.decide(failed["id"], "fail")


class TestFail(LifecycleTest):
    def test_it_frees_the_instance(self) -> None:
        one = self.vnfm.create()
        for task, body in (
            ("instantiate", INSTANTIATE),
            ("scale", SCALE_OUT),
            ("heal", {}),
            ("terminate", TERMINATE),
        ):
            before = self.vnfm.instance(one)
            self.inject_fault("apply", "replace", "destroy")
            failed = self.run_failing(one, task, body)
            ended = self.vnfm.decide(failed["id"], "fail")
            self.assertEqual("FAILED", ended["operationState"])
            self.assertEqual(BROKEN, ended["error"]["detail"])
            self.assertEqual(before, self.vnfm.instance(one))
            self.repair()
            self.run_completed(one, task, body)

    def test_its_response_is_the_operation(self) -> None:
        one = self.vnfm.create()
        self.inject_fault("apply")
        failed = self.run_failing(one, "instantiate", INSTANTIATE)
        path = f"/vnflcm/v2/vnf_lcm_op_occs/{failed['id']}"
        response = self.vnfm.call("POST", f"{path}/fail")
        self.assertEqual(200, response.status)
        self.assertEqual("FAILED", response.json["operationState"])
        self.assertEqual(response.json, self.vnfm.call("GET", path).json)


class TestRecordedState(LifecycleTest):
    def test_changes_of_a_failed_operation_are_reported(self) -> None:
        one = self.vnfm.create_instantiated()
        before = self.vnfm.instance(one)
        for verb, task, body in (
            ("apply", "scale", SCALE_OUT),
            ("replace", "heal", {}),
            ("destroy", "terminate", TERMINATE),
        ):
            self.inject_fault(verb)
            failed = self.run_failing(one, task, body)
            self.assertEqual({}, self.changes(failed))
            self.vnfm.decide(failed["id"], "fail")
        self.assertEqual(before, self.vnfm.instance(one))

    def test_no_changes_are_reported_of_an_unreachable_vim(self) -> None:
        one = self.vnfm.create_instantiated()
        self.inject_fault("apply", "observe")
        failed = self.run_failing(one, "scale", SCALE_OUT)
        self.assertNotIn("resourceChanges", failed)

    def test_a_bug_of_a_driver_is_not_exposed(self) -> None:
        def bug(_: FakeCall) -> None:
            raise RuntimeError("hunter2")

        one = self.vnfm.create()
        self.vnfm.driver.before["apply"] = bug
        failed = self.vnfm.run(one, "instantiate", INSTANTIATE)
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        self.assertEqual(500, failed["error"]["status"])
        self.assertNotIn("hunter2", str(failed))
        self.assertIn("RuntimeError: hunter2", self.log.output)


class TestGrant(LifecycleTest):
    def test_an_operation_that_is_not_granted_changes_nothing(self) -> None:
        one = self.vnfm.create()
        for task, body in (
            ("instantiate", INSTANTIATE),
            ("scale", SCALE_OUT),
            ("heal", {}),
            ("terminate", TERMINATE),
        ):
            before = self.vnfm.instance(one)
            vdus_on_vim = self.on_vim(one)
            self.vnfm.nfvo.fails_with = errors.GrantRejected("not today")
            refused = self.vnfm.run(one, task, body)
            self.assertEqual("ROLLED_BACK", refused["operationState"])
            self.assertEqual(
                {"status": 403, "title": "Forbidden", "detail": "not today"},
                refused["error"],
            )
            self.assertNotIn("resourceChanges", refused)
            self.assertNotIn("grantId", refused)
            self.assertEqual(before, self.vnfm.instance(one))
            self.assertEqual(vdus_on_vim, self.on_vim(one))
            # and the instance is free
            self.vnfm.nfvo.fails_with = None
            self.run_completed(one, task, body)

    def test_an_error_of_the_nfvo_is_a_refusal(self) -> None:
        one = self.vnfm.create()
        self.vnfm.nfvo.fails_with = RuntimeError("hunter2")
        refused = self.vnfm.run(one, "instantiate", INSTANTIATE)
        self.assertEqual("ROLLED_BACK", refused["operationState"])
        self.assertEqual(500, refused["error"]["status"])
        self.assertNotIn("hunter2", str(refused))
