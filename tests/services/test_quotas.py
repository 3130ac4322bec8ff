"""Quotas on PostgreSQL and MariaDB: of concurrent requests to two API servers,
only one gets the last place.
"""

from collections import Counter
from typing import Any

import testtools

from tests.fixtures.vnfm import Csar
from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import (
    INSTANCES,
    PACKAGES,
    Call,
    Client,
    Response,
    call_concurrently,
    instantiation,
)
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment

SUBSCRIPTIONS = "/vnflcm/v2/subscriptions"
CALLERS = 12
ROUNDS = 5


def post(path: str, body: Any) -> Call:
    """Return a call that creates something."""
    return lambda client: client.call("POST", path, body)


class TestLastPlace(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        self.quotas = {
            "vnf_instances": CALLERS + 2 * ROUNDS,
            "vnf_packages": 1 + 2 * ROUNDS,
            "subscriptions": 2 * ROUNDS,
            "operations": 1,
        }
        self.deployment = self.useFixture(
            Deployment(
                self,
                self.server,
                quotas=self.quotas,
                notification={"test_callback": False},
            )
        )
        self.clients = [self.deployment.api().client for _ in range(2)]
        self.client = self.clients[0]

    def count(self, table: str) -> int:
        found = self.deployment.database.fetch_row(
            f"SELECT count(*) AS count FROM {table}"  # noqa: S608
        )
        return int(str(found["count"]))

    def limit(self, resource: str, limit: int) -> None:
        self.deployment.manage(f"quotas set noauth {resource} {limit}")

    def check(
        self, accepted: int, refused: int, found: list[Response]
    ) -> None:
        self.assertEqual(
            Counter({accepted: 1, refused: CALLERS - 1}),
            Counter(response.status for response in found),
            str([response.content for response in found]),
        )

    def test_the_first_requests_of_a_project(self) -> None:
        """It has no row of quotas yet."""
        create = post(PACKAGES, {})
        found = call_concurrently(self.clients, [create] * CALLERS)
        self.assertEqual(
            Counter({201: CALLERS - 1, 403: 1}),
            Counter(response.status for response in found),
            str([response.content for response in found]),
        )

    def test_the_last_place_is_taken_once(self) -> None:
        vnfd_id = self.client.onboard_sample()
        for number in range(ROUNDS):
            for table, resource, call in (
                (
                    "vnf_instances",
                    "vnf_instances",
                    post(INSTANCES, {"vnfdId": vnfd_id}),
                ),
                ("vnf_packages", "vnf_packages", post(PACKAGES, {})),
            ):
                self.limit(resource, self.count(table) + 1)
                self.check(
                    201, 403, call_concurrently(self.clients, [call] * CALLERS)
                )
            self.limit("subscriptions", self.count("lccn_subscriptions") + 1)
            subscribe = [
                post(
                    SUBSCRIPTIONS,
                    {"callbackUri": f"http://127.0.0.1/{number}/{caller}"},
                )
                for caller in range(CALLERS)
            ]
            self.check(201, 403, call_concurrently(self.clients, subscribe))

    def test_the_last_operation_is_started_once(self) -> None:
        """No conductor runs, so that operations do not end."""
        cluster = self.useFixture(Cluster())
        self.client.register(cluster.vim)
        vnfd_id = self.client.onboard_sample()
        instances = [self.client.create(vnfd_id) for _ in range(CALLERS)]
        body = instantiation("configmap secret deployment")

        def start(instance_id: str) -> Call:
            def call(client: Client) -> Response:
                return client.post_task(instance_id, "instantiate", body)

            return call

        found = call_concurrently(
            self.clients, [start(instance_id) for instance_id in instances]
        )
        self.check(202, 429, found)
        self.assertEqual(1, self.count("vnf_lcm_op_occs"))

    def test_the_last_bytes_are_taken_once(self) -> None:
        csars = []
        for _ in range(4):
            package = self.client.call_expecting("POST", PACKAGES, {}, 201)
            csars.append((package["id"], self.csar()))
        self.client.onboard(self.csar())
        shown = self.deployment.manage("quotas show noauth").splitlines()
        (line,) = (line for line in shown if line.startswith("package_bytes"))
        size = int(line.split()[2])
        self.limit("package_bytes", size * 2 + 1000)

        def upload(package_id: str, content: bytes) -> Call:
            path = f"{PACKAGES}/{package_id}/package_content"
            return lambda client: client.call(
                "PUT", path, content, "application/zip"
            )

        found = call_concurrently(
            self.clients, [upload(*csar) for csar in csars]
        )
        self.assertEqual(
            [202, 403, 403, 403], sorted(response.status for response in found)
        )

    def csar(self) -> bytes:
        return self.useFixture(Csar()).read()


class TestLastPlaceOnMariaDB(TestLastPlace):
    server = MARIADB
