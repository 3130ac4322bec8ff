"""What a test can do to the cluster: crash, kill, lose, slow down."""

from collections.abc import Callable
from typing import Any

from kubernetes_sandbox import answers, bodies, errors, nodes, pods
from kubernetes_sandbox.answers import Answer
from kubernetes_sandbox.calls import Call
from kubernetes_sandbox.kubelet import Kubelet
from kubernetes_sandbox.objects import Obj, condition, now, with_metadata
from kubernetes_sandbox.plane import Plane

_TAINT_EFFECTS = ("NoSchedule", "NoExecute")


class Controls:
    """The hands of the test on the cluster."""

    def __init__(self, plane: Plane, kubelet: Kubelet) -> None:
        self._plane = plane
        self._kubelet = kubelet
        self._actions: dict[str, Callable[..., None]] = {
            "crash-pod": self.crash_pod,
            "kill-pod": self.kill_pod,
            "lose-node": self.lose_node,
            "restore-node": self.restore_node,
            "pod-start-delay": self.set_pod_start_delay,
            "node-capacity": self.set_node_capacity,
        }

    def offer(self, name: str, action: Callable[..., None]) -> None:
        """Let one more action be carried out over HTTP."""
        self._actions[name] = action

    def answer(self, call: Call) -> Answer:
        """Carry out POST /sandbox/<action> with its arguments as JSON.

        :raises ApiError: there is no such action, or what it names
        """
        action = self._actions.get(call.path.removeprefix("/sandbox/"))
        if action is None:
            raise errors.no_such_resource()
        if call.method != "POST":
            raise errors.method_not_allowed()
        arguments: Any = bodies.decode_json(call.body or b"{}", "arguments")
        try:
            action(**arguments)
        except TypeError as error:
            raise errors.bad_request(str(error)) from error
        return answers.of({"kind": "Status", "status": "Success"})

    def _pod(self, namespace: str, name: str) -> Obj:
        pod = self._plane.store.get(pods.KEY, namespace, name)
        if pod is None:
            raise errors.not_found("pods", "", name)
        return pod

    def _node(self, name: str) -> Obj:
        node = self._plane.store.get(nodes.KEY, "", name)
        if node is None:
            raise errors.not_found("nodes", "", name)
        return node

    def crash_pod(self, namespace: str, name: str) -> None:
        """Let the containers of a pod exit with 1."""
        self._kubelet.crash(self._pod(namespace, name))

    def kill_pod(self, namespace: str, name: str) -> None:
        """Remove a pod behind everybody's back."""
        kind = self._plane.kind(pods.KEY)
        self._plane.store.remove(kind, self._pod(namespace, name))

    def set_pod_start_delay(self, seconds: float) -> None:
        """Let pods take this long to start from now on."""
        self._kubelet.start_delay = seconds

    def set_node_capacity(self, name: str, pods: int) -> None:
        """Let a node take this many pods."""
        node = self._node(name)
        status = dict(node["status"])
        for field in ("capacity", "allocatable"):
            status[field] = {**status[field], "pods": str(pods)}
        kind = self._plane.kind(nodes.KEY)
        self._plane.api.set_status(kind, node, status)

    def lose_node(self, name: str, notice: float = 0.0) -> None:
        """Let a node's kubelet fall silent.

        :param notice: seconds until the control plane sees it
        """
        self._node(name)
        self._kubelet.lose(name)
        if notice:
            self._plane.timers.later(notice, self._notice_loss, name)
        else:
            self._notice_loss(name)

    def _notice_loss(self, name: str) -> None:
        node = self._plane.store.get(nodes.KEY, "", name)
        if node is None or not self._kubelet.is_lost(name):
            return
        taints = [
            {"key": nodes.UNREACHABLE, "effect": effect, "timeAdded": now()}
            for effect in _TAINT_EFFECTS
        ]
        kept = _other_taints(node)
        self._set_node(node, [*kept, *taints], nodes.lost_condition())
        for pod in tuple(self._plane.store.objects(pods.KEY)):
            if pod["spec"].get("nodeName") == name:
                self._mark_unready(pod)

    def restore_node(self, name: str) -> None:
        """Let a node's kubelet report again."""
        node = self._node(name)
        self._set_node(node, _other_taints(node), nodes.ready_condition())
        self._kubelet.restore(name)

    def _set_node(self, node: Obj, taints: list[Obj], ready: Obj) -> None:
        spec = {k: v for k, v in node["spec"].items() if k != "taints"}
        if taints:
            spec["taints"] = taints
        others = [
            one
            for one in node["status"]["conditions"]
            if one["type"] != "Ready"
        ]
        status = {**node["status"], "conditions": [*others, ready]}
        kind = self._plane.kind(nodes.KEY)
        self._plane.api.put(
            kind, {**with_metadata(node), "spec": spec, "status": status}
        )

    def _mark_unready(self, pod: Obj) -> None:
        known = condition(pod, "Ready")
        if known is None or known["status"] != "True":
            return
        conditions = [
            {**one, "status": "False", "lastTransitionTime": now()}
            if one["type"] == "Ready"
            else one
            for one in pod["status"]["conditions"]
        ]
        status = {**pod["status"], "conditions": conditions}
        kind = self._plane.kind(pods.KEY)
        made = self._plane.api.set_status(kind, pod, status)
        self._plane.events.tell(
            made,
            "NodeNotReady",
            "Node is not ready",
            "node-controller",
            warning=True,
        )


def _other_taints(node: Obj) -> list[Obj]:
    return [
        taint
        for taint in node["spec"].get("taints") or ()
        if taint["key"] != nodes.UNREACHABLE
    ]
