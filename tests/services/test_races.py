"""Two API servers on one database: many callers, one winner."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import testtools

from tests.fixtures.vnfm import Csar
from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import (
    INSTANCES,
    OP_OCCS,
    PACKAGES,
    Client,
    Response,
    instantiation,
)
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment

CALLERS = 12
ROUNDS = 6
SMALL = "configmap secret deployment"

Call = Callable[[Client], Response]


def task_call(instance_id: str, task: str, body: Any) -> Call:
    """Make a call that asks for a lifecycle operation."""
    return lambda client: client.post_task(instance_id, task, body)


def calls(method: str, path: str, *body: Any) -> Call:
    """Make a call of any other kind."""
    return lambda client: client.call(method, path, *body)


def delete_call(package: str) -> Call:
    """Make a call that deletes a package, after it has disabled it."""
    disabled = {"operationalState": "DISABLED"}

    def call(client: Client) -> Response:
        client.call("PATCH", package, disabled)
        return client.call("DELETE", package)

    return call


class TestRaces(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        self.deployment = self.useFixture(Deployment(self, self.server))
        self.cluster = self.useFixture(Cluster())
        self.clients = [self.deployment.api().client for _ in range(2)]
        self.client = self.clients[0]

    def call_concurrently(self, calls: Sequence[Call]) -> list[Response]:
        """Make calls at the same time, of one server and of the other."""
        together = threading.Barrier(len(calls))

        def make(number: int, call: Call) -> Response:
            together.wait(60)
            return call(self.clients[number % 2])

        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(make, range(len(calls)), calls))

    def check_one_won(self, answers: Sequence[Response]) -> str:
        """Make sure that one got in; give its operation occurrence's id."""
        statuses = Counter(answer.status for answer in answers)
        self.assertEqual(
            Counter({202: 1, 409: len(answers) - 1}),
            statuses,
            str([answer.content for answer in answers]),
        )
        for answer in answers:
            if answer.status == 409:
                kind = answer.headers["Content-Type"]
                self.assertEqual("application/problem+json", kind)
                self.assertTrue(answer.detail)
        (won,) = (answer for answer in answers if answer.status == 202)
        return str(won.headers["Location"].rsplit("/", 1)[1])

    def test_one_operation_an_instance(self) -> None:
        self.client.register(self.cluster.vim)
        instance_id = self.client.create(self.client.onboard_sample())
        self.deployment.conductor()
        begin = task_call(instance_id, "instantiate", instantiation())
        won = self.check_one_won(self.call_concurrently([begin] * CALLERS))
        self.assertEqual(
            "COMPLETED", self.client.wait_operation(won)["operationState"]
        )

        more = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        mixed = [
            task_call(instance_id, "scale", more),
            task_call(instance_id, "heal", {}),
            task_call(
                instance_id, "terminate", {"terminationType": "FORCEFUL"}
            ),
        ]
        won = self.check_one_won(
            self.call_concurrently(mixed * (CALLERS // 3))
        )
        self.assertEqual(
            "COMPLETED", self.client.wait_operation(won)["operationState"]
        )
        op_occs = self.client.call_expecting("GET", OP_OCCS, None, 200)
        self.assertEqual(2, len(op_occs))

    def test_instance_deleted_while_it_is_instantiated(self) -> None:
        self.client.register(self.cluster.vim)
        vnfd_id = self.client.onboard_sample()
        for _ in range(ROUNDS):
            instance_id = self.client.create(vnfd_id)
            began, deleted = self.call_concurrently(
                [
                    task_call(
                        instance_id, "instantiate", instantiation(SMALL)
                    ),
                    calls("DELETE", f"{INSTANCES}/{instance_id}"),
                ]
            )
            found = (began.status, deleted.status)
            self.assertIn(found, {(202, 409), (404, 204), (409, 204)})

    def test_package_deleted_while_an_instance_is_made_of_it(self) -> None:
        for _ in range(ROUNDS):
            csar = self.useFixture(Csar())
            path = f"{PACKAGES}/{self.client.onboard(csar.read())}"
            create = calls("POST", INSTANCES, {"vnfdId": csar.vnfd_id})
            look = calls("GET", INSTANCES)
            made, deleted, also, looked = self.call_concurrently(
                [create, delete_call(path), create, look]
            )
            self.assertEqual(200, looked.status)
            for one in (made, also):
                self.assertIn(one.status, {201, 422}, str(one.content))
            alive = 201 in {made.status, also.status}
            self.assertEqual(409 if alive else 204, deleted.status)
            status = self.client.call("GET", path).status
            self.assertEqual(200 if alive else 404, status)

    def test_package_onboarded_twice_at_once(self) -> None:
        csar = self.useFixture(Csar()).read()
        made = self.client.call_expecting
        paths = [
            f"{PACKAGES}/{made('POST', PACKAGES, {}, 201)['id']}"
            for _ in range(4)
        ]
        answers = self.call_concurrently(
            [
                calls(
                    "PUT", f"{path}/package_content", csar, "application/zip"
                )
                for path in paths
            ]
        )
        statuses = sorted(answer.status for answer in answers)
        self.assertEqual([202, 409, 409, 409], statuses)
        states = [
            made("GET", path, None, 200)["onboardingState"] for path in paths
        ]
        self.assertEqual(1, states.count("ONBOARDED"))
        self.assertEqual(3, states.count("CREATED"))

    def test_vim_deleted_while_an_instance_goes_there(self) -> None:
        vnfd_id = self.client.onboard_sample()
        for number in range(ROUNDS):
            vim = self.client.register(self.cluster.vim, f"vim-{number}")
            instance_id = self.client.create(vnfd_id)
            request_body = {"vimConnectionInfo": {"v": {"vimId": vim}}}
            body = {**instantiation(SMALL), **request_body}
            began, deleted = self.call_concurrently(
                [
                    task_call(instance_id, "instantiate", body),
                    calls("DELETE", f"/v1.0/vims/{vim}"),
                ]
            )
            found = (began.status, deleted.status)
            allowed = {(202, 409), (400, 204), (409, 204), (422, 204)}
            contents = (began.content, deleted.content)
            self.assertIn(found, allowed, str(contents))
            if began.status != 202:
                # it is free for another try
                self.client.register(self.cluster.vim, f"other-{number}")
                self.client.start_operation(
                    instance_id, "instantiate", instantiation(SMALL)
                )

    def test_vims_registered_at_once(self) -> None:
        same = {**self.cluster.vim, "name": "one", "is_default": True}
        register = calls("POST", "/v1.0/vims", {"vim": same})
        answers = self.call_concurrently([register] * 4)
        statuses = sorted(answer.status for answer in answers)
        self.assertEqual([201, 409, 409, 409], statuses)

        answers = self.call_concurrently(
            [
                calls("POST", "/v1.0/vims", {"vim": {**same, "name": f"v{n}"}})
                for n in range(4)
            ]
        )
        for answer in answers:
            self.assertIn(answer.status, {201, 409}, str(answer.content))
        vims = self.client.call_expecting("GET", "/v1.0/vims", None, 200)[
            "vims"
        ]
        self.assertEqual(1, sum(vim["is_default"] for vim in vims))


class TestRacesOnMariadb(TestRaces):
    server = MARIADB
