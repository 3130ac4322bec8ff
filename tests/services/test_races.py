"""Concurrent requests to two API servers: one of them is accepted."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import testtools

from tests.fixtures.vnfm import Csar
from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import (
    INSTANCES,
    OP_OCCS,
    PACKAGES,
    Call,
    Client,
    Response,
    call_concurrently,
    instantiation,
)
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment

CALLERS = 12
ROUNDS = 6
SMALL = "configmap secret deployment"


def task_call(instance_id: str, task: str, body: Any) -> Call:
    """Return a call that requests a lifecycle operation."""
    return lambda client: client.post_task(instance_id, task, body)


def calls(method: str, path: str, *body: Any) -> Call:
    """Return a call with any method and path."""
    return lambda client: client.call(method, path, *body)


def delete_call(package: str) -> Call:
    """Return a call that disables and deletes a package."""
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

    def check_one_accepted(self, responses: Sequence[Response]) -> str:
        """Check that one was accepted; return its operation occurrence's id."""
        statuses = Counter(response.status for response in responses)
        self.assertEqual(
            Counter({202: 1, 409: len(responses) - 1}),
            statuses,
            str([response.content for response in responses]),
        )
        for response in responses:
            if response.status == 409:
                kind = response.headers["Content-Type"]
                self.assertEqual("application/problem+json", kind)
                self.assertTrue(response.detail)
        (accepted,) = (
            response for response in responses if response.status == 202
        )
        return str(accepted.headers["Location"].rsplit("/", 1)[1])

    def test_one_operation_of_an_instance_is_accepted(self) -> None:
        self.client.register(self.cluster.vim)
        instance_id = self.client.create(self.client.onboard_sample())
        self.deployment.conductor()
        begin = task_call(instance_id, "instantiate", instantiation())
        accepted = self.check_one_accepted(
            call_concurrently(self.clients, [begin] * CALLERS)
        )
        self.assertEqual(
            "COMPLETED", self.client.wait_operation(accepted)["operationState"]
        )

        more = {"type": "SCALE_OUT", "aspectId": "web_aspect"}
        mixed = [
            task_call(instance_id, "scale", more),
            task_call(instance_id, "heal", {}),
            task_call(
                instance_id, "terminate", {"terminationType": "FORCEFUL"}
            ),
        ]
        accepted = self.check_one_accepted(
            call_concurrently(self.clients, mixed * (CALLERS // 3))
        )
        self.assertEqual(
            "COMPLETED", self.client.wait_operation(accepted)["operationState"]
        )
        op_occs = self.client.call_expecting("GET", OP_OCCS, None, 200)
        self.assertEqual(2, len(op_occs))

    def test_an_instance_deleted_while_it_is_instantiated(self) -> None:
        self.client.register(self.cluster.vim)
        vnfd_id = self.client.onboard_sample()
        for _ in range(ROUNDS):
            instance_id = self.client.create(vnfd_id)
            began, deleted = call_concurrently(
                self.clients,
                [
                    task_call(
                        instance_id, "instantiate", instantiation(SMALL)
                    ),
                    calls("DELETE", f"{INSTANCES}/{instance_id}"),
                ],
            )
            found = (began.status, deleted.status)
            self.assertIn(found, {(202, 409), (404, 204), (409, 204)})

    def test_a_package_deleted_while_an_instance_is_created(self) -> None:
        for _ in range(ROUNDS):
            csar = self.useFixture(Csar())
            path = f"{PACKAGES}/{self.client.onboard(csar.read())}"
            create = calls("POST", INSTANCES, {"vnfdId": csar.vnfd_id})
            list_all = calls("GET", INSTANCES)
            created, deleted, also_created, listed = call_concurrently(
                self.clients, [create, delete_call(path), create, list_all]
            )
            self.assertEqual(200, listed.status)
            for one in (created, also_created):
                self.assertIn(one.status, {201, 422}, str(one.content))
            exists = 201 in {created.status, also_created.status}
            self.assertEqual(409 if exists else 204, deleted.status)
            status = self.client.call("GET", path).status
            self.assertEqual(200 if exists else 404, status)

    def test_one_of_concurrent_uploads_of_a_package_is_accepted(self) -> None:
        csar = self.useFixture(Csar()).read()
        call = self.client.call_expecting
        paths = [
            f"{PACKAGES}/{call('POST', PACKAGES, {}, 201)['id']}"
            for _ in range(4)
        ]
        responses = call_concurrently(
            self.clients,
            [
                calls(
                    "PUT", f"{path}/package_content", csar, "application/zip"
                )
                for path in paths
            ],
        )
        statuses = sorted(response.status for response in responses)
        self.assertEqual([202, 409, 409, 409], statuses)
        states = [
            call("GET", path, None, 200)["onboardingState"] for path in paths
        ]
        self.assertEqual(1, states.count("ONBOARDED"))
        self.assertEqual(3, states.count("CREATED"))

    def test_a_vim_deleted_while_an_instance_uses_it(self) -> None:
        vnfd_id = self.client.onboard_sample()
        for number in range(ROUNDS):
            vim = self.client.register(self.cluster.vim, f"vim-{number}")
            instance_id = self.client.create(vnfd_id)
            request_body = {"vimConnectionInfo": {"v": {"vimId": vim}}}
            body = {**instantiation(SMALL), **request_body}
            began, deleted = call_concurrently(
                self.clients,
                [
                    task_call(instance_id, "instantiate", body),
                    calls("DELETE", f"/v1.0/vims/{vim}"),
                ],
            )
            found = (began.status, deleted.status)
            allowed = {(202, 409), (400, 204), (409, 204), (422, 204)}
            contents = (began.content, deleted.content)
            self.assertIn(found, allowed, str(contents))
            if began.status != 202:
                # the instance is not reserved
                self.client.register(self.cluster.vim, f"other-{number}")
                self.client.start_operation(
                    instance_id, "instantiate", instantiation(SMALL)
                )

    def test_one_of_concurrent_registrations_of_a_vim_is_accepted(
        self,
    ) -> None:
        same = {**self.cluster.vim, "name": "one", "is_default": True}
        register = calls("POST", "/v1.0/vims", {"vim": same})
        responses = call_concurrently(self.clients, [register] * 4)
        statuses = sorted(response.status for response in responses)
        self.assertEqual([201, 409, 409, 409], statuses)

        responses = call_concurrently(
            self.clients,
            [
                calls("POST", "/v1.0/vims", {"vim": {**same, "name": f"v{n}"}})
                for n in range(4)
            ],
        )
        for response in responses:
            self.assertIn(response.status, {201, 409}, str(response.content))
        vims = self.client.call_expecting("GET", "/v1.0/vims", None, 200)[
            "vims"
        ]
        self.assertEqual(1, sum(vim["is_default"] for vim in vims))


class TestRacesOnMariadb(TestRaces):
    server = MARIADB
