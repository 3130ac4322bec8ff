"""The kubelets of all nodes: they start, restart and stop pods."""

from collections.abc import Callable
from dataclasses import dataclass, field

from kubernetes_sandbox import nodes, pod_status, pods
from kubernetes_sandbox.container_lifecycle import ContainerLifecycle
from kubernetes_sandbox.controller_context import ControllerContext
from kubernetes_sandbox.deletion import NOW
from kubernetes_sandbox.objects import (
    Obj,
    is_deleting,
    name_of,
    namespace_of,
    uid_of,
)
from kubernetes_sandbox.pod_status import PodState
from kubernetes_sandbox.store import Change

_RESTART_DELAY_S = 0.1
_REFERENCES = ("configmaps.", "secrets.")


@dataclass(slots=True)
class _Run:
    """A pod that a kubelet manages."""

    place: tuple[str, str]
    node: str
    cancel: Callable[[], None] = field(default=lambda: None)
    stopping: bool = False
    started: bool = False


class Kubelet:
    """Acts as the kubelet of every node."""

    def __init__(
        self,
        context: ControllerContext,
        *,
        start_delay: float,
        stop_delay: float,
    ) -> None:
        self.start_delay = start_delay
        self._stop_delay = stop_delay
        self._context = context
        self._store = context.store
        self._kind = context.kind(pods.KEY)
        self._runs: dict[str, _Run] = {}
        self._lost: set[str] = set()
        self._containers = ContainerLifecycle(context, self._get_start_delay)
        self._store.subscribe(pods.KEY, self._pod_changed)
        self._store.subscribe(nodes.KEY, self._node_changed)
        for key in _REFERENCES:
            self._store.subscribe(key, self._reference_changed)

    def stop_reporting(self, node: str) -> None:
        """Make the kubelet of a node stop reporting."""
        self._lost.add(node)

    def resume_reporting(self, node: str) -> None:
        """Make the kubelet of a node report again."""
        self._lost.discard(node)
        for uid in [u for u, run in self._runs.items() if run.node == node]:
            self._context.timers.soon(self._resume, uid)

    def is_lost(self, node: str) -> bool:
        """Return whether the kubelet of a node has stopped reporting."""
        return node in self._lost

    def crash(self, pod: Obj) -> None:
        """Make the containers of a pod exit with 1."""
        self._containers.crash(pod)

    def _get_start_delay(self) -> float:
        return self.start_delay

    def _pod(self, uid: str) -> Obj | None:
        entry = self._store.of_uid(uid)
        return entry.obj if entry is not None else None

    def _node_changed(self, change: Change) -> None:
        if change.type == "DELETED":  # A new node of this name may report.
            self._lost.discard(name_of(change.entry.obj))

    def _pod_changed(self, change: Change) -> None:
        pod = change.entry.obj
        uid = uid_of(pod)
        if change.type == "DELETED":
            run = self._runs.pop(uid, None)
            if run is not None:
                run.cancel()
            self._containers.forget(uid)
            return
        run = self._runs.get(uid)
        if run is None:
            if pod["spec"].get("nodeName"):
                self._manage(pod)
            return
        if is_deleting(pod):
            self._stop_later(uid, run, pod)
        elif run.started and change.old is not None:
            self._image_changed(change.old, pod)

    def _manage(self, pod: Obj) -> None:
        uid = uid_of(pod)
        node = pod["spec"]["nodeName"]
        run = _Run((namespace_of(pod), name_of(pod)), node)
        self._runs[uid] = run
        later = self._context.timers.later
        run.cancel = later(self.start_delay, self._start, uid)

    def _is_lost(self, run: _Run) -> bool:
        return run.node in self._lost

    def _start(self, uid: str) -> None:
        run, pod = self._runs.get(uid), self._pod(uid)
        if run is None or pod is None or self._is_lost(run):
            return
        if is_deleting(pod):
            return
        run.started = True
        self._containers.start(pod)

    def _resume(self, uid: str) -> None:
        run, pod = self._runs.get(uid), self._pod(uid)
        if run is None or pod is None:
            return
        if is_deleting(pod):
            self._stop_later(uid, run, pod)
        elif not run.started:
            self._start(uid)
        else:
            self._containers.report_ready(pod)
            self._restart_changed(uid)

    def _image_changed(self, old: Obj, pod: Obj) -> None:
        if old["spec"] is pod["spec"]:
            return
        before, after = (
            {c["name"]: c["image"] for c in one["spec"]["containers"]}
            for one in (old, pod)
        )
        if before != after:
            later = self._context.timers.later
            later(_RESTART_DELAY_S, self._restart_changed, uid_of(pod))

    def _restart_changed(self, uid: str) -> None:
        run = self._runs.get(uid)
        if run is not None and not self._is_lost(run):
            self._containers.restart_changed(uid)

    def _stop_later(self, uid: str, run: _Run, pod: Obj) -> None:
        grace = pod["metadata"].get("deletionGracePeriodSeconds", 0)
        if run.stopping or self._is_lost(run):
            return
        run.stopping = True
        run.cancel()
        self._containers.forget(uid)
        # A pod without grace is still there because of a finalizer.
        seconds = min(grace or self._stop_delay, self._stop_delay)
        run.cancel = self._context.timers.later(seconds, self._stop, uid)

    def _stop(self, uid: str) -> None:
        run, pod = self._runs.get(uid), self._pod(uid)
        if run is None or pod is None:
            return
        if self._is_lost(run):
            run.stopping = False
            return
        status = self._stopped(pod)
        pod = self._context.api.set_status(self._kind, pod, status)
        # In the next iteration, so that watches see the last status.
        self._context.timers.soon(self._delete, uid)

    @staticmethod
    def _stopped(pod: Obj) -> Obj:
        known = pod["status"].get("containerStatuses") or ()
        ended = [
            pod_status.ended(one, 0, "Completed")
            if "running" in one["state"]
            else pod_status.never_started(one)
            for one in known
        ]
        if list(map(pod_status.never_started, known)) == list(known):
            pod_state = PodState(started=False, ready=False, completed=True)
            return pod_status.of(pod, "Succeeded", pod_state, ended)
        pod_state = PodState(ready=False, failed=True)
        return pod_status.of(pod, "Failed", pod_state, ended)

    def _delete(self, uid: str) -> None:
        pod = self._pod(uid)
        if pod is not None:
            self._context.deletion.delete(self._kind, pod, NOW)

    def _reference_changed(self, change: Change) -> None:
        if change.type != "DELETED":
            self._containers.retry_missing_references(
                namespace_of(change.entry.obj)
            )
