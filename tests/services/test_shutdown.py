"""SIGTERM: an end that takes its time where it has to, and no longer."""

import testtools

from tests.fixtures import waiting
from tests.services.backends import POSTGRESQL
from tests.services.client import instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Conductor, Deployment

SMALL = "configmap secret deployment"
#: seconds within which an idle program ends on a machine that has much to do
MAX_SHUTDOWN_S = 60.0


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
        """Begin an operation; give its id when a conductor is in it."""
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

    def check_soon(self, end: tuple[int, float]) -> None:
        code, seconds = end
        self.assertEqual(0, code)
        self.assertLess(seconds, MAX_SHUTDOWN_S)

    def test_idle_programs_end_soon(self) -> None:
        deployment = self.useFixture(Deployment(self, POSTGRESQL))
        api, conductor = deployment.api(), deployment.conductor()
        self.check_soon(conductor.stop())
        self.check_soon(api.stop())
        for program in (api, conductor):
            self.assertNotIn("Traceback", program.output)

    def test_conductor_ends_what_it_has_begun(self) -> None:
        deployment = self.deploy(3.0)
        conductor = deployment.conductor()
        op_occ_id = self.start_operation()
        code, _ = conductor.stop()
        self.assertEqual(0, code)
        op_occ = self.client.op_occ(op_occ_id)
        self.assertEqual("COMPLETED", op_occ["operationState"])

    def test_what_is_left_is_taken_over_at_once(self) -> None:
        """The lease would last an hour."""
        deployment = self.deploy(
            8.0, lease=3600.0, stop_timeout=0.5, resume_infra=True
        )
        both = [deployment.conductor(), deployment.conductor()]
        op_occ_id = self.start_operation()
        stopping_conductor, other_conductor = self.owner_first(both, op_occ_id)
        stopping_conductor.stop()
        done = self.client.wait_operation(op_occ_id)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertIn(
            f"operation={op_occ_id} state=COMPLETED", other_conductor.output
        )

    def owner_first(
        self, conductors: list[Conductor], op_occ_id: str
    ) -> list[Conductor]:
        """Put the one that has an operation before the other."""
        owner = self.owner(op_occ_id)
        return sorted(conductors, key=lambda c: c.owner != owner)

    def test_conductor_that_leaves_goes_on_reporting(self) -> None:
        """What it still ends is not taken from it, short as its lease is."""
        deployment = self.deploy(8.0, lease=3.0, stop_timeout=60.0)
        both = [deployment.conductor(), deployment.conductor()]
        op_occ_id = self.start_operation()
        stopping_conductor, _ = self.owner_first(both, op_occ_id)
        code, _ = stopping_conductor.stop()
        self.assertEqual(0, code)
        op_occ = self.client.op_occ(op_occ_id)
        self.assertEqual("COMPLETED", op_occ["operationState"], op_occ)
        self.assertEqual(1, deployment.claim_row(op_occ_id)["fence"])

    def test_conductor_that_has_given_up_ends(self) -> None:
        deployment = self.deploy(300.0, stop_timeout=0.5)
        conductor = deployment.conductor()
        self.start_operation()
        self.check_soon(conductor.stop())
