"""The fault matrix: each operation x each step x each fault.

It is a loop: the expected result follows from rules, not from a table of
cases. The cluster, the scripts and the subscriber are real; only the crash of
the conductor is simulated: it stops at a commit. All cases of a kind of
operation run at once, as operations do.
"""

import itertools
import textwrap
import unittest
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.base import Plan, TaskContext
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.nfvo.fake import FakeNfvo
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.grant import Grant, GrantRequest
from tests.fixtures.cluster import CnfService
from tests.fixtures.crashing_conductor import (
    CrashingConductor,
    start_conductor,
)
from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.vnfm import Csar
from tests.functional.test_scripts import (
    FLAVOUR,
    SCRIPT,
    flavour_with_scripts,
)
from tests.operation_kinds import KINDS, OperationKind

VIM_TYPE: Final = "ETSINFV.KUBERNETES.V_1"
INSTANCES: Final = "/vnflcm/v2/vnf_instances"
SUBSCRIPTIONS: Final = "/vnflcm/v2/subscriptions"

#: fails if a file of the instance's id has the name of its hook
SCRIPT_TEXT: Final = """\
    import json, pathlib, sys
    script_input = json.load(sys.stdin)
    fault = pathlib.Path({faults!r}) / script_input["vnfInstance"]["id"]
    if fault.exists() and fault.read_text() == script_input["operation"]:
        sys.exit("a fault is injected")
    print("{{}}")
"""
FAULTS: Final = ("raises", "killed before", "killed after")
#: cases that run at the same time, and seconds that any may take
PARALLEL_CASES: Final = 8
OPERATION_TIMEOUT_S: Final = 180.0


class FaultyDriver:
    """The real driver, which can fail after its work."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        #: instances whose operations fail
        self.faults: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def execute(self, plan: Plan, context: TaskContext) -> Observed:
        result: Observed = self._inner.execute(plan, context)
        if plan.task.instance.id in self.faults:
            raise errors.InfraError("the VIM failed half-way")
        return result


class FaultyNfvo(FakeNfvo):
    """Grants, but rejects some instances."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: set[str] = set()

    def grant(
        self,
        request: GrantRequest,
        cancel_token: CancelToken,
        deadline: Deadline,
    ) -> Grant:
        if request.vnf_instance_id in self.faults:
            raise errors.GrantRejected("not today")
        return super().grant(request, cancel_token, deadline)


class Matrix(testtools.TestCase):
    """One kind of operation with each fault at each step."""

    kind: OperationKind

    def setUp(self) -> None:
        super().setUp()
        self.vnfm = self.useFixture(CnfService())
        self.receiver = self.useFixture(HttpReceiver())
        body = {"callbackUri": self.receiver.url}
        self.assertEqual(
            201, self.vnfm.call("POST", SUBSCRIPTIONS, body).status
        )
        self.vnfm.conductor.stop()
        self.nfvo = FaultyNfvo()
        self.vnfm.nfvo = self.nfvo
        self.driver = FaultyDriver(self.vnfm.parts.drivers.for_type(VIM_TYPE))
        self.vnfm.parts.drivers.install(VIM_TYPE, self.driver)
        self.faults = Path(self.vnfm.state_path) / "faults"
        self.faults.mkdir()
        hooks = [
            f"{self.kind.hook}{back}_{phase}"
            for back in ("", "_rollback")
            for phase in ("start", "end")
        ]
        text = textwrap.dedent(SCRIPT_TEXT)
        script = text.format(faults=str(self.faults))
        files = {SCRIPT: script, FLAVOUR: flavour_with_scripts(*hooks)}
        self.vnfd_id = self.vnfm.onboard(self.useFixture(Csar(files=files)))
        self.conductor = start_conductor(self.vnfm, CrashingConductor)
        self.namespaces: dict[str, str] = {}

    # requests

    def request(self, instance_id: str) -> Any:
        body = self.vnfm.deployment_only()
        place = self.vnfm.cluster.namespace()
        body["additionalParams"]["namespace"] = place
        self.namespaces[instance_id] = place
        return body

    def vnfc_of(self, instance_id: str) -> str:
        return self.vnfm.vnfc_of(instance_id, "web")

    def prepare_instance(self) -> str:
        """Create an instance on which the operation is possible."""
        instance_id = self.vnfm.create(self.vnfd_id)
        for task, body in self.kind.before:
            request_body = body or self.request(instance_id)
            end = self.vnfm.run(instance_id, task, request_body)
            self.assertEqual("COMPLETED", end["operationState"], end)
        return instance_id

    def start_operation(self, instance_id: str) -> str:
        path = f"{INSTANCES}/{instance_id}{self.kind.task}"
        body = self.kind.body(self, instance_id)
        response = self.vnfm.call(self.kind.method, path, body)
        self.assertEqual(202, response.status)
        return str(response.headers["Location"])

    def decide(self, location: str, decision: str) -> Any:
        response = self.vnfm.call("POST", f"{location}/{decision}")
        self.assertEqual(202, response.status)
        return self.wait_operation(location)

    def wait_operation(self, location: str) -> Any:
        return self.vnfm.wait_operation(location, OPERATION_TIMEOUT_S)

    # faults

    def arm(
        self,
        instance_id: str,
        step: str,
        fault: str,
        *,
        rollback: bool = False,
    ) -> None:
        """Inject a fault at a step."""
        steps = self.kind.rollback_steps if rollback else self.kind.steps
        if fault != "raises":
            crash = (steps.index(step), fault == "killed after")
            self.conductor.crash_at[instance_id] = crash
        elif step == "GRANT":
            self.nfvo.faults.add(instance_id)
        elif step in {"INFRA", "RESTORE"}:
            self.driver.faults.add(instance_id)
        else:
            phase = "start" if step == "PREAMBLE" else "end"
            hook = self.kind.hook + "_rollback" * rollback
            (self.faults / instance_id).write_text(f"{hook}_{phase}")

    def disarm(self, instance_id: str) -> None:
        self.nfvo.faults.discard(instance_id)
        self.driver.faults.discard(instance_id)
        (self.faults / instance_id).unlink(missing_ok=True)

    # expected results

    def expected(self, step: str, fault: str) -> list[str]:
        """Return the states that an operation passes before a decision."""
        began = [self.kind.first_state]
        if self.kind.first_state == "STARTING":
            began.append("PROCESSING")
        last = self.kind.steps[-1]
        if (step, fault) == ("GRANT", "raises"):
            return ["STARTING", "ROLLED_BACK"]
        if (step, fault) in {
            ("GRANT", "killed before"),  # nothing was done: it begins again
            (last, "killed after"),
        }:
            return [*began, "COMPLETED"]
        return [*began, "FAILED_TEMP"]

    def decisions(self) -> Iterable[str]:
        return ("retry", "rollback") if self.kind.reversible else ("retry",)

    def objects(self, instance_id: str) -> dict[tuple[str, str], str]:
        """Return the objects of the cluster: (kind, name) -> uid."""
        place = self.namespaces.get(instance_id)
        return self.vnfm.cluster.uids(place) if place else {}

    def assert_end(
        self, instance_id: str, op_occ: Any, states: list[str]
    ) -> None:
        """Check the state, the notifications and the lock of the instance."""
        self.assertEqual(states[-1], op_occ["operationState"], op_occ)
        self.assert_notified(op_occ["id"], states)
        failed = states[-1] == "FAILED_TEMP"
        self.assertEqual(failed, self.is_reserved(instance_id))
        self.assertEqual(states[-1] != "COMPLETED", "error" in op_occ)

    def assert_changes_reported(self, op_occ: Any, step: str) -> None:
        """Check that changes on the VIM before the failure are reported."""
        steps = self.kind.steps
        if "INFRA" in steps:
            changed = steps.index(step) >= steps.index("INFRA")
            has_changes = bool(op_occ.get("resourceChanges"))
            self.assertEqual(changed, has_changes, op_occ)

    def assert_offered(self, location: str, op_occ: Any) -> None:
        """Check that rollback is offered if it is possible, else refused."""
        self.assertEqual(self.kind.reversible, "rollback" in op_occ["_links"])
        if not self.kind.reversible:
            refused = self.vnfm.call("POST", f"{location}/rollback")
            self.assertEqual(409, refused.status)

    def is_reserved(self, instance_id: str) -> bool:
        response = self.vnfm.call("DELETE", f"{INSTANCES}/{instance_id}")
        if response.status == 204:
            return False
        self.assertEqual(409, response.status)
        return "is reserved by" in response.detail

    def assert_notified(self, op_occ_id: str, states: list[str]) -> None:
        """Check the notifications of the subscriber, in their order."""
        notifications = self.receiver.wait(
            len(states), vnfLcmOpOccId=op_occ_id
        )
        self.assertEqual(
            states, [sent.json["operationState"] for sent in notifications]
        )

    def test_start(self) -> None:
        """Each step fails, or the conductor crashes around its commit."""
        cases = itertools.product(self.kind.steps, FAULTS, self.decisions())
        self.run_concurrently(self.check_start, cases)

    def run_concurrently(
        self,
        go_through: Callable[..., None],
        cases: Iterable[tuple[str, ...]],
    ) -> None:
        with ThreadPoolExecutor(PARALLEL_CASES) as pool:
            futures = {pool.submit(go_through, *case): case for case in cases}
        for future, case in futures.items():
            name = " | ".join([self.kind.name, *case])
            self.addDetail("case", testtools.content.text_content(name))
            future.result()

    def check_start(self, step: str, fault: str, decision: str) -> None:
        instance_id = self.prepare_instance()
        objects_before = self.objects(instance_id)
        self.arm(instance_id, step, fault)
        location = self.start_operation(instance_id)
        end = self.wait_operation(location)
        self.disarm(instance_id)
        states = self.expected(step, fault)
        if end["operationState"] == "ROLLED_BACK":
            self.assertEqual(objects_before, self.objects(instance_id))
        self.assert_end(instance_id, end, states)
        if states[-1] == "FAILED_TEMP":
            self.assert_changes_reported(end, step)
            self.assert_offered(location, end)
            end = self.decide(location, decision)
            self.assert_decided(
                instance_id, end, states, decision, objects_before
            )

    def assert_decided(
        self,
        instance_id: str,
        end: Any,
        states: list[str],
        decision: str,
        objects_before: dict[tuple[str, str], str],
    ) -> None:
        if decision == "rollback":
            self.assert_restored(objects_before, self.objects(instance_id))
            after = ["ROLLING_BACK", "ROLLED_BACK"]
        else:
            after = ["PROCESSING", "COMPLETED"]
        self.assert_end(instance_id, end, [*states, *after])

    def assert_restored(
        self,
        before: dict[tuple[str, str], str],
        after: dict[tuple[str, str], str],
    ) -> None:
        """Check that no object is left over, none is missing, and only pods
        that a scale had deleted are new.
        """

        def without_pods(found: dict[tuple[str, str], str]) -> dict[Any, str]:
            return {k: uid for k, uid in found.items() if k[0] != "pods"}

        self.assertEqual(without_pods(before), without_pods(after))
        pods = [
            sum(k[0] == "pods" for k in found) for found in (before, after)
        ]
        self.assertEqual(pods[0], pods[1])


class ReversibleMatrix(Matrix):
    """The same for operations with a rollback, and the rollback's steps."""

    def test_rollback(self) -> None:
        """A rollback's step fails; another rollback ends it."""
        self.run_concurrently(
            self.check_rollback,
            itertools.product(self.kind.rollback_steps, FAULTS),
        )

    def check_rollback(self, step: str, fault: str) -> None:
        failing = self.kind.steps[-1]
        instance_id = self.prepare_instance()
        objects_before = self.objects(instance_id)
        self.arm(instance_id, failing, "raises")
        location = self.start_operation(instance_id)
        self.wait_operation(location)
        self.disarm(instance_id)
        states = [*self.expected(failing, "raises"), "ROLLING_BACK"]
        self.arm(instance_id, step, fault, rollback=True)
        end = self.decide(location, "rollback")
        self.disarm(instance_id)
        if (step, fault) == (self.kind.rollback_steps[-1], "killed after"):
            self.assert_restored(objects_before, self.objects(instance_id))
            self.assert_end(instance_id, end, [*states, "ROLLED_BACK"])
            return
        states.append("FAILED_TEMP")
        self.assert_end(instance_id, end, states)
        end = self.decide(location, "rollback")
        self.assert_decided(
            instance_id, end, states, "rollback", objects_before
        )


def _cases() -> Iterator[type[Matrix]]:
    for kind in KINDS:
        name = "".join(word.title() for word in kind.name.split())
        # an attribute of this module, so that it can be run alone
        base = ReversibleMatrix if kind.reversible else Matrix
        case = type(f"Test{name}", (base,), {"kind": kind})
        case.__module__ = __name__
        globals()[case.__name__] = case
        yield case


CASES: Final = tuple(_cases())


def load_tests(
    loader: unittest.TestLoader, _tests: Any, _pattern: Any
) -> unittest.TestSuite:
    """Load the cases of each kind, not their base classes."""
    suites = map(loader.loadTestsFromTestCase, CASES)
    return unittest.TestSuite(suites)
