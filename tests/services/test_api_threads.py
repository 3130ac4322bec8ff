"""Peers that do not answer occupy few threads of an API server."""

import threading
from collections.abc import Callable
from typing import Any, Final

import testtools

from tests.fixtures import waiting
from tests.functional.test_vim_addresses import a_vim
from tests.functional.test_vim_stalling import StallingServer
from tests.services.backends import POSTGRESQL
from tests.services.client import INSTANCES, Client, Response, instantiation
from tests.services.deployment import Deployment

THREADS: Final = 6
#: half of the threads
WAITING: Final = THREADS // 2
#: seconds that a peer may take, longer than the test
NEVER_S: Final = 250.0
SUBSCRIPTIONS: Final = "/vnflcm/v2/subscriptions"
VIMS: Final = "/v1.0/vims"

Send = Callable[[], Response]


class TestThreads(testtools.TestCase):
    """A server with fewer threads than there may be checks of VIMs."""

    def setUp(self) -> None:
        super().setUp()
        deployment = self.useFixture(
            Deployment(
                self,
                POSTGRESQL,
                api={
                    "threads": THREADS,
                    "dry_run_timeout": NEVER_S,
                    "project_share": 100,
                },
                vims={"check_timeout": NEVER_S},
                outgoing={
                    "timeout": NEVER_S,
                    "connect_timeout": NEVER_S,
                    "exchange_timeout": NEVER_S,
                },
            )
        )
        self.client = deployment.api().client
        self.peer = self.useFixture(StallingServer(b""))
        self.sent: list[threading.Thread] = []
        # before the client is gone
        self.addCleanup(self.end)

    def end(self) -> None:
        self.peer.stop()
        for thread in self.sent:
            thread.join(NEVER_S)

    def post(self, path: str, body: Any) -> Send:
        return lambda: self.client.call("POST", path, body)

    def subscription(self, number: int) -> Send:
        uri = f"{self.peer.url}/{number}"
        return self.post(SUBSCRIPTIONS, {"callbackUri": uri})

    def registration(self, kind: str) -> Send:
        return self.post(VIMS, a_vim(kind, self.peer.url))

    def dry_run(self) -> Send:
        instance_id = self.client.create(self.client.onboard_sample())
        vim = {
            "vimType": "ETSINFV.KUBERNETES.V_1",
            "interfaceInfo": {"endpoint": self.peer.url},
            "accessInfo": {"bearer_token": "a"},
        }
        body = instantiation("configmap secret deployment")
        return self.post(
            f"{INSTANCES}/{instance_id}/instantiate?dry_run=true",
            body | {"vimConnectionInfo": {"vim1": vim}},
        )

    def hang(self, send: Send) -> None:
        """Send a request that waits for the peer."""
        before = len(self.peer.requests)
        thread = threading.Thread(target=send)
        thread.start()
        self.sent.append(thread)
        waiting.until(
            lambda: len(self.peer.requests) > before, "a request to the peer"
        )

    def assert_rejected(self, response: Response) -> None:
        self.assertEqual(503, response.status, str(response.content))
        self.assertIn("[api] max_peer_requests", response.detail)
        self.assertEqual("10", response.headers["Retry-After"])

    def test_other_requests_find_a_thread(self) -> None:
        dry_run = self.dry_run()
        for send in (
            self.registration("kubernetes"),
            self.subscription(1),
            dry_run,
        ):
            self.hang(send)
        self.assertEqual(WAITING, len(self.sent))
        for send in (
            self.registration("kubernetes"),
            self.registration("openstack"),
            self.subscription(2),
            dry_run,
        ):
            self.assert_rejected(send())
        # all at once: more than there are threads
        others = [Client(self.client.endpoint) for _ in range(2 * THREADS)]
        statuses: list[int] = []

        def read(client: Client) -> None:
            statuses.append(client.call("GET", INSTANCES).status)

        readers = [
            threading.Thread(target=read, args=(client,)) for client in others
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(NEVER_S)
        self.assertEqual([200] * len(others), statuses)
        self.assertTrue(all(thread.is_alive() for thread in self.sent))

    def test_a_slot_is_free_when_a_peer_has_answered(self) -> None:
        for number in range(WAITING):
            self.hang(self.subscription(number))
        self.assert_rejected(self.registration("kubernetes")())
        self.end()
        refused = self.registration("kubernetes")()
        self.assertEqual(422, refused.status, str(refused.content))
