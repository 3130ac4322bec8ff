"""Notifications on real databases, while conductors start and stop."""

from typing import Any

import testtools

from tests.fixtures import waiting
from tests.fixtures.http_receiver import HttpReceiver
from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment

PATH = "/vnflcm/v2/subscriptions"
SMALL = "configmap secret deployment"
DONE = ["STARTING", "PROCESSING", "COMPLETED"]


class TestNotifications(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        options = {"poll_interval": 0.2, "retry_interval": 0.1}
        self.deployment = self.useFixture(
            Deployment(self, self.server, notification=options)
        )
        self.cluster = self.useFixture(Cluster(0.3))
        self.client = self.deployment.api().client
        self.client.register(self.cluster.vim)
        self.vnfd_id = self.client.onboard_sample()
        self.receiver = self.useFixture(HttpReceiver())
        body = {"callbackUri": self.receiver.url}
        response = self.client.call("POST", PATH, body)
        self.assertEqual(201, response.status, response.content.decode())

    def start_operation(self) -> tuple[str, str]:
        instance_id = self.client.create(self.vnfd_id)
        namespace = self.cluster.add_namespace(f"n-{instance_id}")
        body = instantiation(SMALL, namespace)
        return instance_id, self.client.start_operation(
            instance_id, "instantiate", body
        )

    def run_lifecycle(self) -> str:
        """Instantiate an instance and terminate it."""
        instance_id, op_occ_id = self.start_operation()
        self.wait_completed(op_occ_id)
        body = {"terminationType": "FORCEFUL"}
        self.wait_completed(
            self.client.start_operation(instance_id, "terminate", body)
        )
        return instance_id

    def wait_completed(self, op_occ_id: str) -> None:
        op_occ = self.client.wait_operation(op_occ_id)
        self.assertEqual("COMPLETED", op_occ["operationState"], str(op_occ))

    def wait_states(self, instance_id: str, count: int) -> list[Any]:
        """Wait until this many events of an instance are received; return
        the state of each. One may be received twice.
        """
        received = count
        while True:
            states: dict[str, Any] = {}
            for request in self.receiver.wait(
                received, vnfInstanceId=instance_id
            ):
                body = request.json
                states.setdefault(body["id"], body.get("operationState"))
            if len(states) >= count:
                return list(states.values())
            received += count - len(states)

    def wait_outbox_empty(self) -> bool:
        row = self.deployment.database.fetch_row(
            "SELECT (SELECT count(*) FROM deliveries)"
            " + (SELECT count(*) FROM lifecycle_events WHERE NOT fanned_out)"
            " AS n"
        )
        return row["n"] == 0

    def test_two_conductors_send_each_notification_once(self) -> None:
        for _ in range(2):
            self.deployment.conductor()
        lives = [self.run_lifecycle() for _ in range(3)]
        for instance_id in lives:
            self.assertEqual(
                [None, *DONE, *DONE], self.wait_states(instance_id, 7)
            )
        waiting.until(self.wait_outbox_empty, "an empty outbox")
        # sent at least once each, under one id
        ids = {request.json["id"] for request in self.receiver.received}
        self.assertEqual(21, len(ids))

    def test_a_killed_conductor_delays_and_loses_nothing(self) -> None:
        killed_conductor = self.deployment.conductor()
        self.receiver.delay = 0.2  # some request is always in flight
        first = self.run_lifecycle()
        self.deployment.kill(killed_conductor)
        self.receiver.delay = 0.0
        self.deployment.conductor()
        second = self.run_lifecycle()
        for instance_id in (first, second):
            self.assertEqual(
                [None, *DONE, *DONE], self.wait_states(instance_id, 7)
            )
        waiting.until(self.wait_outbox_empty, "an empty outbox")

    def test_a_stalled_conductor_is_replaced(self) -> None:
        conductors = [self.deployment.conductor() for _ in range(2)]
        self.run_lifecycle()
        # whichever sends: each of them is frozen for some time
        for conductor in conductors:
            with self.deployment.stalled(conductor):
                instance_id = self.client.create(self.vnfd_id)
                self.assertEqual([None], self.wait_states(instance_id, 1))
        waiting.until(self.wait_outbox_empty, "an empty outbox")

    def test_a_busy_conductor_stops_promptly(self) -> None:
        conductor = self.deployment.conductor()
        self.receiver.delay = 300.0
        self.client.create(self.vnfd_id)
        waiting.until(lambda: self.receiver.active_requests, "a slow request")
        self.assertEqual(0, conductor.stop())


class TestNotificationsOnMariadb(TestNotifications):
    server = MARIADB
