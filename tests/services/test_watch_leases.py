"""Conductors that watch a cluster for all, and take over from each other."""

from typing import Any

import testtools

from tests.fixtures import waiting
from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import instantiation
from tests.services.cluster import CORE, Cluster
from tests.services.deployment import Deployment

SMALL = "configmap secret deployment"
LEASE = 3.0


class TestWatches(testtools.TestCase):
    server = POSTGRESQL

    def setUp(self) -> None:
        super().setUp()
        options = {"lease": LEASE, "sync_interval": 0}
        self.deployment = self.useFixture(
            Deployment(self, self.server, conductor=options)
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

    def owner(self, but: str = "") -> str:
        """Wait until the watch has an owner, other than one; give it."""

        def look() -> str | None:
            found = self.leases()
            self.assertLessEqual(found["count"], 1)
            return None if found["owner"] == but else found["owner"]

        return waiting.until(look, "an owner")

    def replace_pod(self, vnf: str) -> set[str]:
        """Delete a VNF's only pod; give it."""
        (pod,) = pods = self.client.pods(vnf)
        self.cluster.call("DELETE", f"{CORE}/namespaces/default/pods/{pod}")
        return pods

    def check_known(self, vnf: str, old: set[str]) -> None:
        def new() -> bool:
            pods = self.client.pods(vnf)
            return bool(pods) and not pods & old

        waiting.until(new, "the new pod")

    def test_owner_that_is_killed(self) -> None:
        conductors = [self.deployment.conductor() for _ in range(2)]
        vnf = self.client.create(self.client.onboard_sample())
        self.client.run(vnf, "instantiate", instantiation(SMALL))
        owner = self.owner()
        self.check_known(vnf, self.replace_pod(vnf))

        owner_conductor, other = sorted(
            conductors, key=lambda c: c.owner != owner
        )
        self.assertEqual(owner, owner_conductor.owner)
        owner_conductor.kill()
        # no conductor watches meanwhile
        old = self.replace_pod(vnf)
        self.check_known(vnf, old)
        self.assertEqual(other.owner, self.owner())
        self.check_known(vnf, self.replace_pod(vnf))

        code, seconds = other.stop()
        self.assertEqual(0, code)
        # a watch that is not closed would be read for a minute
        self.assertLess(seconds, 50.0)
        self.assertEqual(0, self.leases()["count"])

    def test_owner_that_is_stopped(self) -> None:
        conductors = [self.deployment.conductor() for _ in range(2)]
        vnf = self.client.create(self.client.onboard_sample())
        self.client.run(vnf, "instantiate", instantiation(SMALL))
        owner = self.owner()
        stopped, other = sorted(conductors, key=lambda c: c.owner != owner)
        stopped.stop()
        self.assertEqual(other.owner, self.owner(but=owner))
        self.check_known(vnf, self.replace_pod(vnf))


class TestWatchesOnMariadb(TestWatches):
    server = MARIADB
