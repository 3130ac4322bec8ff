"""Updates a pod that nobody but us makes."""

import copy
import json
from collections.abc import Iterable
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import events, judges, pod_references
from tacker_cnf.drivers.kubernetes.manifests import Manifest
from tacker_cnf.drivers.kubernetes.pod_references import Key
from tacker_cnf.drivers.kubernetes.waiting import NotYet, wait
from tacker_cnf.drivers.kubernetes.work import Work
from tacker_cnf.mgmt_drivers.update_plan import Pair

Object = dict[str, Any]

#: annotation: the operation that has changed this
MARK: Final = "tacker_updated_by"
#: annotation: the containers that ran when a pod's images were changed
FORMER: Final = "tacker_former_containers"
_KINDS: Final = ("containers", "initContainers")


def changed_images(spec: Object, wanted: Object) -> Object:
    """Tell the containers whose image is to be another, as a patch.

    :param spec: of a pod, a workload or its template, as it is
    :param wanted: the same of a manifest
    """
    spec, wanted = _of_pods(spec), _of_pods(wanted)
    change: Object = {}
    for kind in _KINDS:
        new = {c["name"]: c.get("image") for c in wanted.get(kind) or ()}
        others = [
            {"name": c["name"], "image": new[c["name"]]}
            for c in spec.get(kind) or ()
            if new.get(c["name"]) not in {None, c["image"]}
        ]
        if others:
            change[kind] = others
    return change


def _of_pods(spec: Object) -> Object:
    found: Object = (spec.get("template") or {}).get("spec") or spec
    return found


def marked(manifest: Manifest, mark: str) -> Manifest:
    """Give a manifest with the mark of an operation."""
    body = copy.deepcopy(manifest.body)
    annotations = body["metadata"].get("annotations") or {}
    body["metadata"]["annotations"] = {**annotations, MARK: mark}
    return Manifest(body, manifest.vdu_id)


class PodUpdate:
    """The update of one pod.

    :param back: whether it is undone, and the pod is what it was
    """

    def __init__(
        self, work: Work, pair: Pair, mark: str, *, back: bool
    ) -> None:
        self._work = work
        self._pair = pair
        self._mark = mark
        self._back = back
        self._resource = work.cluster.kind("v1", "Pod")

    def change(self, live: Object, written: Iterable[Key]) -> bool:
        """Restart what differs; tell whether anything did.

        Containers with another image restart by themselves, in place. A pod
        is made again where others have to see what has changed: a container
        reads its environment when it starts, and init containers run when
        the pod does.
        """
        images = changed_images(live["spec"], self._pair.after.body["spec"])
        readers = pod_references.readers(live["spec"], written)
        restarted = {one["name"] for one in images.get("containers", ())}
        if not images and not readers:
            return False
        if "initContainers" in images or readers - restarted:
            self._replace(live)
        else:
            self._patch(live, images)
        return True

    def make_again(self, written: Iterable[Key]) -> bool:
        """Make a pod that has gone, if it is one that an update, or an
        earlier try of it, replaces.
        """
        old, new = self._pair.before.body["spec"], self._pair.after.body
        concerned = pod_references.readers(old, written) or changed_images(
            old, new["spec"]
        )
        if concerned:
            self._work.make([self._manifest()])
        return bool(concerned)

    def _replace(self, live: Object) -> None:
        name = live["metadata"]["name"]
        self._work.progress(f"Replacing Pod {name}")
        self._work.delete_pods([live])
        self._work.waiter.pods_gone({live["metadata"]["uid"]})
        self._work.make([self._manifest()])

    def _manifest(self) -> Manifest:
        """Give the former package's manifest with the new images; on the way
        back, the former package's as it is.
        """
        if self._back:
            return marked(self._pair.after, self._mark)
        before = marked(self._pair.before, self._mark)
        spec = before.body["spec"]
        new = changed_images(spec, self._pair.after.body["spec"])
        for kind, containers in new.items():
            images = {one["name"]: one["image"] for one in containers}
            for container in spec[kind]:
                name = container["name"]
                container["image"] = images.get(name, container["image"])
        return before

    def _patch(self, live: Object, images: Object) -> None:
        restarted = {one["name"] for one in images["containers"]}
        former = [
            status["containerID"]
            for status in live["status"].get("containerStatuses", ())
            if status["name"] in restarted and status.get("containerID")
        ]
        annotations = {MARK: self._mark, FORMER: json.dumps(former)}
        self._work.progress(f"Updating Pod {live['metadata']['name']}")
        self._work.cluster.patch(
            self._resource,
            live["metadata"]["name"],
            self._work.rendered.namespace,
            {"metadata": {"annotations": annotations}, "spec": images},
        )

    def settle(self) -> None:
        """Wait until no container runs that is to be replaced.

        :raises NotReady: one that is to replace it does not run
        """
        name = self._pair.after.name
        patience = judges.Patience(self._work.waiter.grace)

        def judge(found: Iterable[Object]) -> NotYet | None:
            for pod in found:
                if _has_restarted(pod):
                    return None
                self._bear(pod, patience)
            return NotYet(self._work.waiter.grace or 1.0)

        in_time = wait(
            self._work.cluster,
            self._resource,
            self._work.rendered.namespace,
            judge,
            self._work.waiter.deadline,
            field_selector=f"metadata.name={name}",
        )
        if not in_time:
            raise errors.NotReady(
                f"The containers of Pod {name} did not restart in time."
            )

    def _bear(self, pod: Object, patience: judges.Patience) -> None:
        fault = events.fault(pod)
        uid = pod["metadata"]["uid"]
        if fault and patience.left(uid, events.sort_of(fault)) <= 0:
            raise errors.NotReady(
                f"Pod {pod['metadata']['name']} is not ready: {fault}"
            )


def _has_restarted(pod: Object) -> bool:
    annotations = pod["metadata"].get("annotations") or {}
    former = set(json.loads(annotations.get(FORMER, "[]")))
    running = {
        status.get("containerID")
        for status in pod.get("status", {}).get("containerStatuses", ())
    }
    return judges.is_ready(pod) and not former & running
