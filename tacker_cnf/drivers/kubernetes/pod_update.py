"""Updates a pod that nobody but us makes."""

import copy
import dataclasses
import json
from collections.abc import Container, Iterable, Mapping
from typing import Any, Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import events, judges, pod_references
from tacker_cnf.drivers.kubernetes.manifests import Manifest
from tacker_cnf.drivers.kubernetes.pod_references import Reference
from tacker_cnf.drivers.kubernetes.waiting import NotYet, wait
from tacker_cnf.drivers.kubernetes.work import Work

Object = dict[str, Any]

#: annotation: the operation that has changed this
MARK: Final = "tacker_updated_by"
#: annotation of a workload: the mark that its template had before
BEFORE: Final = "tacker_formerly_updated_by"
#: annotation: the containers that a change of a pod's images is to end,
#: containerID -> imageID
FORMER: Final = "tacker_former_containers"
_KINDS: Final = ("containers", "initContainers")


def changed_images(spec: Object, wanted: Object) -> Object:
    """Tell the containers whose image is to be another, as a patch.

    :param spec: of a pod, a workload or its template, as it is
    :param wanted: the same of a manifest
    """
    spec, wanted = of_pods(spec), of_pods(wanted)
    change: Object = {}
    for kind in _KINDS:
        new = {c["name"]: c.get("image") for c in wanted.get(kind) or ()}
        others = [
            {"name": c["name"], "image": new[c["name"]]}
            for c in spec.get(kind) or ()
            if new.get(c["name"]) not in {None, c.get("image")}
        ]
        if others:
            change[kind] = others
    return change


def of_pods(spec: Object) -> Object:
    """Give what is to be run of the spec of a pod or a workload."""
    found: Object = (spec.get("template") or {}).get("spec") or spec
    return found


def containers_of(spec: Object) -> list[Object]:
    """Give the containers whose images may change."""
    found = of_pods(spec)
    return [c for kind in _KINDS for c in found.get(kind) or ()]


def marks_of(body: Object) -> Mapping[str, str]:
    """Give the annotations of an object or a template."""
    return (body.get("metadata") or {}).get("annotations") or {}


def mark_of(body: Object) -> str | None:
    """Tell which operation has changed an object or a template last."""
    return marks_of(body).get(MARK)


def annotate(body: Object, marks: Mapping[str, str | None]) -> None:
    """Set annotations of an object or a template; None takes one away."""
    meta = body["metadata"] = body.get("metadata") or {}
    both = {**(meta.get("annotations") or {}), **marks}
    left = {name: value for name, value in both.items() if value is not None}
    meta.pop("annotations", None)
    if left:
        meta["annotations"] = left


def marked(manifest: Manifest, mark: str) -> Manifest:
    """Give a manifest with the mark of an operation."""
    body = copy.deepcopy(manifest.body)
    annotate(body, {MARK: mark})
    return dataclasses.replace(manifest, body=body)


class PodUpdate:
    """The update of one pod.

    :param back: whether it is undone, and the pod is what it was
    """

    def __init__(
        self,
        work: Work,
        before: Manifest,
        after: Manifest,
        mark: str,
        *,
        back: bool,
    ) -> None:
        self._work = work
        self._before = before
        self._after = after
        self._mark = mark
        self._back = back
        self._resource = work.cluster.kind("v1", "Pod")

    def change(self, live: Object, written: Iterable[Reference]) -> bool:
        """Restart what differs; tell whether anything did.

        Containers with another image restart by themselves, in place. A pod
        is made again where others have to see what has changed: a container
        reads its environment when it starts, and init containers run when
        the pod does.
        """
        images = changed_images(live["spec"], self._after.body["spec"])
        readers = pod_references.readers(live["spec"], written)
        restarted = {one["name"] for one in images.get("containers", ())}
        if not images and not readers:
            return False
        if "initContainers" in images or readers - restarted:
            self._replace(live)
        else:
            self._patch(live, images)
        return True

    def make_again(self, written: Iterable[Reference]) -> bool:
        """Make a pod that has gone, if it is one that an update, or an
        earlier try of it, replaces.
        """
        old, new = self._before.body["spec"], self._after.body
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
            return marked(self._after, self._mark)
        before = marked(self._before, self._mark)
        spec = before.body["spec"]
        new = changed_images(spec, self._after.body["spec"])
        for kind, containers in new.items():
            images = {one["name"]: one["image"] for one in containers}
            for container in spec[kind]:
                name = container["name"]
                container["image"] = images.get(name, container["image"])
        return before

    def _patch(self, live: Object, images: Object) -> None:
        name = live["metadata"]["name"]
        ends = _running(live, {one["name"] for one in images["containers"]})
        if self._back:
            # those that run with the former image still may go on
            kept = _former(live)
            ends = {
                run: image
                for run, image in ends.items()
                if run not in kept and image not in kept.values()
            }
        annotations = {MARK: self._mark, FORMER: json.dumps(ends)}
        self._work.progress(f"Updating Pod {name}")
        self._work.cluster.patch(
            self._resource,
            name,
            self._work.rendered.namespace,
            {"metadata": {"annotations": annotations}, "spec": images},
        )

    def settle(self) -> None:
        """Wait until no container runs that is to be replaced.

        :raises NotReady: one that is to replace it does not run
        """
        name = self._after.name
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


def _running(
    pod: Object, names: Container[str] | None = None
) -> Mapping[str, str]:
    """Tell what runs, or ran last, of a pod's containers: containerID ->
    imageID.

    :param names: of the containers; None: all
    """
    return {
        status["containerID"]: status.get("imageID", "")
        for status in pod.get("status", {}).get("containerStatuses", ())
        if status.get("containerID")
        and (names is None or status["name"] in names)
    }


def _former(pod: Object) -> Mapping[str, str]:
    """Tell the containers that the last change of a pod's images ends."""
    found: Mapping[str, str] = json.loads(marks_of(pod).get(FORMER, "{}"))
    return found


def _has_restarted(pod: Object) -> bool:
    """Tell whether the kubelet has seen what a pod is to run, and runs it.

    Who changes an image and changes it back before the kubelet looked sees no
    restart at all.
    """
    seen = "observedGeneration" not in pod["status"] or judges.observed(pod)
    ended = not _former(pod).keys() & _running(pod).keys()
    return seen and ended and judges.is_ready(pod)
