"""Two concurrent requests to two API servers on one database: for each pair
of requests to a VNF, one is accepted and no partial change is left.
"""

import functools
import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import testtools

from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import (
    INSTANCES,
    OP_OCCS,
    Client,
    Response,
    instantiation,
)
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment

Call = Callable[[Client, str], Response]

SMALL = instantiation("configmap secret deployment")


def task(name: str, body: Any) -> Call:
    """Build a call that requests a lifecycle operation."""
    return lambda client, vnf: client.post_task(vnf, name, body)


def modify(client: Client, vnf: str) -> Response:
    body = {"vnfInstanceDescription": client.endpoint}
    return client.call("PATCH", f"{INSTANCES}/{vnf}", body)


def delete(client: Client, vnf: str) -> Response:
    return client.call("DELETE", f"{INSTANCES}/{vnf}")


def decision(name: str) -> Call:
    """Build a call that retries, rolls back or fails an operation."""
    body = {"cancelMode": "FORCEFUL"} if name == "cancel" else None
    return lambda client, op_occ_id: client.call(
        "POST", f"{OP_OCCS}/{op_occ_id}/{name}", body
    )


def scale(way: str) -> Any:
    return {"type": way, "aspectId": "web_aspect"}


#: requests to an instance that is not instantiated
DOWN: Final[Mapping[str, Call]] = {
    "instantiate": task("instantiate", SMALL),
    "modify": modify,
    "delete": delete,
}
#: requests to an instantiated one
UP: Final[Mapping[str, Call]] = {
    "scale": task("scale", scale("SCALE_OUT")),
    "heal": task("heal", {}),
    "terminate": task("terminate", {"terminationType": "FORCEFUL"}),
    "modify": modify,
}
#: decision -> the end of the operation
ENDS: Final = {
    "retry": "COMPLETED",
    "rollback": "ROLLED_BACK",
    "fail": "FAILED",
}


#: pairs of names; the two API servers are alike, so their order is the same
pairs = functools.partial(itertools.combinations_with_replacement, r=2)


class PairCase(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        # only the two clients are to reserve an instance
        quiet = {"sync_watch": False, "sync_interval": 0}
        self.deployment = self.useFixture(
            Deployment(self, self.server, conductor=quiet)
        )
        self.cluster = self.useFixture(Cluster(pod_start_delay=0.02))
        self.clients = [self.deployment.api().client for _ in range(2)]
        self.client = self.clients[0]
        self.client.register(self.cluster.vim)
        self.vnfd_id = self.client.onboard_sample()
        self.conductor = self.deployment.conductor()

    def call_both(self, pair: Iterable[Call], of: str) -> list[Response]:
        """Make two calls at the same time, each to another server."""
        together = threading.Barrier(2)

        def make(client: Client, call: Call) -> Response:
            together.wait(60)
            return call(client, of)

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(make, self.clients, pair))

    def check_problem(self, response: Response, *statuses: int) -> None:
        self.assertIn(response.status, statuses, str(response.content))
        kind = response.headers["Content-Type"]
        self.assertEqual("application/problem+json", kind)
        self.assertTrue(response.detail)

    def count(self, table: str, column: str, value: str) -> int:
        found = self.deployment.database.fetch_row(
            f"SELECT count(*) AS count FROM {table} WHERE {column} = :value",  # noqa: S608
            value=value,
        )
        return int(str(found["count"]))

    def busy_operation(self, vnf: str) -> Any:
        """Return the operation that reserves an instance."""
        found = self.deployment.database.fetch_row(
            "SELECT busy_with FROM vnf_instances WHERE id = :id", id=vnf
        )
        return found["busy_with"]


class TestOperations(PairCase):
    def run_race(
        self, calls: Mapping[str, Call], pair: Sequence[str], vnf: str
    ) -> str:
        """Run two requests; return which was accepted, after its end."""
        before = self.count("vnf_lcm_op_occs", "vnf_instance_id", vnf)
        with self.deployment.frozen(self.conductor):
            responses = self.call_both((calls[name] for name in pair), vnf)
            accepted = [a for a in responses if a.status < 300]
            self.assertEqual(
                1, len(accepted), f"{pair} {describe_responses(responses)}"
            )
            (refused,) = (a for a in responses if a.status >= 300)
            winner = pair[responses.index(accepted[0])]
            if winner == "delete":
                self.check_deleted(vnf, refused)
                return winner
            self.check_problem(refused, 409)
            op_occ_id = accepted[0].headers["Location"].rsplit("/", 1)[1]
            self.assertEqual(op_occ_id, self.busy_operation(vnf))
        done = self.client.wait_operation(op_occ_id)
        self.assertEqual("COMPLETED", done["operationState"], f"{pair} {done}")
        after = self.count("vnf_lcm_op_occs", "vnf_instance_id", vnf)
        self.assertEqual(before + 1, after)
        self.assertIsNone(self.busy_operation(vnf))
        return winner

    def check_deleted(self, vnf: str, refused: Response) -> None:
        """Check that an instance and its objects are deleted."""
        self.check_problem(refused, 404, 409)
        self.assertEqual(0, self.count("vnf_instances", "id", vnf))
        self.assertEqual(0, self.count("vim_uses", "vnf_instance_id", vnf))
        self.assertEqual(
            0, self.count("vnf_lcm_op_occs", "vnf_instance_id", vnf)
        )

    def test_concurrent_operations_of_a_new_instance(self) -> None:
        for pair in pairs(DOWN):
            vnf = self.client.create(self.vnfd_id)
            if self.run_race(DOWN, pair, vnf) == "instantiate":
                # the namespace has one such Deployment
                body = {"terminationType": "FORCEFUL"}
                self.client.run(vnf, "terminate", body)

    def test_concurrent_operations_of_an_instantiated_instance(self) -> None:
        vnf = self.client.create(self.vnfd_id)
        self.client.run(vnf, "instantiate", SMALL)
        size = len(self.client.pods(vnf))
        for pair in pairs(UP):
            winner = self.run_race(UP, pair, vnf)
            if winner == "scale":
                self.assertEqual(size + 1, len(self.client.pods(vnf)))
                self.client.run(vnf, "scale", scale("SCALE_IN"))
            if winner == "terminate":
                self.assertEqual({}, self.cluster.pods())
                self.client.run(vnf, "instantiate", SMALL)
            self.assertEqual(set(self.cluster.pods()), self.client.pods(vnf))
            self.assertEqual(size, len(self.client.pods(vnf)))


class TestDecisions(PairCase):
    def create_failed(self, vnf: str) -> str:
        """Start an operation and set it to FAILED_TEMP; no step is run."""
        op_occ_id = self.client.start_operation(
            vnf, "scale", scale("SCALE_OUT")
        )
        self.deployment.database.execute(
            "UPDATE vnf_lcm_op_occs SET operation_state = 'FAILED_TEMP'"
            " WHERE id = :id",
            id=op_occ_id,
        )
        return op_occ_id

    def run_race(self, pair: tuple[str, ...], vnf: str) -> Any:
        """Run two decisions; return the responses and the operation's end."""
        with self.deployment.frozen(self.conductor):
            op_occ_id = self.create_failed(vnf)
            responses = self.call_both(map(decision, pair), op_occ_id)
            self.assertEqual(op_occ_id, self.client.op_occ(op_occ_id)["id"])
        return responses, self.client.wait_operation(op_occ_id)

    def check_released(self, op_occ: Any, vnf: str, size: int) -> None:
        """Check that the instance is free and unchanged."""
        self.assertIsNone(self.busy_operation(vnf))
        if op_occ["operationState"] == "COMPLETED":
            self.client.run(vnf, "scale", scale("SCALE_IN"))
        pods = self.client.pods(vnf)
        self.assertEqual(set(self.cluster.pods()), pods)
        self.assertEqual(size, len(pods))

    def test_one_of_concurrent_decisions_is_accepted(self) -> None:
        vnf = self.client.create(self.vnfd_id)
        self.client.run(vnf, "instantiate", SMALL)
        size = len(self.client.pods(vnf))
        for pair in pairs(ENDS):
            responses, op_occ = self.run_race(pair, vnf)
            accepted = [a.status < 300 for a in responses]
            self.assertEqual(
                1, sum(accepted), f"{pair} {describe_responses(responses)}"
            )
            self.check_problem(responses[accepted.index(False)], 409)
            winner = pair[accepted.index(True)]
            self.assertEqual(ENDS[winner], op_occ["operationState"])
            self.check_released(op_occ, vnf, size)

    def test_a_cancel_concurrent_with_a_decision_is_consistent(self) -> None:
        vnf = self.client.create(self.vnfd_id)
        self.client.run(vnf, "instantiate", SMALL)
        size = len(self.client.pods(vnf))
        for other in ENDS:
            for pair in ((other, "cancel"), ("cancel", other)):
                responses, op_occ = self.run_race(pair, vnf)
                cancelled = responses[pair.index("cancel")]
                decided = responses[pair.index(other)]
                self.assertLess(
                    decided.status, 300, describe_responses(responses)
                )
                state = ENDS[other]
                if cancelled.status == 202:
                    self.assertNotEqual("fail", other)
                    state = "FAILED_TEMP"
                else:
                    self.check_problem(cancelled, 409)
                self.assertEqual(state, op_occ["operationState"], str(pair))
                if state == "FAILED_TEMP":
                    self.assertEqual(op_occ["id"], self.busy_operation(vnf))
                    op_occ = self.client.decide(op_occ["id"], "fail")
                self.check_released(op_occ, vnf, size)

    def test_concurrent_cancels_of_a_starting_operation(self) -> None:
        vnf = self.client.create(self.vnfd_id)
        self.client.run(vnf, "instantiate", SMALL)
        cancel = decision("cancel")
        with self.deployment.frozen(self.conductor):
            op_occ_id = self.client.start_operation(vnf, "heal", {})
            responses = self.call_both((cancel, cancel), op_occ_id)
        statuses = sorted(response.status for response in responses)
        self.assertIn(
            statuses, ([202, 202], [202, 409]), describe_responses(responses)
        )
        done = self.client.wait_operation(op_occ_id)
        self.assertEqual("ROLLED_BACK", done["operationState"], str(done))
        self.assertIsNone(self.busy_operation(vnf))


class TestOperationsOnMariadb(TestOperations):
    server = MARIADB


class TestDecisionsOnMariadb(TestDecisions):
    server = MARIADB


def describe_responses(responses: list[Response]) -> str:
    return str([(a.status, a.content) for a in responses])
