"""The Kubernetes driver as it watches a cluster."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import fixtures
import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.base import WatchTask
from tacker_cnf.drivers.kubernetes.driver import KubernetesDriver
from tacker_cnf.halting import Halt
from tacker_cnf.sol.common import VimConnectionInfo
from tests.fixtures.cluster import CORE, CnfCase
from tests.fixtures.relay import Relay

#: what a watch tells when changes may have been missed everywhere
EVERYWHERE = ("missed", None)
RBAC = "/apis/rbac.authorization.k8s.io/v1"


class WatchCase(CnfCase):
    """A watch of its own, in a thread of its own."""

    def setUp(self) -> None:
        super().setUp()
        self.relay = self.useFixture(Relay(self.cluster.sandbox.endpoint))
        self.driver = KubernetesDriver(self.vnfm.conf)
        self.halt = Halt()
        self.told: queue.SimpleQueue[tuple[str, str | None]]
        self.told = queue.SimpleQueue()
        self.tenants = {self.vnfm.namespace}
        self.ended: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        self.addCleanup(self.end)

    def end(self) -> None:
        self.halt.call_off(errors.Cancelled("Called off."), at_once=True)

    def miss(self, tenant: str | None) -> None:
        self.told.put(("missed", tenant))

    def watch(
        self, missed: Callable[[str | None], None] | None = None, **access: str
    ) -> None:
        """Begin to watch."""
        vim = msgspec.convert(
            self.cluster.vim(**access)["vim1"], VimConnectionInfo
        )
        task = WatchTask(
            vim_connection=msgspec.structs.replace(
                vim,
                interface_info={
                    **vim.interface_info,
                    "endpoint": self.relay.endpoint,
                },
            ),
            tenants=lambda: set(self.tenants),
            changed=lambda instance: self.told.put(("changed", instance)),
            missed=missed or self.miss,
            halt=self.halt,
        )

        def run() -> None:
            try:
                self.driver.watch(task)
            except errors.VnfmError as error:
                self.ended.put(error)
            else:
                self.ended.put(None)

        threading.Thread(target=run, daemon=True).start()

    def check_told(self, *expected: tuple[str, str | None]) -> None:
        """Wait until all of these are told, and nothing else is."""
        left = set(expected)
        while left:
            told = self.told.get(timeout=60)
            self.assertIn(told, expected)
            left.discard(told)

    def quiet(self) -> None:
        """Forget what was told, until nothing more comes."""
        with contextlib.suppress(queue.Empty):
            while True:
                self.told.get(timeout=0.3)

    def pod(self, name: str, instance: str, **more: Any) -> None:
        """Make a pod that says it belongs to an instance."""
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
    def test_pods_that_come_and_go(self) -> None:
        self.watch()
        self.check_told(EVERYWHERE)
        self.pod("a", "one")
        self.check_told(("changed", "one"))
        self.quiet()
        self.remove("a")
        self.check_told(("changed", "one"))

    def test_pods_of_nobody(self) -> None:
        self.watch()
        self.check_told(EVERYWHERE)
        body = {
            "metadata": {"name": "b"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        self.cluster.call(
            "POST", f"{CORE}/namespaces/{self.vnfm.namespace}/pods", body
        )
        self.pod("a", "one")
        self.check_told(("changed", "one"))

    def test_it_ends_at_once(self) -> None:
        self.watch()
        self.check_told(EVERYWHERE)
        time.sleep(0.2)  # the cluster is silent, the watch is read
        self.end()
        # it would be read for a minute
        self.assertIsInstance(self.ended.get(timeout=40), errors.Cancelled)

    def test_a_watch_that_is_cut_goes_on_where_it_was(self) -> None:
        self.watch()
        self.check_told(EVERYWHERE)
        self.pod("a", "one")
        self.check_told(("changed", "one"))
        self.quiet()
        self.relay.cut()
        self.pod("b", "two")
        self.check_told(("changed", "two"))

    def test_a_cluster_that_is_lost(self) -> None:
        self.watch()
        self.check_told(EVERYWHERE)
        self.relay.refuse()
        self.relay.cut()
        self.assertIsInstance(
            self.ended.get(timeout=60), errors.VimUnreachable
        )

    def test_a_token_that_is_wrong(self) -> None:
        self.watch(bearer_token="wrong")
        self.assertIsInstance(self.ended.get(timeout=60), errors.VimRefused)


class TestForgetful(WatchCase):
    def setUp(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch("kubernetes_sandbox.store._HISTORY_LENGTH", 4)
        )
        super().setUp()

    def test_what_the_cluster_has_forgotten_may_have_been_missed(self) -> None:
        self.watch()
        self.check_told(EVERYWHERE)
        self.relay.refuse()
        self.relay.cut()
        for number in range(5):
            self.pod(f"p{number}", "one")
        self.relay.listen()
        self.check_told(EVERYWHERE)
        self.quiet()
        self.pod("a", "two")
        self.check_told(("changed", "two"))


class TestNamespaces(WatchCase):
    """Credentials that reach some namespaces, and not the whole cluster."""

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

    def test_each_is_watched_while_vnfs_live_there(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.drivers.kubernetes.watching.LOOK", 0.1
            )
        )
        one, other = self.vnfm.namespace, self.cluster.namespace()
        self.allow(one)
        self.allow(other)
        self.watch(bearer_token=self.cluster.sandbox.viewer_token)
        self.check_told(("missed", one))
        self.pod("a", "one")
        self.check_told(("changed", "one"))
        self.quiet()
        self.tenants.add(other)
        self.check_told(("missed", other))
        self.pod("b", "two", namespace=other)
        self.check_told(("changed", "two"))
        self.quiet()
        self.tenants.discard(one)
        before = self.relay.connections
        until = time.monotonic() + 60
        while self.relay.connections == before:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        self.pod("c", "three")
        self.pod("d", "two", namespace=other)
        self.check_told(("changed", "two"))
        self.end()
        self.assertIsInstance(self.ended.get(timeout=60), errors.Cancelled)

    def test_one_that_is_left_ends_while_the_cluster_is_silent(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.drivers.kubernetes.watching.LOOK", 0.1
            )
        )
        self.allow(self.vnfm.namespace)
        self.watch(bearer_token=self.cluster.sandbox.viewer_token)
        self.check_told(("missed", self.vnfm.namespace))
        (thread,) = (
            thread
            for thread in threading.enumerate()
            if thread.name == f"watch of {self.vnfm.namespace}"
        )
        time.sleep(0.2)  # the watch is read
        self.tenants.clear()
        thread.join(60)
        self.assertFalse(thread.is_alive())

    def test_one_that_breaks_is_watched_again(self) -> None:
        self.useFixture(
            fixtures.MonkeyPatch(
                "tacker_cnf.drivers.kubernetes.watching.PAUSE", 0.1
            )
        )
        log = self.useFixture(fixtures.FakeLogger())
        tries: list[str | None] = []

        def missed(tenant: str | None) -> None:
            tries.append(tenant)
            if len(tries) == 1:
                raise RuntimeError("nobody thought of it")
            self.told.put(("missed", tenant))

        self.allow(self.vnfm.namespace)
        token = self.cluster.sandbox.viewer_token
        self.watch(missed, bearer_token=token)
        self.check_told(("missed", self.vnfm.namespace))
        self.assertIn("nobody thought of it", log.output)
        self.pod("a", "one")
        self.check_told(("changed", "one"))

    def test_one_that_is_forbidden_holds_up_no_other(self) -> None:
        forbidden = self.cluster.namespace()
        self.tenants.add(forbidden)
        self.allow(self.vnfm.namespace)
        self.watch(bearer_token=self.cluster.sandbox.viewer_token)
        self.check_told(("missed", self.vnfm.namespace))
        self.pod("a", "one")
        self.check_told(("changed", "one"))

    def test_a_cluster_that_is_lost(self) -> None:
        self.allow(self.vnfm.namespace)
        self.watch(bearer_token=self.cluster.sandbox.viewer_token)
        self.check_told(("missed", self.vnfm.namespace))
        self.relay.refuse()
        self.relay.cut()
        self.assertIsInstance(
            self.ended.get(timeout=60), errors.VimUnreachable
        )


def _named(name: str) -> Any:
    return {"metadata": {"name": name}}
