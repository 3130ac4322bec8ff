"""Start and stop of servers, from any state that an earlier attempt left."""

from typing import Any, Final

import msgspec
import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import (
    api_errors,
    inventory,
    operational_state,
)
from tacker_cnf.drivers.openstack.nova import Server
from tacker_cnf.lcm.change import State
from tacker_cnf.sol.vnf_instance import VnfOperationalState
from tests.factories import a_state
from tests.unit.drivers.openstack import stack_resources
from tests.unit.drivers.openstack.test_stack_task import (
    ScriptedHeat,
    build_task,
)

TREE: Final = stack_resources.grouped("a").tree()
VNFCS: Final = tuple(inventory.vnfcs(TREE, stack_resources.a_flavour()))
STARTED: Final = a_state()
STOPPED: Final = msgspec.structs.replace(
    STARTED, vnf_state=VnfOperationalState.STOPPED
)
#: action -> the status that a server has at the end
RESULTS: Final = {"os-start": "ACTIVE", "os-stop": "SHUTOFF"}


class PowerNova:
    """A Nova that ends an action after some reads of its server."""

    def __init__(self, status: str, reads: int = 2) -> None:
        self.servers = {
            vnfc.id: Server(status=status, task=None) for vnfc in VNFCS
        }
        self._reads = reads
        #: server -> (remaining reads, action)
        self._running: dict[str, tuple[int, str]] = {}
        self.done: list[tuple[str, str]] = []

    def is_available(self) -> bool:
        return True

    def find(self, server: str) -> Server | None:
        if server in self._running:
            reads, action = self._running[server]
            self._running[server] = (reads - 1, action)
            if not reads:
                del self._running[server]
                end = Server(status=RESULTS[action], task=None)
                self.servers[server] = end
        return self.servers.get(server)

    def begin(self, server: str, action: str) -> None:
        """Begin an action, as of another client."""
        self._running[server] = (self._reads, action)
        self.servers[server] = msgspec.structs.replace(
            self.servers[server], task=action
        )

    def act(self, server: str, action: str) -> None:
        if server in self._running:
            raise api_errors.Conflict("Nova answered 409: powering-off")
        self.done.append((server, action))
        self.begin(server, action)


class TestSwitch(testtools.TestCase):
    def switch(self, nova: Any, current: State, desired: State) -> None:
        task = build_task(
            ScriptedHeat("CREATE_COMPLETE"), current=current, desired=desired
        )
        change = task._task.change
        operational_state.switch(task, nova, VNFCS, change)

    def test_all_servers_are_stopped(self) -> None:
        nova = PowerNova("ACTIVE")
        self.switch(nova, STARTED, STOPPED)
        self.assertEqual([(v.id, "os-stop") for v in VNFCS], nova.done)
        self.assertEqual(
            {"SHUTOFF"}, {s.status for s in nova.servers.values()}
        )

    def test_an_action_in_progress_is_awaited(self) -> None:
        nova = PowerNova("ACTIVE")
        first, *others = VNFCS
        nova.begin(first.id, "os-stop")
        self.switch(nova, STARTED, STOPPED)
        self.assertEqual([(v.id, "os-stop") for v in others], nova.done)

    def test_a_start_after_a_stop_in_progress(self) -> None:
        nova = PowerNova("SHUTOFF")
        first, *_ = VNFCS
        nova.begin(first.id, "os-stop")
        self.switch(nova, STOPPED, STARTED)
        self.assertEqual({"ACTIVE"}, {s.status for s in nova.servers.values()})

    def test_a_request_that_came_late(self) -> None:
        class Late(PowerNova):
            def act(self, server: str, action: str) -> None:
                self.begin(server, action)
                super().act(server, action)

        nova = Late("ACTIVE")
        self.switch(nova, STARTED, STOPPED)
        self.assertEqual(
            {"SHUTOFF"}, {s.status for s in nova.servers.values()}
        )

    def test_a_missing_server_cannot_be_started(self) -> None:
        nova = PowerNova("SHUTOFF")
        first, *_ = VNFCS
        del nova.servers[first.id]
        error = self.assertRaises(
            errors.NotReady, self.switch, nova, STOPPED, STARTED
        )
        self.assertIn(f"vnfcInstanceId {first.vdu_id}-{first.id}", str(error))

    def test_a_missing_server_is_stopped(self) -> None:
        nova = PowerNova("ACTIVE")
        first, *others = VNFCS
        del nova.servers[first.id]
        self.switch(nova, STARTED, STOPPED)
        self.assertEqual([(v.id, "os-stop") for v in others], nova.done)

    def test_a_server_that_fails(self) -> None:
        class Failing(PowerNova):
            def act(self, server: str, action: str) -> None:
                del action
                failed = Server(status="ERROR", task=None)
                self.servers[server] = failed

        error = self.assertRaises(
            errors.NotReady, self.switch, Failing("SHUTOFF"), STOPPED, STARTED
        )
        self.assertIn("is in ERROR: no reason given", str(error))
