"""A sandbox cluster: an API server and controllers in a thread."""

import asyncio
import base64
import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Self

from trustme import CA

from kubernetes_sandbox.authentication import MASTERS, Authenticator
from kubernetes_sandbox.control_plane import ClusterOptions, ControlPlane
from kubernetes_sandbox.objects import Obj
from kubernetes_sandbox.server import Server
from kubernetes_sandbox.store import Change

_NAME = "sandbox"
_TIMEOUT_S = 30.0


class SandboxCluster:
    """A cluster in memory that is served over HTTPS.

    :param orphan_delay: seconds until the pods of a deleted node are deleted
    :param names: additional subject alternative names of the certificate
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        nodes: int = 2,
        pod_start_delay: float = 0.3,
        pod_stop_delay: float = 0.3,
        orphan_delay: float = 40.0,
        names: tuple[str, ...] = (),
    ) -> None:
        self._host = host
        self._port = port
        self._options = ClusterOptions(
            nodes, pod_start_delay, pod_stop_delay, orphan_delay
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._control_plane: ControlPlane | None = None
        self._changed = threading.Condition()
        self._version = 0
        self._make_credentials(names)

    def _make_credentials(self, names: tuple[str, ...]) -> None:
        authority = CA()
        authenticator = Authenticator()
        self._authenticator = authenticator
        self.ca_pem = authority.cert_pem.bytes().decode()
        hosts = ("127.0.0.1", "localhost", "::1", self._host, *names)
        server = authority.issue_cert(*dict.fromkeys(hosts))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.verify_mode = ssl.CERT_OPTIONAL
        authority.configure_trust(self._tls)
        server.configure_cert(self._tls)
        admin = authority.issue_cert(
            "admin", common_name="admin", organization_name=MASTERS
        )
        self.client_cert_pem = admin.cert_chain_pems[0].bytes().decode()
        self.client_key_pem = admin.private_key_pem.bytes().decode()
        self.token = authenticator.issue("admin", MASTERS)
        self.viewer_token = authenticator.issue("viewer", "viewers")

    @property
    def endpoint(self) -> str:
        """The URL of the API server."""
        return f"https://{self._host}:{self._port}"

    @property
    def is_running(self) -> bool:
        """Whether the cluster was started and not stopped."""
        return self._thread is not None

    @property
    def open_watches(self) -> int:
        """The number of watches that clients have open."""
        return self._server().open_watches

    @property
    def resource_version(self) -> int:
        """The resourceVersion of the latest change."""
        return self._version

    def wait_for_change(self, version: int, timeout: float) -> bool:
        """Wait until an object changes after a resourceVersion.

        Return whether one has changed within ``timeout`` seconds.
        """
        with self._changed:
            return self._changed.wait_for(
                lambda: self._version > version, timeout
            )

    def start(self) -> None:
        """Start the cluster and wait until it listens.

        :raises OSError: the address cannot be bound
        """
        if self._thread is not None:
            return
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, args=(self._loop,), name=_NAME, daemon=True
        )
        self._thread.start()
        try:
            self._port = self._wait(self._begin())
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the cluster; no thread and no socket is left."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._wait(self._end())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_TIMEOUT_S)
        self._loop = self._thread = self._control_plane = None

    def __enter__(self) -> Self:
        """Start the cluster."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the cluster."""
        self.stop()

    def kubeconfig(self) -> Obj:
        """Build a kubeconfig with embedded certificates and a token."""
        ca = base64.b64encode(self.ca_pem.encode()).decode()
        cluster = {
            "server": self.endpoint,
            "certificate-authority-data": ca,
        }
        context = {"cluster": _NAME, "user": "admin", "namespace": "default"}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": _NAME, "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": self.token}}],
            "contexts": [{"name": _NAME, "context": context}],
            "current-context": _NAME,
        }

    def hold_timers(self) -> None:
        """Stop the time of the controllers and kubelets.

        No state of an object passes before a client has read it, however
        busy the machine is; ``run_next_timer`` goes on to the next one.
        """
        self._do(lambda p: p.timers.hold())

    def run_next_timer(self) -> bool:
        """Run the held timer that is due first, and what it leads to.

        Return whether there was one.
        """

        async def run() -> bool:
            assert self._control_plane is not None
            found = self._control_plane.timers.run_next()
            await self._control_plane.timers.wait_idle()
            return found

        found: bool = self._wait(run())
        return found

    def wait_idle(self) -> None:
        """Wait until the controllers have nothing to do at this time."""
        assert self._control_plane is not None
        self._wait(self._control_plane.timers.wait_idle())

    def crash_pod(self, namespace: str, name: str) -> None:
        """Make the containers of a pod exit with 1; they are restarted."""
        self._do(lambda p: p.fault_injector.crash_pod(namespace, name))

    def kill_pod(self, namespace: str, name: str) -> None:
        """Remove a pod without grace period and finalizers."""
        self._do(lambda p: p.fault_injector.kill_pod(namespace, name))

    def lose_node(self, name: str, detection_delay: float = 0.0) -> None:
        """Make the kubelet of a node stop reporting.

        :param detection_delay: seconds until the node becomes NotReady
        """
        self._do(lambda p: p.fault_injector.lose_node(name, detection_delay))

    def restore_node(self, name: str) -> None:
        """Make the kubelet of a node report again."""
        self._do(lambda p: p.fault_injector.restore_node(name))

    def stop_api_server(self) -> None:
        """Close the socket of the API server until ``start_api_server``."""
        self._wait(self._server().suspend())

    def start_api_server(self) -> None:
        """Make the API server listen again."""
        self._wait(self._server().resume())

    @contextlib.contextmanager
    def block_api_server(self) -> Iterator[None]:
        """Block the API server in a ``with`` block; connections stay open."""
        assert self._loop is not None
        ends = threading.Event()
        self._loop.call_soon_threadsafe(ends.wait)
        try:
            yield
        finally:
            ends.set()

    def set_pod_start_delay(self, seconds: float) -> None:
        """Set the seconds that a container takes to start."""
        self._do(lambda p: p.fault_injector.set_pod_start_delay(seconds))

    def set_node_capacity(self, name: str, *, pods: int) -> None:
        """Set the number of pods that a node can run; others stay Pending."""
        self._do(lambda p: p.fault_injector.set_node_capacity(name, pods))

    def compact(self) -> None:
        """Drop the history of all objects, as a compaction of etcd does.

        Continue tokens, and watches from an earlier resourceVersion, expire.
        """
        self._do(lambda p: p.store.compact())

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            # TLS handshakes in progress
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    def _wait(self, work: Any) -> Any:
        assert self._loop is not None
        future: Future[Any] = asyncio.run_coroutine_threadsafe(
            work, self._loop
        )
        return future.result(_TIMEOUT_S)

    def _server(self) -> Server:
        assert self._control_plane is not None
        return self._control_plane.server

    def _do(self, action: Callable[[ControlPlane], None]) -> None:
        async def act() -> None:
            assert self._control_plane is not None
            action(self._control_plane)

        self._wait(act())

    def _on_change(self, change: Change) -> None:
        with self._changed:
            self._version = change.entry.version
            self._changed.notify_all()

    async def _begin(self) -> int:
        loop = asyncio.get_running_loop()
        self._control_plane = ControlPlane(
            loop, self._authenticator, self.ca_pem, self._options
        )
        store = self._control_plane.store
        self._version = store.version
        store.subscribe_all(self._on_change)
        return await self._control_plane.server.start(
            self._host, self._port, self._tls
        )

    async def _end(self) -> None:
        if self._control_plane is not None:
            self._control_plane.timers.close()
            await self._control_plane.server.stop()
