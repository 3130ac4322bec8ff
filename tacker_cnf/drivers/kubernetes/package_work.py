"""Carries a change of package out in one cluster."""

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from tacker_cnf.drivers.kubernetes import (
    pod_references,
    readiness,
)
from tacker_cnf.drivers.kubernetes.manifests import (
    KEPT,
    TEMPLATED,
    VDU_KINDS,
    Manifest,
    pod_templates,
)
from tacker_cnf.drivers.kubernetes.package_change import Former, PackageChange
from tacker_cnf.drivers.kubernetes.pod_references import Reference
from tacker_cnf.drivers.kubernetes.refusals import AlreadyExists
from tacker_cnf.drivers.kubernetes.update_work import UpdateWork
from tacker_cnf.drivers.kubernetes.work import TRIES, Work

Object = dict[str, Any]

#: kinds that make pods, or are pods
MAKERS: Final = VDU_KINDS | TEMPLATED | {"CronJob"}
SERVICE_ACCOUNT: Final = "ServiceAccount"


class PackageWork:
    """One change of package in one cluster.

    It may be begun again after any failure, and undone by the change that
    leads back.
    """

    def __init__(self, work: Work, change: PackageChange) -> None:
        self._work = work
        self._change = change
        self._update = UpdateWork(
            work,
            change.configs,
            [p for p in change.restarted if self._is_here(p.before)],
            change.operation_id,
            back=change.back,
        )
        self._new = work.own(change.new)
        self._rolled = work.own(change.rolled)

    def _is_here(self, manifest: Manifest) -> bool:
        here = {one.key for one in self._work.rendered.objects}
        return manifest.key in here

    def notes(self) -> Iterator[str]:
        """Tell what a rollback needs to know of what will be rolled."""
        cluster = self._work.cluster
        for manifest in self._rolled:
            resource = cluster.kind(manifest.api_version, manifest.kind)
            namespace = self._work.rendered.namespace
            live = cluster.get(resource, manifest.name, namespace)
            if live is None:
                raise readiness.missing(manifest)
            former = Former(manifest.key, live["spec"]["template"])
            yield msgspec.json.encode(former).decode()

    def bring(self, rolled: Callable[[Work, Manifest], None]) -> None:
        """Make what is new or differs, roll, restart who reads what differs.

        :param rolled: is called after each Deployment, before the next
        :raises InfraError: the cluster could not
        """
        self._work.make([*self._new, *self._work.own(self._change.changed)])
        written = self._update.write()
        if not self._change.back:
            written |= {
                (one.kind, one.name) for one in self._new if one.is_core
            }
        for manifest in self._rolled:
            self._roll(manifest, written)
            rolled(self._work, manifest)
        self._update.restart(written)

    def settle(self) -> None:
        """Wait until what was brought is ready, and then delete what the
        package does not have.

        :raises InfraError: the cluster could not, or not in time
        """
        self._work.waiter.all_ready([*self._new, *self._rolled])
        self._take_away()

    def _roll(self, manifest: Manifest, written: Iterable[Reference]) -> None:
        """Make a Deployment as its manifest says, at its size.

        :raises NotReady: it does not exist
        :raises VimRefused: somebody else goes on changing it
        """
        cluster = self._work.cluster
        resource = cluster.kind(manifest.api_version, manifest.kind)
        namespace = self._work.rendered.namespace
        self._work.progress(f"Rolling {manifest}")
        for attempt in range(1, TRIES + 1):
            live = cluster.get(resource, manifest.name, namespace)
            if live is None:
                raise readiness.missing(manifest)
            body = _over(live, manifest)
            if self._change.back and manifest.key in self._change.templates:
                former = self._change.templates[manifest.key]
                body["spec"]["template"] = copy.deepcopy(former)
            self._update.mark(body, live, written)
            try:
                with manifest.named():
                    cluster.replace(resource, body, namespace)
                return
            except AlreadyExists:  # so 409 is told: it has just changed
                if attempt == TRIES:
                    raise

    def _take_away(self) -> None:
        """Delete what is ours and not of the package: first what makes pods,
        then what none of those that stay needs. What holds data is kept.
        """
        wanted = {manifest.key for manifest in self._change.after.objects}
        found = self._work.owned(
            [*self._change.before.objects, *self._change.after.objects]
        )
        doomed = [
            (manifest, body)
            for manifest, body in found
            if manifest.kind not in KEPT
            and manifest.key_of(body) not in wanted
        ]
        makers = [one for one in doomed if one[0].kind in MAKERS]
        self._remove(makers)
        used = needed(
            self._work.pods(),
            (one[1] for one in found if one not in makers),
        )
        self._remove(
            (manifest, body)
            for manifest, body in doomed
            if manifest.kind not in MAKERS
            and not (
                manifest.is_core
                and (manifest.kind, body["metadata"]["name"]) in used
            )
        )

    def _remove(self, doomed: Iterable[tuple[Manifest, Object]]) -> None:
        found = list(doomed)
        for manifest, body in found:
            name = body["metadata"]["name"]
            self._work.progress(f"Deleting {manifest.kind} {name}")
        self._work.remove(found, [], None)


def needed(pods: Iterable[Object], others: Iterable[Object]) -> set[Reference]:
    """Tell what pods need in order to start: those that are there, and those
    that others would make, which may be of an older package.
    """
    used: set[Reference] = set()
    templates = (t for body in others for t in pod_templates(body))
    for body in (*pods, *templates):
        spec = body.get("spec") or {}
        used |= pod_references.of_pod(spec)
        used.add((SERVICE_ACCOUNT, spec.get("serviceAccountName", "")))
    return used


def _over(live: Object, manifest: Manifest) -> Object:
    body = copy.deepcopy(manifest.body)
    meta = body["metadata"]
    kept = {k: v for k, v in live["metadata"].items() if k != "managedFields"}
    for name in ("labels", "annotations"):
        both = {**(kept.get(name) or {}), **(meta.get(name) or {})}
        if both:
            kept[name] = both
    # an autoscaler may have changed what was asked for
    body["spec"]["replicas"] = live["spec"]["replicas"]
    return {**body, "metadata": kept}
