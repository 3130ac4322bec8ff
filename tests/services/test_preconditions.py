"""Conditional and idempotent requests to two API servers on one database."""

from collections import Counter
from typing import Any

import testtools

from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import (
    INSTANCES,
    OP_OCCS,
    PACKAGES,
    Call,
    Response,
    call_concurrently,
    instantiation,
)
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment

CALLERS = 8
ROUNDS = 5
SMALL = instantiation("configmap secret deployment")


def make_call(
    method: str, path: str, body: Any, terms: dict[str, str]
) -> Call:
    """Build a call with these headers."""
    return lambda client: client.call(method, path, body, headers=terms)


class TestPreconditions(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        self.deployment = self.useFixture(Deployment(self, self.server))
        self.cluster = self.useFixture(Cluster())
        self.clients = [self.deployment.api().client for _ in range(2)]
        self.client = self.clients[0]
        self.client.register(self.cluster.vim)
        self.vnfd_id = self.client.onboard_sample()

    def check_acted_once(
        self, method: str, path: str, body: Any, key: str
    ) -> Response:
        """Send a request many times; return the response, the same for all."""
        terms = {"Idempotency-Key": key}
        call = make_call(method, path, body, terms)
        responses = call_concurrently(self.clients, [call] * CALLERS)
        contents = str([response.content for response in responses])
        for status in {response.status for response in responses}:
            self.assertIn(status, {200, 201, 202}, contents)
        # from either server, whose URLs differ
        paths = {_path(a.headers.get("Location")) for a in responses}
        self.assertEqual(1, len(paths), contents)
        again = call(self.client)
        self.assertEqual(responses[0].status, again.status)
        self.assertEqual(paths, {_path(again.headers.get("Location"))})
        return responses[0]

    def count(self, path: str) -> int:
        return len(self.client.call_expecting("GET", path, None, 200))

    def test_a_resource_is_created_once_with_a_key(self) -> None:
        for number in range(1, ROUNDS + 1):
            body = {"vnfdId": self.vnfd_id}
            key = f"instance-{number}"
            self.check_acted_once("POST", INSTANCES, body, key)
            self.assertEqual(number, self.count(INSTANCES))
            key = f"package-{number}"
            self.check_acted_once("POST", PACKAGES, {}, key)
            self.assertEqual(number + 1, self.count(PACKAGES))

    def test_a_task_with_a_key_starts_one_operation(self) -> None:
        self.deployment.conductor()
        vnf = self.client.create(self.vnfd_id)
        more = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        end = {"terminationType": "FORCEFUL"}
        calls = (
            ("POST", "/instantiate", SMALL),
            ("POST", "/scale", more),
            ("PATCH", "", {"metadata": {"a": 1}}),
            ("POST", "/terminate", end),
        )
        for done, (method, task, body) in enumerate(calls, 1):
            path = f"{INSTANCES}/{vnf}{task}"
            response = self.check_acted_once(method, path, body, f"key{task}")
            op_occ = _path(response.headers["Location"]).rsplit("/", 1)[1]
            ended = self.client.wait_operation(op_occ)
            self.assertEqual("COMPLETED", ended["operationState"])
            self.assertEqual(done, self.count(OP_OCCS))

    def test_a_decision_with_a_key_is_accepted_once(self) -> None:
        self.deployment.conductor()
        unknown_vim = {
            "vimType": "ETSINFV.KUBERNETES.V_1",
            "interfaceInfo": {"endpoint": "https://127.0.0.1:1"},
            "accessInfo": {"bearer_token": "t"},
        }
        vnf = self.client.create(self.vnfd_id)
        body = {**SMALL, "vimConnectionInfo": {"v": unknown_vim}}
        op_occ = self.client.start_operation(vnf, "instantiate", body)
        failed = self.client.wait_operation(op_occ)
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        path = f"{OP_OCCS}/{op_occ}/fail"
        response = self.check_acted_once("POST", path, None, "fail")
        self.assertEqual("FAILED", response.json["operationState"])

    def test_one_of_the_requests_with_the_same_etag_changes_it(self) -> None:
        self.deployment.conductor()
        vnf = self.client.create(self.vnfd_id)
        path = f"{INSTANCES}/{vnf}"
        for number in range(ROUNDS):
            tag = self.client.call("GET", path).headers["ETag"]
            terms = {"If-Match": tag}
            body = {"metadata": {"count": number}}
            call = make_call("PATCH", path, body, terms)
            responses = call_concurrently(self.clients, [call] * CALLERS)
            statuses = Counter(response.status for response in responses)
            self.assertEqual(1, statuses.pop(202), str(statuses))
            self.assertLessEqual(statuses.keys(), {409, 412})
            (won,) = (a for a in responses if a.status == 202)
            self.client.wait_operation(
                won.headers["Location"].rsplit("/", 1)[1]
            )
            self.assertEqual(412, call(self.client).status)
            found = self.client.call_expecting("GET", path, None, 200)[
                "metadata"
            ]
            self.assertEqual(number, found["count"])

    def test_a_deletion_with_a_stale_etag_is_refused(self) -> None:
        for number in range(ROUNDS):
            vnf = self.client.create(self.vnfd_id)
            path = f"{INSTANCES}/{vnf}"
            tag = self.client.call("GET", path).headers["ETag"]
            terms = {"If-Match": tag}
            body = {"vnfInstanceName": f"name-{number}"}
            deleted, patched = call_concurrently(
                self.clients,
                [
                    make_call("DELETE", path, None, terms),
                    make_call("PATCH", path, body, terms),
                ],
            )
            found = (deleted.status, patched.status)
            self.assertIn(found, {(204, 404), (204, 409), (409, 202)})


def _path(location: str | None) -> str:
    return (location or "").partition("/vnf")[2]


class TestPreconditionsOnMariadb(TestPreconditions):
    server = MARIADB
