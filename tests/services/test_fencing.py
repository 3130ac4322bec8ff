"""A conductor that lost its lease writes nothing more to a VIM; a live one
keeps its leases.
"""

import itertools
import re
import signal
import time
from collections.abc import Iterable
from typing import ClassVar

import sqlalchemy as sa

from tests.fixtures import waiting
from tests.fixtures.tcp_proxy import TcpProxy
from tests.services.backends import MARIADB
from tests.services.client import OP_OCCS
from tests.services.cluster import LoggedCluster
from tests.services.deployment import Conductor
from tests.services.test_lost_conductors import LostConductorCase

#: seconds; a process on a loaded machine must renew its leases within it
LEASE = 30.0
#: operations that are frozen at once: instantiations, and each of CHANGES
MANY = 12
FEW = 4
CHANGES = {
    "scale": {"type": "SCALE_OUT", "aspectId": "web_aspect"},
    "heal": {"cause": "all VNFCs"},
}


class FencingCase(LostConductorCase):
    """Operations whose conductor waits for the response to its first write."""

    # no request fails while its response is delayed
    options: ClassVar = {"kubernetes": {"request_timeout": 600.0}}
    cluster: LoggedCluster

    def setUp(self) -> None:
        super().setUp()
        workers = MANY + FEW * len(CHANGES)
        self.deploy(
            pod_start_delay=0.1,
            workers=workers,
            project_share=100,
            vim_share=100,
            lease=LEASE,
        )

    def make_cluster(self, pod_start_delay: float) -> LoggedCluster:
        return LoggedCluster(pod_start_delay)

    def start_writes(
        self, number: int, conductor: Conductor, changed: Iterable[str] = ()
    ) -> list[str]:
        """Start instantiations, and changes of existing instances; wait for the
        first write of each.
        """
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.cluster.log.delay_responses()
        op_occ_ids = [self.start_operation() for _ in range(number)]
        op_occ_ids += [
            self.client.start_operation(instance_id, task, body)
            for instance_id, (task, body) in zip(
                changed, itertools.cycle(CHANGES.items()), strict=False
            )
        ]
        places = {
            f"/n-{self.client.op_occ(one)['vnfInstanceId']}/"
            for one in op_occ_ids
        }
        log = self.cluster.log

        def all_written() -> bool:
            paths = [one.path for one in log.writes_of(conductor.pid, now)]
            return all(any(one in path for path in paths) for one in places)

        waiting.until(all_written, "a first write of each operation")
        return op_occ_ids

    def check_failed(self, op_occ_ids: list[str]) -> None:
        """Wait until another conductor has failed each operation."""
        for one in op_occ_ids:
            failed = self.client.wait_operation(one)
            self.assertEqual("FAILED_TEMP", failed["operationState"])

    def check_fenced(self, op_occ_ids: list[str], lost: Conductor) -> None:
        """Check that a conductor writes nothing from now on, and that each
        operation has ended there.
        """
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        lost.signal(signal.SIGCONT)
        self.cluster.log.send_responses()
        for one in op_occ_ids:
            lost.wait_for_output(re.compile(rf"Lease lost: operation=({one})"))
        self.assertEqual([], self.cluster.log.writes_of(lost.pid, now))


class TestFrozenConductor(FencingCase):
    def test_a_resumed_conductor_writes_nothing(self) -> None:
        """It resumes when half of its requests have a response, and the other
        half have failed and would be sent again.
        """
        frozen = self.deployment.conductor()
        op_occ_ids = [
            self.start_operation() for _ in range(FEW * len(CHANGES))
        ]
        instances = [
            self.client.wait_operation(one)["vnfInstanceId"]
            for one in op_occ_ids
        ]
        lost = self.start_writes(MANY, frozen, instances)
        frozen.signal(signal.SIGSTOP)
        self.cluster.log.send_responses(drop_half=True)
        other_conductor = self.deployment.conductor()
        self.check_failed(lost)
        rolled_back = []
        for one in lost:
            if self.client.op_occ(one)["operation"] == "HEAL":
                failed = self.client.decide(one, "fail")
                self.assertEqual("FAILED", failed["operationState"])
                continue
            response = self.client.call("POST", f"{OP_OCCS}/{one}/rollback")
            self.assertEqual(202, response.status)
            rolled_back.append(one)
        for one in rolled_back:
            rolled = self.client.wait_operation(one)
            self.assertEqual("ROLLED_BACK", rolled["operationState"])
        self.check_fenced(lost, frozen)
        for conductor in (frozen, other_conductor):  # sooner than by SIGTERM
            conductor.kill()


class TestDatabase(FencingCase):
    def test_a_conductor_of_a_stalled_database_is_fenced(self) -> None:
        """No connection is closed, and no server responds."""
        url = sa.make_url(self.deployment.database.url)
        proxy = self.useFixture(TcpProxy(url.port or 0))
        through = url.set(host="127.0.0.1", port=proxy.port)
        connection = through.render_as_string(hide_password=False)
        conf = self.deployment.configure(
            "stalled.conf", database={"connection": connection}
        )
        stalled = self.deployment.conductor(conf)
        lost = self.start_writes(2, stalled)
        proxy.stall()
        other_conductor = self.deployment.conductor()
        self.check_failed(lost)
        self.check_fenced(lost, stalled)
        for conductor in (stalled, other_conductor):
            conductor.kill()

    def test_a_locked_row_does_not_delay_other_leases(self) -> None:
        conductor = self.deployment.conductor()
        locked, *others = self.start_writes(3, conductor)
        other = self.deployment.conductor()
        engine = self.deployment.database.engine
        with engine.begin() as connection:
            connection.execute(
                sa.text(
                    "SELECT id FROM vnf_lcm_op_occs WHERE id = :id FOR UPDATE"
                ),
                {"id": locked},
            )
            for _ in range(2):  # the first may have begun before the lock
                lease_end = self.leases(others)
                waiting.until(
                    lambda end=lease_end: (  # type: ignore[misc]
                        self.leases(others) > end
                    ),
                    "the leases of the others to be renewed",
                )
        self.cluster.log.send_responses()
        for one in others:
            done = self.client.wait_operation(one)
            self.assertEqual("COMPLETED", done["operationState"])
            self.assertEqual(1, self.deployment.claim_row(one)["fence"])
        for either in (conductor, other):
            either.kill()

    def leases(self, op_occ_ids: list[str]) -> float:
        """Return the earliest end of their leases."""
        claim_rows = [self.deployment.claim_row(one) for one in op_occ_ids]
        return min(float(str(work["lease_until"])) for work in claim_rows)


class TestDatabaseOnMariadb(TestDatabase):
    server = MARIADB
