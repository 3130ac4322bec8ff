"""Operations of lost conductors."""

import re
import signal
from typing import Any, ClassVar

import testtools

from tests.fixtures import waiting
from tests.services.backends import MARIADB, POSTGRESQL
from tests.services.client import instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Conductor, Deployment

QUEUE = "tacker_cnf_conductor"
SMALL = "configmap secret deployment"
#: seconds that a pod takes to start, unless start_pods() is called
NEVER_S = 3600.0


class LostConductorCase(testtools.TestCase):
    """A service, and a package to instantiate."""

    server = POSTGRESQL
    #: configuration besides [conductor], as {group: {option: value}}
    options: ClassVar[dict[str, dict[str, Any]]] = {}

    def deploy(
        self, pod_start_delay: float = NEVER_S, **conductor: Any
    ) -> Deployment:
        self.deployment = self.useFixture(
            Deployment(self, self.server, conductor=conductor, **self.options)
        )
        self.cluster = self.useFixture(self.make_cluster(pod_start_delay))
        self.client = self.deployment.api().client
        self.vnfd_id = self.client.onboard_sample()
        self.client.register(self.cluster.vim)
        return self.deployment

    def make_cluster(self, pod_start_delay: float) -> Cluster:
        """Return the cluster on which the instances run."""
        return Cluster(pod_start_delay)

    def start_operation(self) -> str:
        """Start the instantiation of a new instance; return its op-occ's id."""
        instance_id = self.client.create(self.vnfd_id)
        namespace = self.cluster.add_namespace(f"n-{instance_id}")
        body = instantiation(SMALL, namespace)
        return self.client.start_operation(instance_id, "instantiate", body)

    def wait_processing(self, op_occ_id: str) -> dict[str, Any]:
        """Wait until a conductor processes an operation."""

        def read_claimed() -> dict[str, Any] | None:
            work = self.deployment.claim_row(op_occ_id)
            busy = work["operation_state"] == "PROCESSING" and work["owner"]
            return work if busy else None

        return waiting.until(read_claimed, f"a claim of {op_occ_id}")

    def start_on_conductor(self, conductor: Conductor) -> str:
        """Start operations until this conductor claims one; return that."""
        for _ in range(20):
            op_occ_id = self.start_operation()
            if self.wait_processing(op_occ_id)["owner"] == conductor.owner:
                return op_occ_id
        raise AssertionError(f"{conductor.owner} claims no operation")


class TestKilledConductor(LostConductorCase):
    def test_an_operation_fails_and_a_retry_completes_it(self) -> None:
        deployment = self.deploy()
        killed_conductor, other_conductor = (
            deployment.conductor(),
            deployment.conductor(),
        )
        lost = self.start_on_conductor(killed_conductor)
        others = self.start_on_conductor(other_conductor)
        before = deployment.claim_row(others)
        deployment.kill(killed_conductor)

        failed = self.client.wait_operation(lost)
        self.assertEqual("FAILED_TEMP", failed["operationState"])
        self.assertIn(killed_conductor.owner, failed["error"]["detail"])
        self.assertIn("INFRA", failed["error"]["detail"])

        self.cluster.start_pods()
        done = self.client.wait_operation(others)
        self.assertEqual("COMPLETED", done["operationState"])
        self.assertEqual(
            before["fence"], deployment.claim_row(others)["fence"]
        )

        retried = self.client.decide(lost, "retry")
        self.assertEqual("COMPLETED", retried["operationState"], retried)
        pods = self.client.pods(retried["vnfInstanceId"])
        in_cluster = self.cluster.pods(f"n-{retried['vnfInstanceId']}")
        self.assertEqual(set(in_cluster), pods)
        self.assertEqual(1, len(pods))

    def test_another_conductor_rolls_back_a_failed_operation(self) -> None:
        deployment = self.deploy()
        untouched = self.cluster.list_all()
        killed_conductor, _ = deployment.conductor(), deployment.conductor()
        lost = self.start_on_conductor(killed_conductor)
        deployment.kill(killed_conductor)
        failed = self.client.wait_operation(lost)
        self.assertEqual("FAILED_TEMP", failed["operationState"])

        rolled = self.client.decide(lost, "rollback")
        self.assertEqual("ROLLED_BACK", rolled["operationState"], rolled)
        namespace = f"n-{rolled['vnfInstanceId']}"
        left = {one for one in self.cluster.list_all() if namespace in one}
        created_by_the_cluster = {"kube-root-ca.crt", "default"}
        self.assertEqual(
            set(), {name for _, _, name in left} - created_by_the_cluster
        )
        self.assertLessEqual(untouched, self.cluster.list_all())

    def test_an_operation_is_resumed_if_configured(self) -> None:
        deployment = self.deploy(resume_infra=True)
        killed_conductor, other_conductor = (
            deployment.conductor(),
            deployment.conductor(),
        )
        lost = self.start_on_conductor(killed_conductor)
        deployment.kill(killed_conductor)
        self.cluster.start_pods()
        done = self.client.wait_operation(lost)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertNotIn("error", done)
        self.assertIn(lost, other_conductor.output)
        pods = self.client.pods(done["vnfInstanceId"])
        self.assertEqual(1, len(pods))

    def test_a_frozen_conductor_loses_its_operations(self) -> None:
        """It resumes later, and does not overwrite the later state."""
        deployment = self.deploy()
        frozen, _ = deployment.conductor(), deployment.conductor()
        lost = self.start_on_conductor(frozen)
        with deployment.stalled(frozen):
            failed = self.client.wait_operation(lost)
            self.assertEqual("FAILED_TEMP", failed["operationState"])
            fence = deployment.claim_row(lost)["fence"]
        frozen.wait_for_output(re.compile(rf"Lease lost: operation=({lost})"))
        after = self.client.op_occ(lost)
        self.assertEqual("FAILED_TEMP", after["operationState"])
        self.assertEqual(fence, deployment.claim_row(lost)["fence"])


class TestKilledConductorOnMariadb(TestKilledConductor):
    server = MARIADB


class TestStartingOperation(LostConductorCase):
    """Another conductor starts an operation without any results."""

    def setUp(self) -> None:
        super().setUp()
        self.deploy(pod_start_delay=0.1)

    def check_done(self, op_occ_id: str) -> None:
        done = self.client.wait_operation(op_occ_id)
        self.assertEqual("COMPLETED", done["operationState"], done)
        self.assertNotIn("error", done)

    def test_a_message_received_by_a_frozen_conductor(self) -> None:
        frozen = self.deployment.conductor()
        frozen.signal(signal.SIGSTOP)
        waiting_one = self.start_operation()
        frozen.kill()
        self.assertIsNone(self.deployment.claim_row(waiting_one)["owner"])
        self.deployment.conductor()
        self.check_done(waiting_one)

    def test_an_expired_claim_is_replaced(self) -> None:
        claimed = self.start_operation()
        lost_owner = "a-host:1:00000000-0000-4000-8000-000000000000"
        self.deployment.database.execute(
            "UPDATE vnf_lcm_op_occs SET owner = :owner, fence = 1,"
            " lease_until = 0 WHERE id = :id",
            owner=lost_owner,
            id=claimed,
        )
        self.deployment.conductor()
        self.check_done(claimed)
        self.assertEqual(2, self.deployment.claim_row(claimed)["fence"])

    def test_a_valid_claim_is_not_replaced(self) -> None:
        claimed = self.start_operation()
        self.deployment.database.execute(
            "UPDATE vnf_lcm_op_occs SET owner = 'a-host:1:alive', fence = 1,"
            " lease_until = lease_until + 3600 WHERE id = :id",
            id=claimed,
        )
        self.deployment.conductor()
        self.check_done(self.start_operation())
        work = self.deployment.claim_row(claimed)
        self.assertEqual("STARTING", work["operation_state"])
        self.assertEqual(1, work["fence"])


class TestStartingOperationOnMariadb(TestStartingOperation):
    server = MARIADB


class TestLostWakeUp(LostConductorCase):
    def test_an_operation_whose_message_was_deleted_is_started(self) -> None:
        self.deploy(pod_start_delay=0.1)
        unannounced = self.start_operation()
        self.deployment.broker.delete_queue(QUEUE)
        self.assertIsNone(self.deployment.claim_row(unannounced)["owner"])
        self.deployment.conductor()
        done = self.client.wait_operation(unannounced)
        self.assertEqual("COMPLETED", done["operationState"], done)

    def test_a_deleted_queue_is_declared_again(self) -> None:
        self.deploy(pod_start_delay=0.1)
        conductor = self.deployment.conductor()
        conductor.signal(signal.SIGSTOP)
        unannounced = self.start_operation()
        self.deployment.broker.delete_queue(QUEUE)
        conductor.signal(signal.SIGCONT)
        done = self.client.wait_operation(unannounced)
        self.assertEqual("COMPLETED", done["operationState"], done)
        again = self.client.wait_operation(self.start_operation())
        self.assertEqual("COMPLETED", again["operationState"], again)
