"""The DaemonSet controller."""

from collections.abc import Mapping
from typing import Any

from kubernetes_sandbox import controller_revisions, node_filters, nodes, pods
from kubernetes_sandbox.controller_revisions import HASH
from kubernetes_sandbox.controllers.base import Controller
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import (
    Obj,
    annotations_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from kubernetes_sandbox.quantities import resolve_int_or_percent
from kubernetes_sandbox.store import Change

_COMPONENT = "daemonset-controller"
_GENERATION = "deprecated.daemonset.template.generation"
_TOLERATIONS = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)


class DaemonSets(Controller):
    """Runs one pod on each eligible node."""

    key = "daemonsets.apps"
    children = (pods.KEY,)
    adopts = True

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.store.subscribe(nodes.KEY, self._node_changed)

    def _node_changed(self, change: Change) -> None:
        del change
        for entry in self.store.entries(self.key):
            self.enqueue(namespace_of(entry.obj), name_of(entry.obj))

    def sync(self, obj: Obj) -> None:
        """Create and delete pods, update them, and set the status."""
        failure: ApiError | None = None
        revision = controller_revisions.ensure_revision(
            self.context, obj
        ).rpartition("-")[2]
        eligible = self._eligible(obj)
        if not is_deleting(obj):
            try:
                self._sort_key(obj, eligible, revision)
                self._roll(obj, eligible, revision)
            except ApiError as error:
                failure = error
        self._report(obj, eligible, revision)
        if failure is not None:
            raise failure

    def _eligible(self, obj: Obj) -> list[str]:
        spec = _with_tolerations(obj["spec"]["template"]["spec"])
        return [
            name_of(entry.obj)
            for entry in self.store.entries(nodes.KEY)
            if node_filters.matches_node_affinity(entry.obj, spec)
            and not nodes.untolerated_taints(entry.obj, spec)
        ]

    def _may_stay(self, obj: Obj, node: str) -> bool:
        """Return whether a running pod can stay on its node."""
        spec = _with_tolerations(obj["spec"]["template"]["spec"])
        found = self.store.get(nodes.KEY, "", node)
        return (
            found is not None
            and node_filters.matches_node_affinity(found, spec)
            and not any(
                taint["effect"] == "NoExecute"
                for taint in nodes.untolerated_taints(found, spec)
            )
        )

    def _by_node(self, obj: Obj) -> dict[str, list[Obj]]:
        found: dict[str, list[Obj]] = {}
        for pod in self.store.owned(uid_of(obj), pods.KEY):
            found.setdefault(_node_of(pod), []).append(pod)
        return found

    def _sort_key(self, obj: Obj, eligible: list[str], revision: str) -> None:
        by_node = self._by_node(obj)
        for node in eligible:
            running = [
                p for p in by_node.get(node, ()) if not pods.is_finished(p)
            ]
            if not running:
                self._create(obj, node, revision)
        for node, present in by_node.items():
            stays = node in eligible or self._may_stay(obj, node)
            for pod in present:
                unwanted = not stays or pods.is_finished(pod)
                if unwanted and not is_deleting(pod):
                    self.delete_pod(obj, pod, _COMPONENT)

    def _create(self, obj: Obj, node: str, revision: str) -> None:
        pod = pods.from_template(obj, obj["spec"]["template"])
        generation = annotations_of(obj).get(_GENERATION, "1")
        pod["metadata"]["labels"] = {
            **labels_of(pod),
            HASH: revision,
            "pod-template-generation": generation,
        }
        pod["spec"] = _with_tolerations(pod["spec"])
        fields = {
            "key": "metadata.name",
            "operator": "In",
            "values": [node],
        }
        pod["spec"]["affinity"] = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchFields": [fields]}]
                }
            }
        }
        self.create_pod(obj, pod, _COMPONENT)

    def _roll(self, obj: Obj, eligible: list[str], revision: str) -> None:
        strategy = obj["spec"]["updateStrategy"]
        if strategy["type"] != "RollingUpdate":
            return
        by_node = self._by_node(obj)
        limit = resolve_int_or_percent(
            (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1),
            len(eligible),
            round_up=True,
        )
        room = limit - sum(
            1 for n in eligible if not _is_pod_ready(by_node, n)
        )
        for node in eligible:
            for pod in by_node.get(node, ()):
                stale = pods.label(pod, HASH) != revision
                if not stale or not pods.is_active(pod):
                    continue
                if pods.is_ready(pod):
                    if room <= 0:
                        continue
                    room -= 1
                self.delete_pod(obj, pod, _COMPONENT)

    def _report(self, obj: Obj, eligible: list[str], revision: str) -> None:
        by_node = self._by_node(obj)
        current = {n: p for n in eligible if (p := _running_pod(by_node, n))}
        seconds = obj["spec"].get("minReadySeconds", 0)
        ready = [p for p in current.values() if pods.is_ready(p)]
        available = sum(1 for p in ready if pods.is_available(p, seconds))
        updated = sum(
            1 for p in current.values() if pods.label(p, HASH) == revision
        )
        counted = {
            "updatedNumberScheduled": updated,
            "numberAvailable": available,
            "numberUnavailable": len(eligible) - available,
        }
        self.set_status(
            obj,
            {
                "currentNumberScheduled": len(current),
                "numberMisscheduled": sum(
                    1
                    for node in by_node
                    if node not in eligible and _running_pod(by_node, node)
                ),
                "desiredNumberScheduled": len(eligible),
                "numberReady": len(ready),
                "observedGeneration": obj["metadata"]["generation"],
                **{k: count for k, count in counted.items() if count},
            },
        )
        if available < len(ready):
            self.enqueue_later(obj, float(seconds))


def _with_tolerations(spec: Obj) -> Obj:
    tolerations = list(spec.get("tolerations") or ())
    added = [
        {"key": key, "operator": "Exists", "effect": effect}
        for key, effect in _TOLERATIONS
    ]
    return {**spec, "tolerations": [*tolerations, *added]}


def _node_of(pod: Obj) -> str:
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    affinity = pod["spec"]["affinity"]["nodeAffinity"]
    required = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    term = required["nodeSelectorTerms"][0]
    return str(term["matchFields"][0]["values"][0])


def _running_pod(by_node: Mapping[str, list[Obj]], node: str) -> Obj | None:
    running = [p for p in by_node.get(node, ()) if not pods.is_finished(p)]
    return running[-1] if running else None


def _is_pod_ready(by_node: Mapping[str, list[Obj]], node: str) -> bool:
    pod = _running_pod(by_node, node)
    return pod is not None and pods.is_active(pod) and pods.is_ready(pod)
