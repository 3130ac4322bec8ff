"""Update of a bare Pod, which has no controller to replace it."""

import json
from collections.abc import Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import (
    events,
    marks,
    pod_references,
    readiness_checks,
)
from tacker_cnf.drivers.kubernetes.cluster_task import ClusterTask
from tacker_cnf.drivers.kubernetes.manifests import Manifest
from tacker_cnf.drivers.kubernetes.marks import MARK, Mark
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.pod_references import Reference
from tacker_cnf.drivers.kubernetes.waiting import Pending, wait

#: annotation of a pod: the containers that a change of images replaces, as
#: JSON: containerID -> imageID
REPLACED_CONTAINERS: Final = "tacker_former_containers"
#: annotation of a pod that an operation has recreated: the images of before
#: the operation, as JSON: name of the container -> image
FORMER_IMAGES: Final = "tacker_former_images"
_CONTAINER_FIELDS: Final = ("containers", "initContainers")


def changed_images(spec: Object, wanted: Object) -> Object:
    """Build a patch of the containers whose image changes: containers and
    initContainers -> [{name, image}]; empty if no image changes.

    :param spec: present spec of a pod, a workload or a template
    :param wanted: spec of the same object in its manifest
    """
    spec, wanted = pod_spec_of(spec), pod_spec_of(wanted)
    change: Object = {}
    for kind in _CONTAINER_FIELDS:
        new = {c["name"]: c.get("image") for c in wanted.get(kind) or ()}
        others = [
            {"name": c["name"], "image": new[c["name"]]}
            for c in spec.get(kind) or ()
            if new.get(c["name"]) not in {None, c.get("image")}
        ]
        if others:
            change[kind] = others
    return change


def pod_spec_of(spec: Object) -> Object:
    """Return the pod spec in the spec of a pod or a workload."""
    found: Object = (spec.get("template") or {}).get("spec") or spec
    return found


def containers_of(spec: Object) -> list[Object]:
    """Return the containers whose images may change."""
    found = pod_spec_of(spec)
    return [c for kind in _CONTAINER_FIELDS for c in found.get(kind) or ()]


def images_of(spec: Object) -> dict[str, str]:
    """Return the images of the containers that have one, by their names."""
    return {
        container["name"]: container["image"]
        for container in containers_of(spec)
        if container.get("image")
    }


def needs_new_pod(images: Object, containers: AbstractSet[str]) -> bool:
    """Return whether an update recreates a pod, instead of restarting some of
    its containers in place.

    :param images: patch of the containers whose image changes
    :param containers: names of those that read what has changed
    """
    restarted = {c["name"] for c in images.get("containers", ())}
    return "initContainers" in images or not containers <= restarted


def replaces_lost(
    before: Manifest, after: Manifest, written: Iterable[Reference]
) -> bool:
    """Return whether an update creates a pod again that does not exist."""
    old, new = before.body["spec"], after.body["spec"]
    return bool(
        pod_references.reading_containers(old, written)
        or changed_images(old, new)
    )


class PodUpdate:
    """The update of one pod.

    :param after: the new manifest; if the mark undoes changes, that of before
        the operation
    """

    def __init__(
        self,
        cluster_task: ClusterTask,
        before: Manifest,
        after: Manifest,
        mark: Mark,
    ) -> None:
        self._cluster_task = cluster_task
        self._before = before
        self._after = after
        self._mark = mark
        self._resource = cluster_task.cluster.kind("v1", "Pod")

    def change(self, live: Object, written: Iterable[Reference]) -> bool:
        """Change the images, or recreate the pod; return whether it differs.

        A container with another image is restarted in place by the kubelet.
        The pod is recreated if a change concerns other containers: environment
        variables are read when a container starts, and init containers run
        when the pod starts.
        """
        images = changed_images(live["spec"], self._after.body["spec"])
        containers = pod_references.reading_containers(live["spec"], written)
        if not images and not containers:
            return False
        if needs_new_pod(images, containers):
            self._replace(live)
        else:
            self._patch(live, images)
        return True

    def recreate(self, written: Iterable[Reference]) -> bool:
        """Create a pod that does not exist, if this update or an earlier
        attempt of it replaces it; return whether it does.
        """
        is_replaced = replaces_lost(self._before, self._after, written)
        if is_replaced:
            self._cluster_task.apply_manifests([self._manifest(None)])
        return is_replaced

    def _replace(self, live: Object) -> None:
        name = live["metadata"]["name"]
        self._cluster_task.progress(f"Replacing Pod {name}")
        self._cluster_task.delete_pods([live])
        self._cluster_task.waiter.wait_pods_deleted({live["metadata"]["uid"]})
        self._cluster_task.apply_manifests([self._manifest(live)])

    def _manifest(self, live: Object | None) -> Manifest:
        """Return the manifest of before the update with the new images; in a
        rollback, the manifest of before the operation. A container whose image
        the update does not change keeps its own, which an earlier operation
        may have set; that of a pod that does not exist is not known.
        """
        own = images_of(live["spec"]) if live else {}
        former = _former_images(live) if live else {}
        images = images_of(self._before.body["spec"])
        if self._mark.undoes:
            manifest = self._mark.put_on(self._after)
            images |= images_of(self._after.body["spec"]) | former
        else:
            manifest = self._mark.put_on(self._before)
            images |= own | images_of(self._after.body["spec"])
            marks.annotate(manifest.body, {FORMER_IMAGES: json.dumps(own)})
        for container in containers_of(manifest.body["spec"]):
            if image := images.get(container["name"]):
                container["image"] = image
        return manifest

    def _patch(self, live: Object, images: Object) -> None:
        name = live["metadata"]["name"]
        to_replace = _running(live, {c["name"] for c in images["containers"]})
        if self._mark.undoes:
            # containers that still run with the previous image are kept
            replaced = _replaced_containers(live)
            to_replace = {
                container_id: image
                for container_id, image in to_replace.items()
                if container_id not in replaced
                and image not in replaced.values()
            }
        annotations = {
            MARK: str(self._mark),
            REPLACED_CONTAINERS: json.dumps(to_replace),
        }
        self._cluster_task.progress(f"Updating Pod {name}")
        self._cluster_task.cluster.patch(
            self._resource,
            name,
            self._cluster_task.rendered.namespace,
            {"metadata": {"annotations": annotations}, "spec": images},
        )

    def wait_restarted(self) -> None:
        """Wait until all containers to be replaced have ended.

        :raises NotReady: the pod has a fault, or did not restart in time
        """
        name = self._after.name
        fault_grace = readiness_checks.FaultGrace(
            self._cluster_task.waiter.grace,
            self._cluster_task.waiter.deadline.clock,
        )

        def check(found: Iterable[Object]) -> Pending | None:
            for pod in found:
                if _has_restarted(pod):
                    return None
                self._tolerate(pod, fault_grace)
            return Pending(self._cluster_task.waiter.grace or 1.0)

        in_time = wait(
            self._cluster_task.cluster,
            self._resource,
            self._cluster_task.rendered.namespace,
            check,
            self._cluster_task.waiter.deadline,
            field_selector=f"metadata.name={name}",
        )
        if not in_time:
            raise errors.NotReady(
                f"The containers of Pod {name} did not restart in time."
            )

    def _tolerate(
        self, pod: Object, fault_grace: readiness_checks.FaultGrace
    ) -> None:
        fault = events.fault(pod)
        uid = pod["metadata"]["uid"]
        if (
            fault
            and fault_grace.remaining(uid, events.fault_category(fault)) <= 0
        ):
            raise errors.NotReady(
                f"Pod {pod['metadata']['name']} is not ready: {fault}"
            )


def _running(
    pod: Object, names: Container[str] | None = None
) -> Mapping[str, str]:
    """Return the containers of a pod that run, or ran last: containerID ->
    imageID.

    :param names: of the containers; None: all
    """
    return {
        status["containerID"]: status.get("imageID", "")
        for status in pod.get("status", {}).get("containerStatuses", ())
        if status.get("containerID")
        and (names is None or status["name"] in names)
    }


def _replaced_containers(pod: Object) -> Mapping[str, str]:
    """Return the containers that the last change of images replaces:
    containerID -> imageID.
    """
    found: Mapping[str, str] = json.loads(
        marks.annotations_of(pod).get(REPLACED_CONTAINERS, "{}")
    )
    return found


def _former_images(pod: Object) -> dict[str, str]:
    """Return the images of before the operation that has recreated a pod."""
    found: dict[str, str] = json.loads(
        marks.annotations_of(pod).get(FORMER_IMAGES, "{}")
    )
    return found


def _has_restarted(pod: Object) -> bool:
    """Return whether the kubelet has observed the spec of a pod and runs it.

    An image that is changed and changed back before the kubelet observes it
    causes no restart.
    """
    is_observed = "observedGeneration" not in pod[
        "status"
    ] or readiness_checks.observed(pod)
    has_ended = not _replaced_containers(pod).keys() & _running(pod).keys()
    return is_observed and has_ended and readiness_checks.is_ready(pod)
