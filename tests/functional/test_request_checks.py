"""Checks before an operation starts, and their order."""

import threading
from typing import Any, ClassVar

import fixtures

from tacker_cnf import errors
from tests.fixtures import waiting
from tests.fixtures.vnfm import FAKE_VIM, ApiCase, Response, Vnfm

INSTANCES = "/vnflcm/v2/vnf_instances"
OP_OCCS = "/vnflcm/v2/vnf_lcm_op_occs"
PACKAGES = "/vnfpkgm/v1/vnf_packages"
INSTANTIATE = {"flavourId": "simple", "vimConnectionInfo": FAKE_VIM}
SCALE = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
TERMINATE = {"terminationType": "FORCEFUL"}

#: task -> a valid request, and one with an invalid parameter
REQUESTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "instantiate": (INSTANTIATE, INSTANTIATE | {"flavourId": "huge"}),
    "scale": (SCALE, SCALE | {"aspectId": "moon"}),
    "heal": ({}, {"vnfcInstanceId": ["moon"]}),
    # a request with a wrong terminationType cannot be decoded
    "terminate": (TERMINATE, TERMINATE),
}
RUNNING = ("scale", "heal", "terminate")
DECISIONS = ("retry", "rollback", "fail")


class DriverBlock:
    """Blocks a method of the fake driver until it is opened."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self._open = threading.Event()

    def __call__(self, _: Any) -> None:
        self.entered.set()
        assert self._open.wait(60)

    def open(self) -> None:
        self._open.set()


def refuse(_: Any) -> None:
    raise errors.InfraError("quota exceeded")


class CheckTest(ApiCase):
    #: [secrets]
    secrets: ClassVar[dict[str, Any]] = {}

    def setUp(self) -> None:
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.vnfm = self.useFixture(Vnfm(secrets=self.secrets))
        self.call = self.vnfm.call

    def op_occs(self) -> list[Any]:
        found: list[Any] = self.call("GET", OP_OCCS).json
        return found

    def start_blocked(
        self, instance_id: str, task: str, body: Any
    ) -> tuple[DriverBlock, str]:
        """Start an operation that blocks in its driver."""
        block = DriverBlock()
        # it is opened even if the test fails
        self.addCleanup(block.open)
        for verb in ("apply", "replace", "destroy"):
            self.vnfm.driver.before[verb] = block
        response = self.vnfm.task(instance_id, task, body)
        self.assertEqual(202, response.status)
        self.assertTrue(block.entered.wait(60))
        return block, response.headers["Location"]

    def run_failing(self, instance_id: str, task: str, body: Any) -> Any:
        """Run an operation that fails."""
        for verb in ("apply", "replace", "destroy"):
            self.vnfm.driver.before[verb] = refuse
        failed = self.vnfm.run(instance_id, task, body)
        self.vnfm.driver.before.clear()
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        return failed


class TestOrder(CheckTest):
    def test_1_an_unknown_instance_is_rejected(self) -> None:
        for task, requests in REQUESTS.items():
            for body in requests:
                response = self.vnfm.task("none", task, body)
                self.assert_problem(404, response, "There is no VNF instance")

    def test_0_an_invalid_body_is_rejected(self) -> None:
        for task in ("instantiate", "scale", "terminate"):
            response = self.vnfm.task("none", task, {})
            self.assert_problem(400, response, "missing required field")

    def test_2_a_wrong_instantiation_state_is_rejected(self) -> None:
        idle, up = self.vnfm.create(), self.vnfm.create_instantiated()
        cases = [(idle, task) for task in RUNNING] + [(up, "instantiate")]
        for instance_id, task in cases:
            for body in REQUESTS[task]:
                response = self.vnfm.task(instance_id, task, body)
                self.assert_problem(409, response, f"{task.upper()} is not")
        self.assertEqual(1, len(self.op_occs()))

    def test_3_a_busy_instance_is_rejected(self) -> None:
        idle, up = self.vnfm.create(), self.vnfm.create_instantiated()
        cases = [(idle, ["instantiate"]), (up, RUNNING)]
        for instance_id, tasks in cases:
            valid, _ = REQUESTS[tasks[0]]
            block, location = self.start_blocked(instance_id, tasks[0], valid)
            for task in tasks:
                for body in REQUESTS[task]:
                    response = self.vnfm.task(instance_id, task, body)
                    self.assert_problem(409, response, location.split("/")[-1])
            block.open()
            self.vnfm.wait_operation(location)
        self.assertEqual(3, len(self.op_occs()))

    def test_a_failed_operation_reserves_the_instance(self) -> None:
        up = self.vnfm.create_instantiated()
        failed = self.run_failing(up, "scale", SCALE)
        for task in RUNNING:
            for body in REQUESTS[task]:
                response = self.vnfm.task(up, task, body)
                self.assert_problem(409, response, failed["id"])

    def test_4_invalid_parameters_are_rejected(self) -> None:
        idle, up = self.vnfm.create(), self.vnfm.create_instantiated()
        before = self.vnfm.instance(up)
        for instance_id, task, message in (
            (idle, "instantiate", "no flavour 'huge'"),
            (up, "scale", "no scaling aspect 'moon'"),
            (up, "heal", "no VNFC instance moon"),
        ):
            _, invalid = REQUESTS[task]
            response = self.vnfm.task(instance_id, task, invalid)
            self.assert_problem(400, response, message)
        self.assertEqual(before, self.vnfm.instance(up))
        self.assertEqual(1, len(self.op_occs()))


class TestParameters(CheckTest):
    def assert_all_refused(
        self, instance_id: str, task: str, cases: Any
    ) -> None:
        for body, message in cases:
            response = self.vnfm.task(instance_id, task, body)
            self.assert_problem(400, response, message)
        operations = {op_occ["operation"] for op_occ in self.op_occs()}
        self.assertEqual(set(), operations - {"INSTANTIATE"})

    def test_parameters_of_instantiate(self) -> None:
        instance_id = self.vnfm.create()
        level = {"instantiationLevelId": "frantic"}
        cases = [
            (INSTANTIATE | {"flavourId": "huge"}, "only simple, small"),
            (INSTANTIATE | level, "'frantic'"),
            (INSTANTIATE | {"flavourId": ""}, "$.flavourId"),
            (INSTANTIATE | {"additionalParams": 5}, "$.additionalParams"),
        ]
        self.assert_all_refused(instance_id, "instantiate", cases)
        self.assertEqual([], self.op_occs())

    def test_parameters_of_scale(self) -> None:
        down = {"type": "SCALE_IN"}
        cases = [
            (SCALE | {"aspectId": "moon"}, "web_aspect"),
            (SCALE | {"numberOfSteps": 5}, "outside of 0 to 4"),
            (SCALE | down, "outside of 0 to 4"),
            (SCALE | {"numberOfSteps": 0}, "$.numberOfSteps"),
            (SCALE | {"numberOfSteps": -1}, "$.numberOfSteps"),
            (SCALE | {"numberOfSteps": 1.5}, "$.numberOfSteps"),
            (SCALE | {"numberOfSteps": 10**18}, "outside of 0 to 4"),
            (SCALE | {"type": "SCALE_UP"}, "$.type"),
            ({"type": "SCALE_OUT"}, "`aspectId`"),
        ]
        self.assert_all_refused(
            self.vnfm.create_instantiated(), "scale", cases
        )

    def test_parameters_of_heal(self) -> None:
        cases = [
            ({"vnfcInstanceId": ["web-web-99"]}, "instance web-web-99"),
            ({"vnfcInstanceId": "web"}, "$.vnfcInstanceId"),
            ({"vnfcInstanceId": [""]}, "$.vnfcInstanceId[0]"),
            ({"cause": 5}, "$.cause"),
        ]
        self.assert_all_refused(self.vnfm.create_instantiated(), "heal", cases)

    def test_parameters_of_terminate(self) -> None:
        timeout = "gracefulTerminationTimeout"
        cases = [
            ({}, "`terminationType`"),
            ({"terminationType": "SOON"}, "$.terminationType"),
            (TERMINATE | {timeout: 0}, f"$.{timeout}"),
            (TERMINATE | {timeout: "5"}, f"$.{timeout}"),
            (TERMINATE | {timeout: 10**9}, "<= 31536000"),
        ]
        self.assert_all_refused(
            self.vnfm.create_instantiated(), "terminate", cases
        )

    def test_parameters_at_the_limit_are_accepted(self) -> None:
        instance_id = self.vnfm.create_instantiated()
        for kind in ("SCALE_OUT", "SCALE_IN"):
            body = SCALE | {"type": kind, "numberOfSteps": 4}
            done = self.vnfm.run(instance_id, "scale", body)
            self.assertEqual("COMPLETED", done["operationState"])


class TestCreate(CheckTest):
    def test_the_vnfd_has_to_be_onboarded_and_enabled(self) -> None:
        response = self.call("POST", INSTANCES, {"vnfdId": "moon"})
        self.assert_problem(422, response, "moon")
        vnfd_id = self.vnfm.onboard()
        (package,) = self.call("GET", PACKAGES).json
        path = f"{PACKAGES}/{package['id']}"
        for state, status in (("DISABLED", 422), ("ENABLED", 201)):
            self.call("PATCH", path, {"operationalState": state})
            response = self.call("POST", INSTANCES, {"vnfdId": vnfd_id})
            self.assertEqual(status, response.status, state)

    def test_an_instance_of_a_disabled_package_can_be_used(self) -> None:
        instance_id = self.vnfm.create()
        (package,) = self.call("GET", PACKAGES).json
        path = f"{PACKAGES}/{package['id']}"
        self.call("PATCH", path, {"operationalState": "DISABLED"})
        for task in ("instantiate", "scale", "heal", "terminate"):
            done = self.vnfm.run(instance_id, task, REQUESTS[task][0])
            self.assertEqual("COMPLETED", done["operationState"], task)


class TestDelete(CheckTest):
    def delete(self, instance_id: str) -> Response:
        return self.call("DELETE", f"{INSTANCES}/{instance_id}")

    def test_an_instantiated_vnf_cannot_be_deleted(self) -> None:
        up = self.vnfm.create_instantiated()
        response = self.delete(up)
        self.assert_problem(
            409, response, "is INSTANTIATED; terminate it first"
        )
        self.assertEqual(
            "INSTANTIATED", self.vnfm.instance(up)["instantiationState"]
        )

    def test_a_reserved_instance_cannot_be_deleted(self) -> None:
        idle = self.vnfm.create()
        block, location = self.start_blocked(idle, "instantiate", INSTANTIATE)
        self.assert_problem(409, self.delete(idle), location.split("/")[-1])
        block.open()
        self.vnfm.wait_operation(location)

    def test_an_instance_with_a_failed_operation_cannot_be_deleted(
        self,
    ) -> None:
        idle = self.vnfm.create()
        failed = self.run_failing(idle, "instantiate", INSTANTIATE)
        self.assert_problem(409, self.delete(idle), failed["id"])
        self.vnfm.decide(failed["id"], "fail")
        # and until its leftovers are removed
        self.assert_problem(409, self.delete(idle), failed["id"])
        waiting.until(lambda: self.delete(idle).status == 204, "the deletion")
        # its operations can still be read
        path = f"{OP_OCCS}/{failed['id']}"
        self.assertEqual(
            "FAILED", self.call("GET", path).json["operationState"]
        )


class TestDecisions(CheckTest):
    def decide(self, op_occ_id: str, decision: str) -> Response:
        return self.call("POST", f"{OP_OCCS}/{op_occ_id}/{decision}")

    def assert_all_refused(
        self, op_occ: Any, *decisions: str, offered: str = ""
    ) -> None:
        for decision in decisions or DECISIONS:
            response = self.decide(op_occ["id"], decision)
            self.assert_problem(409, response, "not possible")
        self.assertEqual(set(offered.split()), self.offered(op_occ["id"]))

    def offered(self, op_occ_id: str) -> set[str]:
        links = self.call("GET", f"{OP_OCCS}/{op_occ_id}").json["_links"]
        return set(links) - {"self", "vnfInstance"}

    def test_decisions_about_an_unknown_operation_are_rejected(self) -> None:
        for decision in DECISIONS:
            response = self.decide("none", decision)
            self.assert_problem(404, response, "occurrence none")

    def test_decisions_about_a_running_operation_are_rejected(self) -> None:
        up = self.vnfm.create_instantiated()
        block, location = self.start_blocked(up, "scale", SCALE)
        self.assert_all_refused(
            self.call("GET", location).json, offered="cancel"
        )
        block.open()
        self.vnfm.wait_operation(location)

    def test_decisions_about_an_ended_operation_are_rejected(self) -> None:
        up = self.vnfm.create_instantiated()
        self.assert_all_refused(self.vnfm.run(up, "scale", SCALE))
        for decision in ("rollback", "fail"):
            failed = self.run_failing(up, "scale", SCALE)
            self.assert_all_refused(self.vnfm.decide(failed["id"], decision))
        self.vnfm.nfvo.fails_with = errors.GrantRejected()
        self.assert_all_refused(self.vnfm.run(up, "scale", SCALE))

    def test_operations_without_a_rollback(self) -> None:
        up = self.vnfm.create_instantiated()
        for task in ("heal", "terminate"):
            failed = self.run_failing(up, task, REQUESTS[task][0])
            response = self.decide(failed["id"], "rollback")
            message = f"{task.upper()} cannot be rolled back"
            self.assert_problem(409, response, message)
            self.assertEqual({"retry", "fail"}, self.offered(failed["id"]))
            self.vnfm.decide(failed["id"], "fail")

    def test_possible_decisions_are_offered(self) -> None:
        up, idle = self.vnfm.create_instantiated(), self.vnfm.create()
        for instance_id, task in ((up, "scale"), (idle, "instantiate")):
            failed = self.run_failing(instance_id, task, REQUESTS[task][0])
            self.assertEqual(set(DECISIONS), self.offered(failed["id"]))

    def test_of_concurrent_decisions_one_is_accepted(self) -> None:
        up = self.vnfm.create_instantiated()
        failed = self.run_failing(up, "scale", SCALE)
        barrier = threading.Barrier(3)
        statuses: list[int] = []

        def decide(decision: str) -> None:
            barrier.wait(60)
            statuses.append(self.decide(failed["id"], decision).status)

        threads = [
            threading.Thread(target=decide, args=(d,)) for d in DECISIONS
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual([409, 409], sorted(statuses)[1:])
        self.vnfm.wait_operation(f"{OP_OCCS}/{failed['id']}")


class TestConcurrentOperations(CheckTest):
    def test_of_concurrent_operations_one_is_accepted(self) -> None:
        up = self.vnfm.create_instantiated()
        block = DriverBlock()
        self.addCleanup(block.open)
        self.vnfm.driver.before["apply"] = block
        barrier = threading.Barrier(6)
        responses: list[Response] = []

        def scale() -> None:
            barrier.wait(60)
            responses.append(self.vnfm.task(up, "scale", SCALE))

        threads = [threading.Thread(target=scale) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        statuses = sorted(response.status for response in responses)
        self.assertEqual([202] + [409] * 5, statuses)
        self.assertEqual(2, len(self.op_occs()))
        block.open()
        (first,) = (a for a in responses if a.status == 202)
        self.vnfm.wait_operation(first.headers["Location"])
        found = self.vnfm.instance(up)["instantiatedVnfInfo"]["scaleStatus"]
        self.assertIn({"aspectId": "web_aspect", "scaleLevel": 1}, found)


class TestConnectivity(CheckTest):
    def test_an_unknown_connection_point_is_rejected(self) -> None:
        up = self.vnfm.create_instantiated()
        config = {"linkPortId": "a-port"}
        body = {
            "extVirtualLinks": [
                {
                    "id": "outside",
                    "resourceId": "a-network",
                    "extCps": [{"cpdId": "eth0", "cpConfig": {"a": config}}],
                }
            ]
        }
        response = self.vnfm.task(up, "change_ext_conn", body)
        self.assertEqual(400, response.status)
        self.assertIn("no connection point 'eth0'", response.detail)
