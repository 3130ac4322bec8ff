"""The sandbox cluster: a Kubernetes API server in a thread of its own."""

import asyncio
import base64
import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Self

from trustme import CA

from kubernetes_sandbox.control_plane import ControlPlane, Wishes
from kubernetes_sandbox.identities import MASTERS, Identities
from kubernetes_sandbox.objects import Obj
from kubernetes_sandbox.server import Server

_NAME = "sandbox"
_WAIT_SECONDS = 30.0


class SandboxCluster:
    """A cluster that lives in memory and is reached over HTTPS.

    :param orphan_delay: seconds until the pods of a deleted node are deleted
    :param names: what else its certificate is to be good for
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
        self._wishes = Wishes(
            nodes, pod_start_delay, pod_stop_delay, orphan_delay
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._plane: ControlPlane | None = None
        self._make_credentials(names)

    def _make_credentials(self, names: tuple[str, ...]) -> None:
        authority = CA()
        identities = Identities()
        self._identities = identities
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
        self.token = identities.issue("admin", MASTERS)
        self.viewer_token = identities.issue("viewer")

    @property
    def endpoint(self) -> str:
        """The URL of the API server."""
        return f"https://{self._host}:{self._port}"

    @property
    def is_running(self) -> bool:
        """Whether it was started, and not stopped."""
        return self._thread is not None

    def start(self) -> None:
        """Start the cluster; it listens when this returns.

        :raises OSError: the port cannot be had
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
        """End the cluster; it leaves no thread and no socket."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._wait(self._end())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_WAIT_SECONDS)
        self._loop = self._thread = self._plane = None

    def __enter__(self) -> Self:
        """Start it for a with block."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.stop()

    def kubeconfig(self) -> Obj:
        """Build a kubeconfig with everything inline."""
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

    def crash_pod(self, namespace: str, name: str) -> None:
        """Let a pod's containers exit with 1; they are restarted."""
        self._do(lambda p: p.controls.crash_pod(namespace, name))

    def kill_pod(self, namespace: str, name: str) -> None:
        """Remove a pod behind everybody's back."""
        self._do(lambda p: p.controls.kill_pod(namespace, name))

    def lose_node(self, name: str, notice: float = 0.0) -> None:
        """Let a node's kubelet fall silent.

        :param notice: seconds until the control plane sees it
        """
        self._do(lambda p: p.controls.lose_node(name, notice))

    def restore_node(self, name: str) -> None:
        """Let a node's kubelet report again."""
        self._do(lambda p: p.controls.restore_node(name))

    def leave_api(self) -> None:
        """Let the API server be away, until it comes back."""
        self._wait(self._server().leave())

    def return_api(self) -> None:
        """Let the API server listen again."""
        self._wait(self._server().come_back())

    @contextlib.contextmanager
    def be_silent(self) -> Iterator[None]:
        """Answer nobody within this block, though connections stay."""
        assert self._loop is not None
        ends = threading.Event()
        self._loop.call_soon_threadsafe(ends.wait)
        try:
            yield
        finally:
            ends.set()

    def set_pod_start_delay(self, seconds: float) -> None:
        """Let pods take this long to start from now on."""
        self._do(lambda p: p.controls.set_pod_start_delay(seconds))

    def set_node_capacity(self, name: str, *, pods: int) -> None:
        """Let a node take this many pods; those beyond stay Pending."""
        self._do(lambda p: p.controls.set_node_capacity(name, pods))

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            # those who were just saying hello
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
        return future.result(_WAIT_SECONDS)

    def _server(self) -> Server:
        assert self._plane is not None
        return self._plane.server

    def _do(self, action: Callable[[ControlPlane], None]) -> None:
        async def act() -> None:
            assert self._plane is not None
            action(self._plane)

        self._wait(act())

    async def _begin(self) -> int:
        loop = asyncio.get_running_loop()
        self._plane = ControlPlane(
            loop, self._identities, self.ca_pem, self._wishes
        )
        return await self._plane.server.start(
            self._host, self._port, self._tls
        )

    async def _end(self) -> None:
        if self._plane is not None:
            self._plane.timers.close()
            await self._plane.server.stop()
