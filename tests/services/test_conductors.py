"""Running conductors, as the API and the commands report them."""

import socket
from typing import Final

import testtools

from tests.fixtures import waiting
from tests.services.backends import POSTGRESQL
from tests.services.client import Client, instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Deployment

IDLE: Final = "no conductor is running"


class TestConductors(testtools.TestCase):
    def test_an_operation_waits_for_a_conductor(self) -> None:
        self.deployment = self.useFixture(Deployment(self, POSTGRESQL))
        client = self.deployment.api().client
        cluster = self.useFixture(Cluster())
        client.register(cluster.vim)
        instance = client.create(client.onboard_sample())
        request = instantiation("configmap secret deployment")
        op_occ_id = client.start_operation(instance, "instantiate", request)
        self.check_idle(client)
        op_occ = client.call("GET", f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ_id}")
        self.assertIn(IDLE, op_occ.json["progress"])
        (listed,) = client.call("GET", "/vnflcm/v2/vnf_lcm_op_occs").json
        self.assertEqual(op_occ.json["progress"], listed["progress"])

        conductor = self.deployment.conductor()
        self.check_alive(client, conductor.pid)
        if_none_match = {"If-None-Match": op_occ.headers["ETag"]}
        path = f"/vnflcm/v2/vnf_lcm_op_occs/{op_occ_id}"
        self.assertEqual(
            200, client.call("GET", path, headers=if_none_match).status
        )
        done = client.wait_operation(op_occ_id)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertNotIn(IDLE, done.get("progress", ""))

        self.deployment.kill(conductor)
        waiting.until(
            lambda: client.call("GET", "/healthcheck").json["conductors"] == 0,
            "the lease of the killed conductor to expire",
        )
        last = self.deployment.conductor()
        self.check_alive(client, last.pid)
        last.stop()
        self.check_idle(client)

    def check_idle(self, client: Client) -> None:
        health = client.call("GET", "/healthcheck")
        self.assertEqual(200, health.status)
        self.assertEqual(0, health.json["conductors"])
        self.assertIn("No conductor is running", health.json["detail"])
        output = self.deployment.manage("conductors")
        self.assertIn("No conductor is running", output)

    def check_alive(self, client: Client, pid: int) -> None:
        health = client.call("GET", "/healthcheck").json
        self.assertEqual({"status": "ok", "conductors": 1}, health)
        output = self.deployment.manage("conductors")
        _, line = output.splitlines()
        self.assertEqual([socket.gethostname(), str(pid)], line.split()[:2])
