"""The state of objects, as operators read it."""

import contextlib
from collections.abc import Iterator
from typing import Final

from tacker_cnf.drivers.kubernetes import events, readiness_checks
from tacker_cnf.drivers.kubernetes.inventory import vdu_of
from tacker_cnf.drivers.kubernetes.manifests import Manifest
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.progress import Progress, ResourceProgress
from tacker_cnf.sol.timeline import ResourceStatus

#: message of an object that is being deleted
TERMINATING: Final = "Terminating"


def report(
    progress: Progress, manifest: Manifest, status: ResourceStatus
) -> None:
    """Report the state of the object of a manifest; that of a Pod is reported
    with its uid, as several of the same name may follow each other.
    """
    if manifest.kind != "Pod":
        progress.resource(
            ResourceProgress(
                kind=manifest.kind,
                name=manifest.name,
                status=status,
                vdu_id=manifest.vdu_id,
            )
        )


@contextlib.contextmanager
def changing(progress: Progress, manifest: Manifest) -> Iterator[None]:
    """Report that the block changes an object, which is then complete, unless
    it has to become ready.
    """
    report(progress, manifest, ResourceStatus.IN_PROGRESS)
    yield
    if manifest.kind not in readiness_checks.READY_CHECKS:
        report(progress, manifest, ResourceStatus.DONE)


def of_pod(pod: Object) -> ResourceProgress:
    """Return the state of a pod that shall be ready, or is being deleted."""
    meta = pod["metadata"]
    status, message = ResourceStatus.IN_PROGRESS, events.fault(pod)
    if "deletionTimestamp" in meta:
        message = TERMINATING
    elif readiness_checks.is_ready(pod) or readiness_checks.has_succeeded(pod):
        status, message = ResourceStatus.DONE, None
    return ResourceProgress(
        kind="Pod",
        name=meta["name"],
        id=meta["uid"],
        status=status,
        message=message or pod.get("status", {}).get("phase"),
        vdu_id=vdu_of(pod),
        vnfc_id=meta["name"],
    )


def of_deleted(kind: str, body: Object) -> ResourceProgress:
    """Return the state of an object that is being deleted."""
    return ResourceProgress(
        kind=kind,
        name=body["metadata"]["name"],
        id=body["metadata"]["uid"],
        status=ResourceStatus.IN_PROGRESS,
        message=TERMINATING,
        vdu_id=vdu_of(body),
    )
