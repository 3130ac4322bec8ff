"""Waits for the API server and for the token of a ServiceAccount."""

from typing import Any

import testtools

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.cluster.kubectl import Kubectl
from tacker_cnf.mgmt_drivers.remote import CommandResult
from tacker_cnf.runtime.cancellation import Deadline
from tests.fixtures.clock import SteppingClock

READY = CommandResult(0, b'{"data": {"token": "dG9rZW4="}}', b"")


class SlowHost:
    """A master whose first commands return other results."""

    def __init__(self, *results: CommandResult) -> None:
        self.results = list(results)

    def run(self, *_: Any, **__: Any) -> CommandResult:
        return self.results.pop(0) if self.results else READY

    check = run


class TestKubectl(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock = SteppingClock()

    def wait_api(self, timeout: float) -> None:
        host: Any = SlowHost(*6 * [CommandResult(1, b"", b"refused")])
        deadline = Deadline.within(timeout, self.clock)
        Kubectl(host, "10.0.0.1", 1.0).wait_api("::1", 6443, "api", deadline)

    def test_the_wait_ends_when_the_api_server_is_ready(self) -> None:
        self.wait_api(60.0)
        self.assertEqual([0.1, 0.2, 0.5, 1.0, 1.0, 1.0], self.clock.waits)

    def test_the_wait_ends_at_the_deadline(self) -> None:
        error = self.assertRaises(errors.InfraError, self.wait_api, 0.5)
        self.assertIn("is not ready: refused", str(error))

    def test_a_token_is_polled(self) -> None:
        host: Any = SlowHost(READY, CommandResult(0, b"{}", b""))
        deadline = Deadline.within(60.0, self.clock)
        kubectl = Kubectl(host, "10.0.0.1", 1.0)
        self.assertEqual("token", kubectl.create_admin_token(deadline))
        self.assertEqual([0.1], self.clock.waits)
