"""The ReplicaSet controller."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from kubernetes_sandbox import pods, selectors
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import (
    Obj,
    condition,
    controller_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    now,
    owner_reference,
    uid_of,
    with_metadata,
)
from kubernetes_sandbox.store import Change

_COMPONENT = "replicaset-controller"


class ReplicaSets(Controller):
    """Creates missing pods and deletes surplus ones."""

    key = "replicasets.apps"
    children = (pods.KEY,)
    adopts = True

    def sync(self, obj: Obj) -> None:
        """Create or delete pods and set the status."""
        failure: ApiError | None = None
        owned = self.store.owned(uid_of(obj), pods.KEY)
        active = [pod for pod in owned if pods.is_active(pod)]
        terminating = sum(1 for pod in owned if pods.is_terminating(pod))
        if not is_deleting(obj):
            try:
                self._set_pod_count(obj, active)
            except ApiError as error:
                failure = error
        self._report(obj, active, terminating, failure)
        if failure is not None:
            raise failure

    def _child_changed(self, change: Change) -> None:
        super()._child_changed(change)
        pod = change.entry.obj
        if controller_of(pod) is None and change.type != "DELETED":
            self._adopt(pod)

    def _adopt(self, pod: Obj) -> None:
        if not pods.is_active(pod):
            return
        for one in self.store.objects(self.key, namespace_of(pod)):
            selector = one["spec"]["selector"]
            if not is_deleting(one) and selectors.matches(
                selector, labels_of(pod)
            ):
                owners = [owner_reference(one)]
                kind = self.context.kind(pods.KEY)
                adopted = with_metadata(pod, ownerReferences=owners)
                self.context.timers.soon(self._put_adopted, kind, adopted)
                return

    def _put_adopted(self, kind: Any, pod: Obj) -> None:
        newest = self.store.get(pods.KEY, namespace_of(pod), name_of(pod))
        if newest is not None and controller_of(newest) is None:
            owners = pod["metadata"]["ownerReferences"]
            self.context.api.put(
                kind, with_metadata(newest, ownerReferences=owners)
            )

    def _set_pod_count(self, obj: Obj, active: Sequence[Obj]) -> None:
        wanted = obj["spec"].get("replicas", 1)
        for _ in range(wanted - len(active)):
            self._create(obj)
        if len(active) > wanted:
            deployment_pods = self._siblings(obj)
            for pod in pods_to_delete(
                active, len(active) - wanted, deployment_pods
            ):
                self.delete_pod(obj, pod, _COMPONENT)

    def _siblings(self, obj: Obj) -> list[Obj]:
        """List the active pods of the Deployment that owns a ReplicaSet."""
        owner = controller_of(obj)
        if owner is None:
            return []
        return [
            pod
            for one in self.store.owned(owner["uid"], self.key)
            for pod in self.store.owned(uid_of(one), pods.KEY)
            if pods.is_active(pod)
        ]

    def _create(self, obj: Obj) -> None:
        pod = pods.from_template(obj, obj["spec"]["template"])
        self.create_pod(obj, pod, _COMPONENT)

    def _report(
        self,
        obj: Obj,
        active: Sequence[Obj],
        terminating: int,
        failure: ApiError | None,
    ) -> None:
        seconds = obj["spec"].get("minReadySeconds", 0)
        ready = [pod for pod in active if pods.is_ready(pod)]
        waits = [pods.available_in(pod, seconds) for pod in ready]
        template = labels_of(obj["spec"]["template"]).items()
        labelled = [p for p in active if template <= labels_of(p).items()]
        counted = {
            "fullyLabeledReplicas": len(labelled),
            "readyReplicas": len(ready),
            "availableReplicas": sum(1 for wait in waits if wait <= 0),
        }
        status = {
            "replicas": len(active),
            **{name: count for name, count in counted.items() if count},
            "terminatingReplicas": terminating,
            "observedGeneration": obj["metadata"]["generation"],
        }
        if failure is not None:
            status["conditions"] = [_failure(obj, failure)]
        self.set_status(obj, status)
        if any(wait > 0 for wait in waits):
            self.enqueue_later(obj, max(waits))


def _failure(obj: Obj, error: ApiError) -> Obj:
    known = condition(obj, "ReplicaFailure")
    return {
        "type": "ReplicaFailure",
        "status": "True",
        "lastTransitionTime": known["lastTransitionTime"] if known else now(),
        "reason": "FailedCreate",
        "message": known["message"] if known else error.message,
    }


def pods_to_delete(
    active: Sequence[Obj], count: int, deployment_pods: Sequence[Obj]
) -> list[Obj]:
    """Select the pods to delete on a scale-in.

    :param siblings: the active pods of the Deployment; pods on the nodes with
        most of them are deleted first, and they are counted once
    """
    pods_per_node = Counter(
        pod["spec"].get("nodeName") for pod in deployment_pods
    )
    # The newest first; the stable sort below keeps this order among equals.
    newest = sorted(active, key=_age, reverse=True)
    ordered = sorted(newest, key=lambda pod: _rank(pod, pods_per_node))
    return ordered[:count]


def _age(pod: Obj) -> tuple[str, str]:
    ready = condition(pod, "Ready") or {}
    since = ready.get("lastTransitionTime") if pods.is_ready(pod) else ""
    return since or "", pod["metadata"]["creationTimestamp"]


def _rank(pod: Obj, pods_per_node: Counter[Any]) -> tuple[Any, ...]:
    annotations = pod["metadata"].get("annotations") or {}
    node = pod["spec"].get("nodeName")
    return (
        bool(node),
        pod["status"].get("phase") == "Running",
        pods.is_ready(pod),
        int(annotations.get(pods.DELETION_COST, 0)),
        -pods_per_node[node],
    )
