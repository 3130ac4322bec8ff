"""Lists of a cluster are read in pages, within limits."""

import json
from collections.abc import Iterator
from typing import Any, Final

import testtools

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import api_errors
from tacker_cnf.drivers.kubernetes.client import (
    MAX_LIST_ATTEMPTS,
    PAGE_SIZE,
    ClusterPool,
)
from tacker_cnf.drivers.kubernetes.client import Cluster as Client
from tacker_cnf.http_client.exchange import DEFAULT_LIMITS, ExchangeLimits
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.sol.common import VimConnectionInfo
from tests.fixtures.cluster import CORE, Cluster
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)

PODS: Final = 1200
LABEL: Final = "test"
#: discovery of an API server with nothing but core/v1
DISCOVERY: Final = {
    "/version": {"major": "1", "minor": "36"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {
                "name": "pods",
                "singularName": "pod",
                "namespaced": True,
                "kind": "Pod",
                "verbs": ["get", "list"],
            }
        ],
    },
}


def connect(
    info: dict[str, Any], max_bytes: float = DEFAULT_LIMITS.max_bytes
) -> Client:
    """Connect to a cluster; requests are not retried."""
    pool = ClusterPool(
        30.0,
        SsrfPolicy(allow_loopback=True, schemes=frozenset({"http", "https"})),
        ExchangeLimits(max_bytes=max_bytes),
    )
    policy = RetryPolicy(
        Deadline.within(120.0), CancelToken(), contact_timeout=0.0
    )
    return pool.connect(
        VimConnectionInfo(
            vim_type=info["vimType"],
            interface_info=info["interfaceInfo"],
            access_info=info["accessInfo"],
        ),
        policy,
    )


class TestPages(testtools.TestCase):
    """A list of 1,200 pods."""

    def setUp(self) -> None:
        super().setUp()
        self.cluster = self.useFixture(Cluster())
        self.cluster.sandbox.set_pod_start_delay(3600.0)
        for node in ("sandbox-node-1", "sandbox-node-2"):
            self.cluster.sandbox.set_node_capacity(node, pods=0)
        self.namespace = self.cluster.namespace()
        self.path = f"{CORE}/namespaces/{self.namespace}/pods"
        self.names = [f"pod-{number:04}" for number in range(PODS)]
        for name in self.names:
            self.create(name)
        self.client = connect(self.cluster.vim()["vim1"])
        self.kind = self.client.kind("v1", "Pod")
        self.sizes: list[int] = []
        self.added = 0

    def create(self, name: str) -> None:
        body = {
            "metadata": {"name": name, "labels": {LABEL: "pages"}},
            "spec": {"containers": [{"name": "a", "image": "a"}]},
        }
        self.cluster.call("POST", self.path, body)

    def record_pages(self, *compactions: int) -> None:
        """Record the sizes of pages; compact etcd before some of them."""
        read = self.client._page

        def page(path: str, **options: Any) -> Any:
            if len(self.sizes) in compactions:
                self.added += 1
                self.create(f"new-{self.added}")
                self.cluster.sandbox.compact()
            self.sizes.append(0)
            found, size = read(path, **options)
            self.sizes[-1] = len(found.items or ())
            return found, size

        self.client._page = page  # type: ignore[method-assign]

    def listed(self, method: str = "list") -> list[str]:
        found = getattr(self.client, method)(
            self.kind, self.namespace, label_selector=f"{LABEL}=pages"
        )
        self.assertTrue(found["metadata"]["resourceVersion"])
        return [body["metadata"]["name"] for body in found["items"]]

    def test_pages(self) -> None:
        read = self.client._page
        self.record_pages()
        self.assertEqual(self.names, self.listed())
        self.assertEqual([PAGE_SIZE, PAGE_SIZE, 200], self.sizes)
        self.assertEqual(self.names, self.listed("list_metadata"))

        self.sizes.clear()
        self.assertTrue(self.client.latest_version(self.kind, self.namespace))
        self.assertEqual([1], self.sizes)

        # the continue token expires once: the list is read again
        self.sizes.clear()
        self.client._page = read  # type: ignore[method-assign]
        self.record_pages(1)
        self.assertEqual(sorted([*self.names, "new-1"]), self.listed())
        self.assertEqual([PAGE_SIZE, 0, PAGE_SIZE, PAGE_SIZE, 201], self.sizes)

        # it expires each time
        self.sizes.clear()
        self.client._page = read  # type: ignore[method-assign]
        last = 2 * MAX_LIST_ATTEMPTS
        self.record_pages(*range(1, last, 2))
        self.assertRaises(api_errors.Expired, self.listed)
        self.assertEqual(last, len(self.sizes))


class TestHostileCluster(testtools.TestCase):
    """An API server whose lists have no end."""

    def setUp(self) -> None:
        super().setUp()
        self.server = self.useFixture(HttpReceiver())
        self.server.responder = self.respond
        self.pages: Iterator[Any] = iter(())

    def respond(self, request: ReceivedRequest) -> Response:
        path = request.path.partition("?")[0]
        body = DISCOVERY.get(path)
        if body is None:
            body = next(self.pages)
        kind = {"Content-Type": "application/json"}
        return 200, kind, json.dumps(body).encode()

    def list_pods(
        self, max_bytes: float = DEFAULT_LIMITS.max_bytes
    ) -> Exception:
        client = connect(
            {
                "vimType": "ETSINFV.KUBERNETES.V_1",
                "interfaceInfo": {"endpoint": self.server.url},
                "accessInfo": {"bearer_token": "a"},
            },
            max_bytes,
        )
        kind = client.kind("v1", "Pod")
        return self.assertRaises(errors.InfraError, client.list, kind, None)

    def endless(self, items: list[Any]) -> Iterator[Any]:
        while True:
            self.sent += 1
            yield {"metadata": {"continue": "more"}, "items": items}

    def test_pages_without_end(self) -> None:
        self.sent = 0
        body = {"metadata": {"name": "x" * 10_000}}
        self.pages = self.endless([body])
        error = self.list_pods(max_bytes=100_000)
        self.assertIsInstance(error, errors.VimRejected)
        self.assertIn("100000 bytes", str(error))
        self.assertEqual(10, self.sent)

    def test_empty_pages_without_end(self) -> None:
        self.sent = 0
        self.pages = self.endless([])
        self.assertIn("more than 1000 pages", str(self.list_pods()))
        self.assertEqual(1000, self.sent)

    def test_a_list_that_is_none(self) -> None:
        bodies: tuple[Any, ...] = (
            [],
            {},
            {"metadata": {}, "items": [1]},
        )
        for body in bodies:
            self.pages = iter([body])
            error = self.list_pods()
            self.assertIn("not a Kubernetes API server", str(error))
