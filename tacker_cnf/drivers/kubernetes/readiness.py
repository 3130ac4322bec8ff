"""Readiness of an instance: first its pods, then its workloads."""

import math
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.kubernetes import (
    events,
    finalizers,
    readiness_checks,
    resource_progress,
)
from tacker_cnf.drivers.kubernetes.api_errors import NotFound
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.finalizers import Finalizers
from tacker_cnf.drivers.kubernetes.inventory import is_living
from tacker_cnf.drivers.kubernetes.lost_nodes import LostNodes
from tacker_cnf.drivers.kubernetes.manifests import (
    Manifest,
    Rendered,
)
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.waiting import Pending, wait
from tacker_cnf.drivers.progress import Progress
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.sol.timeline import ResourceStatus


def workload_not_found(manifest: Manifest) -> errors.NotReady:
    """Build the error of a workload that was deleted, with the remedy."""
    return errors.NotReady(
        f"{manifest.kind} {manifest.name} no longer exists in the cluster. "
        "A heal of its VNFCs, or of the whole VNF, creates it again, once no "
        "operation is FAILED_TEMP: fail it first."
    )


class ObjectWaiter:
    """Waits until objects of an instance are ready or deleted."""

    def __init__(
        self,
        cluster: Cluster,
        rendered: Rendered,
        grace: float,
        deadline: Deadline,
        progress: Progress,
        finalizer_timeout: float = math.inf,
    ) -> None:
        self._cluster = cluster
        self._rendered = rendered
        self._grace = self.grace = grace
        self._deadline = self.deadline = deadline
        self._progress = progress
        self._finalizer_timeout = finalizer_timeout

    def wait_ready(self, manifests: Iterable[Manifest]) -> None:
        """Wait until these objects are ready and have no outdated pods.

        :raises NotReady: they have a fault, or are not ready in time
        """
        wanted = [
            m
            for m in manifests
            if m.kind in readiness_checks.READY_CHECKS
            and self._rendered.exists(m)
        ]
        while True:
            self._wait_pods_ready(wanted)
            were_ready = [
                self._wait_object_ready(manifest) for manifest in wanted
            ]
            if all(were_ready):
                return

    def _wait_pods_ready(self, manifests: Iterable[Manifest]) -> None:
        """Wait for the pods of the VDUs.

        :raises NotReady: the cluster does not create them, one has a fault,
            or they are not ready in time
        """
        expected = {
            m.vdu_id: self.desired_size(m) for m in manifests if m.vdu_id
        }
        if not expected:
            return
        pods = readiness_checks.PodReadiness(
            self._cluster,
            self._rendered.namespace,
            expected,
            self._grace,
            [
                m.vdu_id
                for m in manifests
                if m.kind == "DaemonSet" and m.vdu_id
            ],
        )
        grace_deadline = Deadline.within(self._grace, self.deadline.clock)
        lost_nodes = LostNodes(self._cluster)
        self._progress.expect("Pod", sum(expected.values()))

        def check(found: Iterable[Object]) -> Pending | None:
            every_pod = list(found)
            vdu_pods = pods.select(every_pod)
            self._progress(pods.progress(vdu_pods))
            self._report_pods(vdu_pods, every_pod)
            try:
                pending = pods(vdu_pods)
            except errors.NotReady:
                self._report_faults(vdu_pods)
                raise
            if pending is None:
                return None
            if grace_deadline.passed:
                self._check_stalled(manifests)
            return Pending(
                min(pending.recheck_after_s, lost_nodes.check(vdu_pods))
            )

        if not self._wait("v1", "Pod", check, self._rendered.selector):
            raise errors.NotReady(
                "The pods were not ready in time: "
                + events.join_warnings(self._warnings(manifests))
                + lost_nodes.describe_node_error()
            )

    def _report_pods(
        self, changed: Iterable[Object], every_pod: Iterable[Object]
    ) -> None:
        for pod in changed:
            self._progress.resource(resource_progress.of_pod(pod))
        self._progress.deleted("Pod", _uids(every_pod))

    def _report_faults(self, pods: Iterable[Object]) -> None:
        """Report the pods that made the operation fail."""
        for pod in pods:
            state = resource_progress.of_pod(pod)
            if events.fault(pod) and state.status != ResourceStatus.DONE:
                failed = msgspec.structs.replace(
                    state, status=ResourceStatus.FAILED
                )
                self._progress.resource(failed)

    def desired_size(self, manifest: Manifest) -> int:
        """Return how many pods a workload shall have, as in the cluster: an
        autoscaler may have changed the number.

        :raises NotReady: the workload does not exist
        """
        if manifest.kind == "Pod":
            return 1
        if manifest.kind == "DaemonSet":
            status = self._wait_observed(manifest)["status"]
            return int(status.get("desiredNumberScheduled") or 0)
        resource = self._cluster.kind(manifest.api_version, manifest.kind)
        found = self._cluster.get(
            resource, manifest.name, self._rendered.namespace
        )
        if found is None:
            raise workload_not_found(manifest)
        return int(found["spec"].get("replicas", 1))

    def _wait_observed(self, manifest: Manifest) -> Object:
        """Wait until the controller of an object has observed it.

        :raises NotReady: the controller does not, or the object does not exist
        """
        observed: list[Object] = []
        grace_deadline = Deadline.within(self._grace, self.deadline.clock)

        def check(found: Iterable[Object]) -> Pending | None:
            observed[:] = filter(readiness_checks.observed, found)
            if not observed and grace_deadline.passed:
                self._check_stalled([manifest])
            return None if observed else Pending(self._grace or 1.0)

        field = f"metadata.name={manifest.name}"
        if self._wait(manifest.api_version, manifest.kind, check, "", field):
            return observed[0]
        raise errors.NotReady(
            f"{manifest.kind} {manifest.name} does not exist in the cluster, "
            "or its controller does not work."
        )

    def _wait_object_ready(self, manifest: Manifest) -> bool:
        """Wait until an object is ready; return whether it was at once."""
        was_ready = True
        fault_grace = readiness_checks.FaultGrace(
            self._grace, self.deadline.clock
        )
        grace_deadline = Deadline.within(self._grace, self.deadline.clock)

        def check(found: Iterable[Object]) -> Pending | None:
            nonlocal was_ready
            self._progress(f"Waiting for {manifest.kind} {manifest.name}")
            for body in found:
                if readiness_checks.READY_CHECKS[manifest.kind](body):
                    resource_progress.report(
                        self._progress, manifest, ResourceStatus.DONE
                    )
                    return None
                self._tolerate(manifest, body, fault_grace)
            was_ready = False
            if (
                grace_deadline.passed and manifest.kind != "Job"
            ):  # a Job retries by itself
                self._check_stalled([manifest])
                self._check_pod_faults(fault_grace)
            return Pending(self._grace or 1.0)

        field = f"metadata.name={manifest.name}"
        if self._wait(manifest.api_version, manifest.kind, check, "", field):
            return was_ready
        raise errors.NotReady(
            f"{manifest.kind} {manifest.name} was not ready in time: "
            + events.join_warnings(self._warnings([manifest]))
        )

    def _tolerate(
        self,
        manifest: Manifest,
        body: Object,
        fault_grace: readiness_checks.FaultGrace,
    ) -> None:
        for condition in body.get("status", {}).get("conditions", ()):
            failed = condition["type"] in readiness_checks.FAILED_CONDITIONS
            if failed and condition["status"] == "True":
                if fault_grace.remaining(body["metadata"]["uid"]) > 0:
                    return
                raise errors.NotReady(
                    f"{manifest.kind} {manifest.name} is not ready: "
                    f"{condition.get('reason')}: {condition.get('message')}"
                )

    def _check_pod_faults(
        self, fault_grace: readiness_checks.FaultGrace
    ) -> None:
        """Fail if a pod of any workload has had a fault for too long."""
        for pod in self._owned("v1", "Pod"):
            meta, fault = pod["metadata"], events.fault(pod)
            if (
                not fault
                or not is_living(pod)
                or readiness_checks.is_ready(pod)
            ):
                continue
            if (
                fault_grace.remaining(
                    meta["uid"], events.fault_category(fault)
                )
                <= 0
            ):
                raise errors.NotReady(
                    f"Pod {meta['name']} is not ready: {fault}"
                )

    def _check_stalled(self, manifests: Iterable[Manifest]) -> None:
        """Fail if the cluster refuses to create the pods at all."""
        refused = [w for w in self._warnings(manifests) if "FailedCreate" in w]
        if refused:
            raise errors.NotReady(
                "The cluster creates no pods: " + events.join_warnings(refused)
            )

    def _warnings(self, manifests: Iterable[Manifest]) -> tuple[str, ...]:
        """Return the warnings about some objects and their dependents."""
        uids = [p["metadata"]["uid"] for p in self._owned("v1", "Pod")]
        for manifest in manifests:
            kinds = {(manifest.api_version, manifest.kind)}
            if manifest.kind == "Deployment":
                kinds.add((manifest.api_version, "ReplicaSet"))
            for api_version, kind in kinds:
                owned = self._owned(api_version, kind)
                uids += [body["metadata"]["uid"] for body in owned]
        return events.list_warnings(
            self._cluster, self._rendered.namespace, uids
        )

    def _owned(self, api_version: str, kind: str) -> list[Object]:
        found: list[Object] = self._cluster.list(
            self._cluster.kind(api_version, kind),
            self._rendered.namespace,
            label_selector=self._rendered.selector,
        )["items"]
        return found

    def wait_pods_deleted(self, uids: AbstractSet[str]) -> None:
        """Wait until these pods are deleted; force-delete those on lost nodes.

        :raises NotReady: they are not deleted in time
        """
        if not uids:
            return
        remaining: list[Object] = []
        lost_nodes = LostNodes(self._cluster)
        finalizer_check = Finalizers(
            "Pod", self._finalizer_timeout, self.deadline.clock
        )

        def check(found: Iterable[Object]) -> Pending | None:
            every_pod = list(found)
            remaining[:] = [
                pod for pod in every_pod if pod["metadata"]["uid"] in uids
            ]
            self._report_pods(remaining, every_pod)
            self._progress(
                f"{len(remaining)} of {len(uids)} pods still being deleted"
            )
            next_check_s = min(
                lost_nodes.check(remaining), finalizer_check.check(remaining)
            )
            return Pending(next_check_s) if remaining else None

        if not self._wait("v1", "Pod", check, self._rendered.selector):
            names = ", ".join(
                f"{finalizers.describe_blocked(pod)} on node "
                f"{pod['spec'].get('nodeName')}"
                for pod in remaining
            )
            raise errors.NotReady(
                f"Pods were not deleted in time: {names}."
                + lost_nodes.describe_node_error()
            )

    def wait_deleted(
        self, api_version: str, kind: str, uids: set[str]
    ) -> None:
        """Wait until these objects are deleted.

        :raises NotReady: they are not deleted in time
        """
        remaining: list[Object] = []
        finalizer_check = Finalizers(
            kind, self._finalizer_timeout, self.deadline.clock
        )

        def check(found: Iterable[Object]) -> Pending | None:
            remaining[:] = [b for b in found if b["metadata"]["uid"] in uids]
            self._progress.deleted(kind, _uids(remaining))
            names = events.join_warnings(
                map(finalizers.describe_blocked, remaining)
            )
            self._progress(
                f"{len(remaining)} of {len(uids)} {kind} objects still being deleted"
                + (f": {names}" if remaining else "")
            )
            return (
                Pending(finalizer_check.check(remaining))
                if remaining
                else None
            )

        selector = self._rendered.selector
        try:
            in_time = self._wait(api_version, kind, check, selector)
        except NotFound:
            return  # the kind or the namespace was deleted, with its objects
        if not in_time:
            names = events.join_warnings(
                map(finalizers.describe_blocked, remaining)
            )
            raise errors.NotReady(
                f"Objects of kind {kind} were not deleted in time: {names}."
            )

    def _wait(
        self,
        api_version: str,
        kind: str,
        check: Any,
        labels: str,
        fields: str = "",
    ) -> bool:
        resource = self._cluster.kind(api_version, kind)
        namespace = self._rendered.namespace if resource.namespaced else None
        selectors = {"label_selector": labels, "field_selector": fields}
        return wait(
            self._cluster,
            resource,
            namespace,
            check,
            self._deadline,
            **{name: value for name, value in selectors.items() if value},
        )


def _uids(found: Iterable[Object]) -> frozenset[str]:
    return frozenset(body["metadata"]["uid"] for body in found)
