"""One conductor watches a cluster; another takes over when it is lost."""

from typing import Any

import testtools

from tests.fixtures import waiting
from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import instantiation
from tests.services.cluster import CORE, Cluster
from tests.services.deployment import Deployment

SMALL = "configmap secret deployment"


class TestWatches(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        self.deployment = self.useFixture(
            Deployment(self, self.server, conductor={"sync_interval": 0})
        )
        self.cluster = self.useFixture(Cluster())
        self.client = self.deployment.api().client
        self.client.register(self.cluster.vim)

    def leases(self) -> dict[str, Any]:
        """Return the number of watch leases, and the owner of one."""
        return self.deployment.database.fetch_row(
            "SELECT count(*) AS count, min(owner) AS owner FROM leases"
            " WHERE name LIKE 'watch %'"
        )

    def owner(self, previous: str = "") -> str:
        """Wait until the watch has another owner; return it."""

        def read_owner() -> str | None:
            found = self.leases()
            self.assertLessEqual(found["count"], 1)
            return None if found["owner"] == previous else found["owner"]

        return waiting.until(read_owner, "an owner")

    def replace_pod(self, vnf: str) -> set[str]:
        """Delete a VNF's only pod; return its name in a set."""
        (pod,) = pods = self.client.pods(vnf)
        self.cluster.call("DELETE", f"{CORE}/namespaces/default/pods/{pod}")
        return pods

    def wait_for_new_pod(self, vnf: str, old: set[str]) -> None:
        def new() -> bool:
            pods = self.client.pods(vnf)
            return bool(pods) and not pods & old

        waiting.until(new, "the new pod")

    def test_another_conductor_watches_after_a_kill(self) -> None:
        conductors = [self.deployment.conductor() for _ in range(2)]
        vnf = self.client.create(self.client.onboard_sample())
        self.client.run(vnf, "instantiate", instantiation(SMALL))
        owner = self.owner()
        self.wait_for_new_pod(vnf, self.replace_pod(vnf))

        owner_conductor, other = sorted(
            conductors, key=lambda c: c.owner != owner
        )
        self.assertEqual(owner, owner_conductor.owner)
        pids = owner_conductor.pids()
        owner_conductor.kill()
        # no conductor watches meanwhile
        old = self.replace_pod(vnf)
        self.deployment.expire_leases(pids)
        self.wait_for_new_pod(vnf, old)
        self.assertEqual(other.owner, self.owner())
        self.wait_for_new_pod(vnf, self.replace_pod(vnf))

        self.assertEqual(0, other.stop())
        self.assertEqual(0, self.leases()["count"])

    def test_another_conductor_watches_after_a_stop(self) -> None:
        conductors = [self.deployment.conductor() for _ in range(2)]
        vnf = self.client.create(self.client.onboard_sample())
        self.client.run(vnf, "instantiate", instantiation(SMALL))
        owner = self.owner()
        stopped, other = sorted(conductors, key=lambda c: c.owner != owner)
        stopped.stop()
        self.assertEqual(other.owner, self.owner(previous=owner))
        self.wait_for_new_pod(vnf, self.replace_pod(vnf))


class TestWatchesOnMariadb(TestWatches):
    server = MARIADB
