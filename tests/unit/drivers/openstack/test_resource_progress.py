"""Which resources of a stack are reported while Heat works."""

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import api_errors, resource_progress
from tacker_cnf.drivers.openstack.resource_progress import StackProgress
from tacker_cnf.drivers.openstack.stacks import Stack, Tree
from tacker_cnf.drivers.progress import Progress, ResourceProgress
from tacker_cnf.sol.timeline import ResourceStatus as Status
from tests.fixtures.clock import ManualClock
from tests.unit.drivers.openstack.stack_resources import (
    NET,
    PORT,
    SERVER,
    Listing,
)

STACK = Stack(id="root", name="vnf-1", status="CREATE_IN_PROGRESS")


def listing(**statuses: str) -> Tree:
    """List resources named by their types."""
    found = Listing()
    kinds = {"server": SERVER, "port": PORT, "net": NET}
    for name, status in statuses.items():
        found.add(name, kinds[name], status=status, reason="No valid host")
    return found.tree()


class TestStackProgress(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = ManualClock()
        self.reported: list[ResourceProgress] = []
        self.expected: dict[str, int] = {}
        self.listing: Tree | None = None
        self.error: Exception = api_errors.NotFound("Heat answered 404")
        self.reads = 0
        self.progress = StackProgress(
            self.read,
            Progress(
                report_resource=self.reported.append,
                expect=self.expect,
            ),
            self.clock,
        )

    def expect(self, kind: str, count: int, scope: str) -> None:
        self.assertEqual("", scope)
        self.expected[kind] = count

    def read(self, stack: Stack) -> Tree:
        assert stack is STACK
        self.reads += 1
        if self.listing is None:
            raise self.error
        return self.listing

    def report(self, found: Tree | None) -> list[tuple[str, Status, str]]:
        """Return what is reported by this read."""
        self.reported.clear()
        self.listing = found
        self.progress.report(STACK)
        self.clock.advance(resource_progress.READ_INTERVAL_S)
        return [(r.name, r.status, r.message or "") for r in self.reported]

    def test_a_creation(self) -> None:
        self.assertEqual(
            [("net", Status.IN_PROGRESS, "CREATE_IN_PROGRESS")],
            self.report(
                listing(
                    server="INIT_COMPLETE",
                    port="INIT_COMPLETE",
                    net="CREATE_IN_PROGRESS",
                )
            ),
        )
        self.assertEqual({SERVER: 1, PORT: 1, NET: 1}, self.expected)
        self.assertEqual(
            [
                ("server", Status.FAILED, "No valid host"),
                ("port", Status.IN_PROGRESS, "CREATE_IN_PROGRESS"),
                ("net", Status.DONE, "CREATE_COMPLETE"),
            ],
            self.report(
                listing(
                    server="CREATE_FAILED",
                    port="CREATE_IN_PROGRESS",
                    net="CREATE_COMPLETE",
                )
            ),
        )

    def test_what_was_complete_before_is_not_reported(self) -> None:
        before = listing(server="CREATE_COMPLETE", port="CREATE_COMPLETE")
        self.assertEqual([], self.report(before))
        self.assertEqual([], self.report(before))
        self.assertEqual(
            [("server", Status.DONE, "UPDATE_COMPLETE")],
            self.report(
                listing(server="UPDATE_COMPLETE", port="CREATE_COMPLETE")
            ),
        )
        self.assertEqual({SERVER: 1}, self.expected)

    def test_a_deletion(self) -> None:
        self.report(listing(server="DELETE_IN_PROGRESS"))
        self.assertEqual(
            [("server", Status.DONE, "Deleted")], self.report(listing())
        )
        self.assertEqual([], self.report(None))

    def test_a_server_is_a_vnfc(self) -> None:
        self.report(listing(server="CREATE_IN_PROGRESS"))
        (server,) = self.reported
        assert server.vnfc_id is not None
        self.assertTrue(server.vnfc_id.startswith("server@"))

    def test_a_failed_read_does_not_fail_the_operation(self) -> None:
        self.error = errors.InfraError("Heat answered 500")
        self.progress.report(STACK)
        self.assertEqual(1, self.reads)
        self.error = errors.Cancelled("by a client")
        self.clock.advance(resource_progress.READ_INTERVAL_S)
        self.assertRaises(errors.Cancelled, self.progress.report, STACK)

    def test_reads_are_limited(self) -> None:
        self.listing = listing()
        for _ in range(3):
            self.progress.report(STACK)
        self.assertEqual(1, self.reads)
