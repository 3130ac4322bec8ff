"""Ids of servers, which become paths in the API of Nova."""

import json
from collections.abc import Callable
from typing import Final

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.openstack.clouds import Clouds
from tacker_cnf.drivers.openstack.nova import Nova
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.sol.common import VimConnectionInfo
from tests.fixtures import keystone
from tests.fixtures.http_receiver import HttpReceiver

BODY: Final = {
    "server": {"status": "ACTIVE", "OS-EXT-STS:task_state": None},
    "output": "",
}


class TestServerPaths(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.server = self.useFixture(HttpReceiver())
        kind = {"Content-Type": "application/json"}
        body = json.dumps(BODY).encode()
        self.server.responder = lambda _: (200, kind, body)
        authority = self.useFixture(HttpReceiver())
        authority.responder = keystone.with_service("compute", self.server.url)
        connection = VimConnectionInfo(
            vim_type="ETSINFV.OPENSTACK_KEYSTONE.V_3",
            interface_info={"endpoint": f"{authority.url}/v3"},
            access_info=keystone.ACCESS_INFO,
        )
        nova: Nova = Clouds(30.0, SsrfPolicy(allow_loopback=True)).servers(
            connection,
            RetryPolicy(
                Deadline.within(30), contact_timeout=30, outage_timeout=30
            ),
        )
        self.calls: tuple[Callable[[str], object], ...] = (
            nova.find,
            nova.delete,
            nova.console,
        )

    def test_ids_are_quoted(self) -> None:
        for call in self.calls:
            call("a?x=1#b")
        self.assertEqual(
            {"/servers/a%3Fx%3D1%23b", "/servers/a%3Fx%3D1%23b/action"},
            {request.path for request in self.server.requests},
        )

    def test_ids_that_are_other_paths(self) -> None:
        for call in self.calls:
            for server in ("..", "a/b", "../flavors"):
                self.assertRaises(errors.InvalidParameters, call, server)
        self.assertEqual([], self.server.requests)
