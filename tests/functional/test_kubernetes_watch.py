"""Watches of the Kubernetes driver."""

import queue
import threading
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import fixtures
import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import WatchTask
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.sol.common import VimConnectionInfo
from tests.fixtures import waiting
from tests.fixtures.cluster import CORE, CnfCase
from tests.fixtures.tcp_proxy import TcpProxy

#: seconds of real time until a test fails
EVENT_TIMEOUT_S = 120.0
#: reported when changes of any instance may have been missed
MISSED_EVERYWHERE = ("missed", None)
RBAC = "/apis/rbac.authorization.k8s.io/v1"


class WatchCase(CnfCase):
    """A watch in a thread."""

    def setUp(self) -> None:
        super().setUp()
        port = urlsplit(self.cluster.sandbox.endpoint).port
        self.tcp_proxy = self.useFixture(TcpProxy(port or 0))
        self.driver = KubernetesDriver(self.vnfm.conf)
        self.cancel_token = CancelToken()
        self.events: queue.SimpleQueue[tuple[str, str | None]]
        self.events = queue.SimpleQueue()
        self.tenants = {self.vnfm.namespace}
        self.results: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        self.addCleanup(self.stop_watch)

    def stop_watch(self) -> None:
        self.cancel_token.cancel(errors.Cancelled("Cancelled."), forceful=True)

    def on_missed(self, tenant: str | None) -> None:
        self.events.put(("missed", tenant))

    def watch(
        self, missed: Callable[[str | None], None] | None = None, **access: str
    ) -> None:
        """Start the watch."""
        vim = msgspec.convert(
            self.cluster.vim(**access)["vim1"], VimConnectionInfo
        )
        task = WatchTask(
            vim_connection=msgspec.structs.replace(
                vim,
                interface_info={
                    **vim.interface_info,
                    "endpoint": f"https://127.0.0.1:{self.tcp_proxy.port}",
                },
            ),
            tenants=lambda: set(self.tenants),
            on_change=lambda instance: self.events.put(("changed", instance)),
            on_missed=missed or self.on_missed,
            cancel_token=self.cancel_token,
        )

        def run() -> None:
            try:
                self.driver.watch(task)
            except errors.VnfmError as error:
                self.results.put(error)
            else:
                self.results.put(None)

        threading.Thread(target=run, daemon=True).start()

    def assert_events(self, *expected: tuple[str, str | None]) -> None:
        """Wait until all of these, and no other, are reported."""
        remaining = set(expected)
        while remaining:
            event = self.events.get(timeout=EVENT_TIMEOUT_S)
            self.assertIn(event, expected)
            remaining.discard(event)

    def drain_events(self, namespace: str | None = None) -> None:
        """Discard the events before that of another new pod."""
        name = f"last-{uuid.uuid4()}"
        self.pod(name, name, namespace=namespace or self.vnfm.namespace)
        while self.events.get(timeout=EVENT_TIMEOUT_S) != ("changed", name):
            pass

    def pod(self, name: str, instance: str, **more: Any) -> None:
        """Create a pod with the label of an instance."""
        body = {
            "metadata": {
                "name": name,
                "labels": {"tacker_vnf_instance_id": instance},
            },
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        namespace = more.get("namespace", self.vnfm.namespace)
        self.cluster.call("POST", f"{CORE}/namespaces/{namespace}/pods", body)

    def remove(self, name: str) -> None:
        path = f"{CORE}/namespaces/{self.vnfm.namespace}/pods/{name}"
        self.cluster.call("DELETE", path)


class TestWatch(WatchCase):
    def test_pods_that_are_created_and_deleted(self) -> None:
        self.watch()
        self.assert_events(MISSED_EVERYWHERE)
        self.pod("a", "one")
        self.assert_events(("changed", "one"))
        self.drain_events()
        self.remove("a")
        self.assert_events(("changed", "one"))

    def test_pods_without_an_instance(self) -> None:
        self.watch()
        self.assert_events(MISSED_EVERYWHERE)
        body = {
            "metadata": {"name": "b"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        self.cluster.call(
            "POST", f"{CORE}/namespaces/{self.vnfm.namespace}/pods", body
        )
        self.pod("a", "one")
        self.assert_events(("changed", "one"))

    def test_a_cancelled_watch_ends_at_once(self) -> None:
        self.watch()
        self.assert_events(MISSED_EVERYWHERE)
        self.cluster.wait_watched()
        self.stop_watch()
        # it would be read for a minute
        self.assertIsInstance(self.results.get(timeout=40), errors.Cancelled)

    def test_a_broken_watch_continues_at_its_resource_version(self) -> None:
        self.watch()
        self.assert_events(MISSED_EVERYWHERE)
        self.pod("a", "one")
        self.assert_events(("changed", "one"))
        self.drain_events()
        self.tcp_proxy.break_connections()
        self.pod("b", "two")
        self.assert_events(("changed", "two"))

    def test_a_cluster_that_is_lost(self) -> None:
        self.watch()
        self.assert_events(MISSED_EVERYWHERE)
        self.tcp_proxy.close()
        self.assertIsInstance(
            self.results.get(timeout=EVENT_TIMEOUT_S), errors.VimUnreachable
        )

    def test_an_invalid_token(self) -> None:
        self.watch(bearer_token="wrong")
        self.assertIsInstance(
            self.results.get(timeout=EVENT_TIMEOUT_S), errors.VimRejected
        )


class TestExpiredEvents(WatchCase):
    def setUp(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch("kubernetes_sandbox.store._HISTORY_LENGTH", 4)
        )
        super().setUp()

    def test_an_expired_resource_version_is_reported_as_missed_changes(
        self,
    ) -> None:
        self.watch()
        self.assert_events(MISSED_EVERYWHERE)
        self.tcp_proxy.close()
        for number in range(5):
            self.pod(f"p{number}", "one")
        self.tcp_proxy.open()
        self.assert_events(MISSED_EVERYWHERE)
        self.drain_events()
        self.pod("a", "two")
        self.assert_events(("changed", "two"))


class TestNamespaces(WatchCase):
    """Credentials for some namespaces, and not for the whole cluster."""

    def allow(self, namespace: str) -> None:
        path = f"{RBAC}/namespaces/{namespace}"
        rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        self.cluster.call(
            "POST", f"{path}/roles", {**_named("all"), "rules": [rule]}
        )
        self.cluster.call(
            "POST",
            f"{path}/rolebindings",
            {
                **_named("all"),
                "subjects": [{"kind": "User", "name": "viewer"}],
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "Role",
                    "name": "all",
                },
            },
        )

    def test_each_namespace_is_watched_while_it_has_vnfs(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.drivers.kubernetes.pod_watch.NAMESPACE_POLL_S", 0.1
            )
        )
        one, other = self.vnfm.namespace, self.cluster.namespace()
        self.allow(one)
        self.allow(other)
        self.watch(bearer_token=self.cluster.sandbox.viewer_token)
        self.assert_events(("missed", one))
        self.pod("a", "one")
        self.assert_events(("changed", "one"))
        self.drain_events()
        self.tenants.add(other)
        self.assert_events(("missed", other))
        self.pod("b", "two", namespace=other)
        self.assert_events(("changed", "two"))
        self.drain_events(other)
        self.tenants.discard(one)
        before = self.tcp_proxy.connections
        waiting.until(
            lambda: self.tcp_proxy.connections != before,
            "the end of the watch",
        )
        self.pod("c", "three")
        self.pod("d", "two", namespace=other)
        self.assert_events(("changed", "two"))
        self.stop_watch()
        self.assertIsInstance(
            self.results.get(timeout=EVENT_TIMEOUT_S), errors.Cancelled
        )

    def test_an_unused_watch_ends_while_the_cluster_is_silent(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.drivers.kubernetes.pod_watch.NAMESPACE_POLL_S", 0.1
            )
        )
        self.allow(self.vnfm.namespace)
        self.watch(bearer_token=self.cluster.sandbox.viewer_token)
        self.assert_events(("missed", self.vnfm.namespace))
        (thread,) = (
            thread
            for thread in threading.enumerate()
            if thread.name == f"watch of {self.vnfm.namespace}"
        )
        self.cluster.wait_watched()
        self.tenants.clear()
        thread.join(60)
        self.assertFalse(thread.is_alive())

    def test_a_failed_watch_is_restarted(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.drivers.kubernetes.pod_watch.RETRY_DELAY_S", 0.1
            )
        )
        log = self.useFixture(fixtures.FakeLogger())
        tries: list[str | None] = []

        def missed(tenant: str | None) -> None:
            tries.append(tenant)
            if len(tries) == 1:
                raise RuntimeError("an unexpected error")
            self.events.put(("missed", tenant))

        self.allow(self.vnfm.namespace)
        token = self.cluster.sandbox.viewer_token
        self.watch(missed, bearer_token=token)
        self.assert_events(("missed", self.vnfm.namespace))
        self.assertIn("an unexpected error", log.output)
        self.pod("a", "one")
        self.assert_events(("changed", "one"))

    def test_a_forbidden_namespace_blocks_no_other(self) -> None:
        forbidden = self.cluster.namespace()
        self.tenants.add(forbidden)
        self.allow(self.vnfm.namespace)
        self.watch(bearer_token=self.cluster.sandbox.viewer_token)
        self.assert_events(("missed", self.vnfm.namespace))
        self.pod("a", "one")
        self.assert_events(("changed", "one"))

    def test_a_cluster_that_is_lost(self) -> None:
        self.allow(self.vnfm.namespace)
        self.watch(bearer_token=self.cluster.sandbox.viewer_token)
        self.assert_events(("missed", self.vnfm.namespace))
        self.tcp_proxy.close()
        self.assertIsInstance(
            self.results.get(timeout=EVENT_TIMEOUT_S), errors.VimUnreachable
        )


def _named(name: str) -> Any:
    return {"metadata": {"name": name}}
