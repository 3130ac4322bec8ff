"""Fault injection: crash pods, lose nodes, stop the API server."""

import inspect
import math
from collections.abc import Callable
from typing import Any, Final

from kubernetes_sandbox import errors, nodes, pods, request_body, responses
from kubernetes_sandbox.api_request import Request
from kubernetes_sandbox.controller_context import ControllerContext
from kubernetes_sandbox.kubelet import Kubelet
from kubernetes_sandbox.objects import Obj, condition, now, with_metadata
from kubernetes_sandbox.responses import Response

_TAINT_EFFECTS = ("NoSchedule", "NoExecute")
#: type of an argument -> its name in JSON
_TYPE_NAMES: Final = {
    str: "a string",
    float: "a number, 0 or more",
    int: "an integer, 0 or more",
}


class FaultInjector:
    """Injects faults into the cluster."""

    def __init__(self, context: ControllerContext, kubelet: Kubelet) -> None:
        self._context = context
        self._kubelet = kubelet
        self._actions: dict[str, Callable[..., None]] = {
            "crash-pod": self.crash_pod,
            "kill-pod": self.kill_pod,
            "lose-node": self.lose_node,
            "restore-node": self.restore_node,
            "pod-start-delay": self.set_pod_start_delay,
            "node-capacity": self.set_node_capacity,
            "compact": self._context.store.compact,
        }

    def register(self, name: str, action: Callable[..., None]) -> None:
        """Add an action that can be requested over HTTP."""
        self._actions[name] = action

    def handle(self, request: Request) -> Response:
        """Execute ``POST /sandbox/<action>`` with its arguments as JSON.

        :raises ApiError: unknown action, pod or node; invalid arguments
        """
        action = self._actions.get(request.path.removeprefix("/sandbox/"))
        if action is None:
            raise errors.no_such_resource()
        if request.method != "POST":
            raise errors.method_not_allowed()
        arguments: Any = request_body.decode_json(
            request.body or b"{}", "arguments"
        )
        _check_arguments(action, arguments)
        action(**arguments)
        return responses.of({"kind": "Status", "status": "Success"})

    def _pod(self, namespace: str, name: str) -> Obj:
        pod = self._context.store.get(pods.KEY, namespace, name)
        if pod is None:
            raise errors.not_found("pods", "", name)
        return pod

    def _node(self, name: str) -> Obj:
        node = self._context.store.get(nodes.KEY, "", name)
        if node is None:
            raise errors.not_found("nodes", "", name)
        return node

    def crash_pod(self, namespace: str, name: str) -> None:
        """Make the containers of a pod exit with 1."""
        self._kubelet.crash(self._pod(namespace, name))

    def kill_pod(self, namespace: str, name: str) -> None:
        """Remove a pod without grace period and finalizers."""
        kind = self._context.kind(pods.KEY)
        self._context.store.remove(kind, self._pod(namespace, name))

    def set_pod_start_delay(self, seconds: float) -> None:
        """Set the seconds that a container takes to start."""
        self._kubelet.start_delay = seconds

    def set_node_capacity(self, name: str, pods: int) -> None:
        """Set the number of pods that a node can run."""
        node = self._node(name)
        status = dict(node["status"])
        for field in ("capacity", "allocatable"):
            status[field] = {**status[field], "pods": str(pods)}
        kind = self._context.kind(nodes.KEY)
        self._context.api.set_status(kind, node, status)

    def lose_node(self, name: str, detection_delay: float = 0.0) -> None:
        """Make the kubelet of a node stop reporting.

        :param detection_delay: seconds until the node becomes NotReady
        """
        self._node(name)
        self._kubelet.stop_reporting(name)
        if detection_delay:
            self._context.timers.later(
                detection_delay, self._mark_unreachable, name
            )
        else:
            self._mark_unreachable(name)

    def _mark_unreachable(self, name: str) -> None:
        node = self._context.store.get(nodes.KEY, "", name)
        if node is None or not self._kubelet.is_lost(name):
            return
        taints = [
            {"key": nodes.UNREACHABLE, "effect": effect, "timeAdded": now()}
            for effect in _TAINT_EFFECTS
        ]
        kept = _other_taints(node)
        self._set_node(node, [*kept, *taints], nodes.unknown_condition())
        for pod in tuple(self._context.store.objects(pods.KEY)):
            if pod["spec"].get("nodeName") == name:
                self._mark_unready(pod)

    def restore_node(self, name: str) -> None:
        """Make the kubelet of a node report again."""
        node = self._node(name)
        self._set_node(node, _other_taints(node), nodes.ready_condition())
        self._kubelet.resume_reporting(name)

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
        kind = self._context.kind(nodes.KEY)
        self._context.api.put(
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
        kind = self._context.kind(pods.KEY)
        result = self._context.api.set_status(kind, pod, status)
        self._context.events.record(
            result,
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


def _check_arguments(action: Callable[..., None], arguments: Any) -> None:
    """Check the arguments of an action by its signature.

    :raises ApiError: one is missing, unknown or of another type
    """
    parameters = inspect.signature(action).parameters
    allowed = ", ".join(
        f"{name} ({_TYPE_NAMES[parameter.annotation]}"
        f"{'' if parameter.default is parameter.empty else '; optional'})"
        for name, parameter in parameters.items()
    )
    if not isinstance(arguments, dict):
        raise errors.bad_request(f"The body is not an object of: {allowed}.")
    for name in arguments.keys() - parameters.keys():
        raise errors.bad_request(f"Unknown argument {name!r}; use: {allowed}.")
    for name, parameter in parameters.items():
        if name not in arguments:
            if parameter.default is parameter.empty:
                raise errors.bad_request(f"{name} is missing; use: {allowed}.")
        elif not _is_of_type(arguments[name], parameter.annotation):
            raise errors.bad_request(
                f"{name} is not {_TYPE_NAMES[parameter.annotation]}."
            )


def _is_of_type(value: Any, expected: type) -> bool:
    if expected is str:
        return isinstance(value, str)
    number = (int, float) if expected is float else int
    return (
        isinstance(value, number)
        and not isinstance(value, bool)
        and 0 <= value < math.inf
    )
