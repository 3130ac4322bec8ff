"""Graceful shutdown of the programs by SIGTERM."""

import re
import signal

import testtools

from tests.fixtures import waiting
from tests.services.backends import POSTGRESQL
from tests.services.client import instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Conductor, Deployment
from tests.services.test_lost_conductors import NEVER_S

SMALL = "configmap secret deployment"
#: seconds; a process on a loaded machine must renew its leases within it
LEASE = 30.0


class TestStopping(testtools.TestCase):
    def deploy(self, work: float, **conductor: float | bool) -> Deployment:
        deployment = self.useFixture(
            Deployment(self, POSTGRESQL, conductor=conductor)
        )
        self.cluster = self.useFixture(Cluster(work))
        self.client = deployment.api().client
        self.client.register(self.cluster.vim)
        self.deployment = deployment
        return deployment

    def start_operation(self) -> str:
        """Start an operation; return its id when a conductor processes it."""
        instance_id = self.client.create(self.client.onboard_sample())
        body = instantiation(SMALL)
        op_occ_id = self.client.start_operation(
            instance_id, "instantiate", body
        )
        waiting.until(lambda: self.owner(op_occ_id), "a conductor's claim")
        return op_occ_id

    def owner(self, op_occ_id: str) -> str | None:
        work = self.deployment.claim_row(op_occ_id)
        if work["operation_state"] != "PROCESSING":
            return None
        return str(work["owner"])

    def test_idle_programs_exit_promptly(self) -> None:
        deployment = self.useFixture(Deployment(self, POSTGRESQL))
        api, conductor = deployment.api(), deployment.conductor()
        self.assertEqual(0, conductor.stop())
        self.assertEqual(0, api.stop())
        for program in (api, conductor):
            self.assertNotIn("Traceback", program.output)

    def test_a_conductor_completes_its_operations(self) -> None:
        deployment = self.deploy(NEVER_S, stop_timeout=100.0)
        conductor = deployment.conductor()
        op_occ_id = self.start_operation()
        conductor.signal(signal.SIGTERM)
        conductor.wait_for_output(re.compile("(Conductor stopping)"))
        self.cluster.start_pods()
        self.assertEqual(0, conductor.stop())
        op_occ = self.client.op_occ(op_occ_id)
        self.assertEqual("COMPLETED", op_occ["operationState"])

    def test_another_conductor_takes_over_at_once(self) -> None:
        """The lease is not awaited; it would last an hour."""
        deployment = self.deploy(
            NEVER_S, lease=3600.0, stop_timeout=0.5, resume_infra=True
        )
        both = [deployment.conductor(), deployment.conductor()]
        op_occ_id = self.start_operation()
        stopping_conductor, other_conductor = self.owner_first(both, op_occ_id)
        stopping_conductor.stop()
        self.cluster.start_pods()
        done = self.client.wait_operation(op_occ_id)
        self.assertEqual("COMPLETED", done["operationState"], done)
        # it logs the state after it has stored it
        other_conductor.wait_for_output(
            re.compile(f"(operation={op_occ_id} state=COMPLETED)")
        )

    def owner_first(
        self, conductors: list[Conductor], op_occ_id: str
    ) -> list[Conductor]:
        """Return the conductors, the owner of an operation first."""
        owner = self.owner(op_occ_id)
        return sorted(conductors, key=lambda c: c.owner != owner)

    def lease_end(self, op_occ_id: str) -> float:
        return float(self.deployment.claim_row(op_occ_id)["lease_until"])

    def test_a_stopping_conductor_renews_its_leases(self) -> None:
        """No other conductor claims its operation, short as its lease is."""
        deployment = self.deploy(NEVER_S, lease=LEASE, stop_timeout=100.0)
        both = [deployment.conductor(), deployment.conductor()]
        op_occ_id = self.start_operation()
        stopping_conductor, _ = self.owner_first(both, op_occ_id)
        stopping_conductor.signal(signal.SIGTERM)
        stopping_conductor.wait_for_output(re.compile("(Conductor stopping)"))
        lease_end = self.lease_end(op_occ_id)
        waiting.until(
            lambda: self.lease_end(op_occ_id) > lease_end + LEASE / 2,
            "the lease to be renewed",
        )
        self.cluster.start_pods()
        self.assertEqual(0, stopping_conductor.stop())
        op_occ = self.client.op_occ(op_occ_id)
        self.assertEqual("COMPLETED", op_occ["operationState"], op_occ)
        self.assertEqual(1, deployment.claim_row(op_occ_id)["fence"])

    def test_a_conductor_exits_after_its_stop_timeout(self) -> None:
        deployment = self.deploy(NEVER_S, stop_timeout=0.5)
        conductor = deployment.conductor()
        self.start_operation()
        self.assertEqual(0, conductor.stop())
