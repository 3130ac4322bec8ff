"""Reads the objects of a VNF for an exact plan, and has the API server check
what the plan would write (dryRun=All).
"""

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tacker_cnf import errors
from tacker_cnf.drivers.base import TaskContext
from tacker_cnf.drivers.kubernetes import (
    budgets,
    content,
    healing,
    quotas,
    readiness,
)
from tacker_cnf.drivers.kubernetes.actions import ObjectStates
from tacker_cnf.drivers.kubernetes.api_errors import Forbidden, NotFound
from tacker_cnf.drivers.kubernetes.client import DRY_RUN
from tacker_cnf.drivers.kubernetes.cluster_task import (
    ClusterTask,
    needs_apply,
)
from tacker_cnf.drivers.kubernetes.manifests import (
    CREATE_FIRST,
    Key,
    Manifest,
    with_size,
    without_labels,
)
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.plan import ObjectPlan, describe_immutable
from tacker_cnf.drivers.kubernetes.plan_task import list_references, merge_live
from tacker_cnf.drivers.kubernetes.update_task import UpdateTask
from tacker_cnf.lcm.change import ALL, Change
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo


@dataclasses.dataclass(frozen=True, kw_only=True)
class ObservedObjects:
    """The objects of a VNF in its clusters, before and after a plan."""

    plan: ObjectPlan
    states: ObjectStates
    #: what may make the plan fail, as sentences
    warnings: tuple[str, ...] = ()


def observe(
    cluster_tasks: Iterable[ClusterTask],
    change: Change,
    plan: ObjectPlan,
    context: TaskContext,
    disruption_timeout: float,
) -> ObservedObjects:
    """Read the objects that a plan concerns; change nothing.

    :param disruption_timeout: seconds for which a heal waits for budgets
    :raises InfraError: a cluster cannot be read, or the change is not possible
        in it
    """
    tasks = tuple(cluster_tasks)
    found = [Observation(task, change, plan) for task in tasks]
    before = _merged(item.before for item in found)
    after = _merged(item.after for item in found)
    warnings = [warning for item in found for warning in item.warnings]
    replaced: frozenset[Key] = frozenset()
    pods = None
    if change.replace == ALL:
        checkpoint = context.checkpoint(healing.ObjectsToReplace)
        replaced = frozenset(
            key
            for key, body in before.items()
            if checkpoint and body["metadata"]["uid"] not in checkpoint.uids
        )
    elif change.replace:
        uids = healing.pods_to_replace(tasks, change.replace, context)
        to_evict = [
            pod
            for item in found
            for pod in item.pods
            if pod["metadata"]["uid"] in uids
        ]
        pods = frozenset(_vnfcs_of(change.replace, to_evict))
        if len(uids) > 1:
            for task in tasks:
                warnings += _budget_warnings(
                    task, to_evict, disruption_timeout
                )
    for item in found:
        warnings += item.quota_warnings()
    return ObservedObjects(
        plan=plan,
        states=ObjectStates(
            before=before,
            after=after,
            pods=pods,
            replaced=replaced,
            used=frozenset(
                key for item in found for key in item.used_obsolete()
            ),
            are_live=True,
        ),
        warnings=tuple(warnings),
    )


def _merged(parts: Iterable[Mapping[Key, Object]]) -> dict[Key, Object]:
    return {key: body for part in parts for key, body in part.items()}


def _vnfcs_of(
    vnfcs: Iterable[VnfcResourceInfo], pods: Iterable[Object]
) -> Iterator[tuple[str, str]]:
    names = {pod["metadata"]["name"] for pod in pods}
    return ((v.vdu_id, v.id) for v in vnfcs if v.id in names)


def _budget_warnings(
    cluster_task: ClusterTask, pods: Iterable[Object], timeout: float
) -> Iterator[str]:
    covered = list(pods)
    try:
        found = budgets.list_all(
            cluster_task.cluster, cluster_task.rendered.namespace
        )
    except Forbidden:  # the heal evicts without reading them
        return
    for budget in found:
        own = [pod for pod in covered if budgets.covers(budget, pod)]
        if own and not budgets.allows(budget, are_ready=True):
            yield (
                f"PodDisruptionBudget {budgets.name_of(budget)} allows no "
                "eviction at the moment. The heal waits for it, and fails "
                f"after {timeout:g} s."
            )


class Observation:
    """The objects of a VNF in one cluster."""

    def __init__(
        self, cluster_task: ClusterTask, change: Change, plan: ObjectPlan
    ) -> None:
        """Read the objects.

        :raises InfraError: the cluster cannot be read, or a workload that the
            plan changes does not exist
        """
        self._cluster_task = cluster_task
        self._plan = plan
        #: kind of a new object -> whether it is in the plan
        self._created_kinds = {manifest.kind for manifest in plan.created}
        self.warnings: list[str] = []
        self.before = {
            manifest.key_of(body): {**_type_of(manifest), **body}
            for manifest, body in cluster_task.all_owned()
        }
        self.pods = cluster_task.pods()
        manifests = {m.key: m.body for m in cluster_task.rendered.existing}
        self.after = manifests | self.before
        if change.desired is not None:
            self._preview(replaces_all=change.replace == ALL)

    def _preview(self, *, replaces_all: bool) -> None:
        """Have the API server check what the plan writes, as far as it can be
        checked before the objects are deleted that it replaces.
        """
        plan, select = self._plan, self._cluster_task.select_own
        for manifest in select((*plan.created, *plan.applied)):
            if manifest.key not in self.before:
                self._check(manifest, self._create)
            elif not replaces_all and needs_apply(
                manifest, self.before[manifest.key]
            ):
                self._check(manifest, self._apply)
        for config in select(plan.written):
            self._preview_content(config.after)
        for manifest in select(plan.rolled):
            self._existing(manifest)
            self._check(manifest, self._replace)
        self._check_restarted()
        self._preview_sizes(select(plan.scaled))

    def _preview_sizes(self, workloads: Iterable[Manifest]) -> None:
        rendered = self._cluster_task.rendered
        for manifest in workloads:
            if not manifest.is_vnfc:
                live = self._existing(manifest)
                is_rolled = manifest in self._plan.rolled
                self.after[manifest.key] = with_size(
                    self.after[manifest.key] if is_rolled else live,
                    rendered.size_of(manifest),
                    is_stopped=rendered.is_stopped,
                )
            elif rendered.exists(manifest) and manifest.key not in self.before:
                self._check(manifest, self._create)

    def _check_restarted(self) -> None:
        """Check that the workloads to be restarted exist. A Pod is created
        again.

        :raises NotReady: one does not exist
        """
        for restart in self._cluster_task.select_own(self._plan.restarted):
            if restart.after.kind != "Pod":
                self._existing(restart.after)

    def _existing(self, manifest: Manifest) -> Object:
        """Return an object.

        :raises NotReady: it does not exist
        """
        try:
            return self.before[manifest.key]
        except KeyError:
            raise readiness.workload_not_found(manifest) from None

    def _check(self, manifest: Manifest, send: Any) -> None:
        """Send a request that changes nothing; record what it would return,
        or why it would fail.
        """
        try:
            self.after[manifest.key] = send(manifest)
        except NotFound as error:
            # its kind or namespace is created before it
            if self._created_kinds.isdisjoint(CREATE_FIRST):
                self._warn_not_found(manifest, error)
        except errors.VimRejected as error:
            self._warn(manifest, error)
            if manifest.key not in self.before:
                self.after.pop(manifest.key, None)

    def _warn_not_found(self, manifest: Manifest, error: NotFound) -> None:
        """Warn of a kind that does not exist, or once of the namespace."""
        namespace = self._cluster_task.rendered.namespace
        if f'namespaces "{namespace}" not found' not in str(error):
            self._warn(manifest, error)
            return
        warning = (
            f"Namespace {namespace} does not exist in the cluster, which "
            "would reject all objects of the VNF. Create it first, or list a "
            "manifest of it."
        )
        if warning not in self.warnings:
            self.warnings.append(warning)

    def _warn(self, manifest: Manifest, error: errors.InfraError) -> None:
        self.warnings.append(
            f"The cluster would reject {manifest} of {manifest.file}: {error}"
        )

    def _place(self, manifest: Manifest) -> tuple[Any, str | None]:
        resource = self._cluster_task.cluster.kind(
            manifest.api_version, manifest.kind
        )
        namespace = self._cluster_task.rendered.namespace
        return resource, namespace if resource.namespaced else None

    def _create(self, manifest: Manifest) -> Object:
        resource, namespace = self._place(manifest)
        body = manifest.body
        if "list" not in resource.verbs:
            body = without_labels(body)
        return self._cluster_task.cluster.create(
            resource, body, namespace, DRY_RUN
        )

    def _apply(self, manifest: Manifest) -> Object:
        resource, namespace = self._place(manifest)
        stored = self._cluster_task.cluster.apply(
            resource, manifest.body, namespace, DRY_RUN
        )
        former = self._plan.before.objects if self._plan.before else ()
        for other in former:
            if other.key == manifest.key:
                kept = _without_removed(stored, other.body, manifest.body)
                if kept != stored:
                    return self._with_defaults(resource, kept, namespace)
        return stored

    def _with_defaults(
        self, resource: Any, body: Object, namespace: str | None
    ) -> Object:
        """Have the API server set the defaults of fields that are removed."""
        meta = {
            name: value
            for name, value in body["metadata"].items()
            if name != "managedFields"
        }
        body = {**body, "metadata": meta}
        with contextlib.suppress(errors.VimRejected):
            return self._cluster_task.cluster.replace(
                resource, body, namespace, DRY_RUN
            )
        return body

    def _replace(self, manifest: Manifest) -> Object:
        resource, namespace = self._place(manifest)
        live = self.before[manifest.key]
        body = merge_live(live, manifest)
        UpdateTask(self._cluster_task, self._plan).mark(body, live, ())
        body["metadata"].pop("resourceVersion", None)
        return self._cluster_task.cluster.replace(
            resource, body, namespace, DRY_RUN
        )

    def _preview_content(self, manifest: Manifest) -> None:
        """Determine the content of a ConfigMap or Secret."""
        live = self.before.get(manifest.key)
        if live is None:
            self._check(manifest, self._create)
        elif self._plan.mark.undoes and not self._plan.mark.is_on(live):
            self.after[manifest.key] = live
        else:
            self.after[manifest.key] = {
                **live,
                **content.content_of(manifest.body),
            }
            if live.get("immutable") and not content.is_same_content(
                live, manifest.body
            ):
                self.warnings.append(describe_immutable(manifest))

    def used_obsolete(self) -> Iterable[Key]:
        """Return the obsolete objects that are kept, since pods need them."""
        obsolete = self._plan.obsolete(self.before)
        remaining = [
            self.after[key] for key in self.before if key not in obsolete
        ]
        pods = [body for body in remaining if body["kind"] == "Pod"]
        used = list_references(pods, remaining)
        return [
            (group, kind, name)
            for group, kind, name in obsolete
            if not group and (kind, name) in used
        ]

    def quota_warnings(self) -> Iterator[str]:
        """List the quotas that do not suffice for the new pods."""
        new_pods = [
            (template, count)
            for key, body in self.after.items()
            for template in quotas.pods_of(body)
            if (count := self._count_new(key, body)) > 0
        ]
        if new_pods:
            yield from quotas.list_warnings(
                self._cluster_task.cluster,
                self._cluster_task.rendered.namespace,
                new_pods,
            )

    def _count_new(self, key: Key, body: Object) -> int:
        before = self.before.get(key)
        return quotas.replicas_of(body) - (
            quotas.replicas_of(before) if before else 0
        )


def _type_of(manifest: Manifest) -> Object:
    return {"apiVersion": manifest.api_version, "kind": manifest.kind}


def _without_removed(stored: Any, before: Any, after: Any) -> Any:
    """Remove the fields, and the entries of lists, that the former manifest had
    and the new one does not have: an execution removes them with the ownership
    of the former one.
    """
    values = (stored, before, after)
    if all(isinstance(value, list) for value in values):
        return [
            entry
            for entry in stored
            if any(_contains(entry, new) for new in after)
            or not any(_contains(entry, old) for old in before)
        ]
    if not all(isinstance(value, dict) for value in values):
        return stored
    return {
        name: _without_removed(value, before.get(name), after.get(name))
        for name, value in stored.items()
        if name in after or name not in before
    }


def _contains(stored: Any, written: Any) -> bool:
    """Return whether a stored value has all that a manifest has written."""
    if isinstance(stored, dict) and isinstance(written, dict):
        return all(
            name in stored and _contains(stored[name], value)
            for name, value in written.items()
        )
    return bool(stored == written)
