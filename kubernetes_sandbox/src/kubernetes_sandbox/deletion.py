"""Deletion: grace periods, finalizers, propagation, preconditions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kubernetes_sandbox import errors
from kubernetes_sandbox.api import Api
from kubernetes_sandbox.api_request import check_dry_run
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import (
    Obj,
    is_deleting,
    name_of,
    now,
    now_in,
    uid_of,
    with_metadata,
)
from kubernetes_sandbox.strategy import CRDS

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_FINALIZERS = {"Foreground": FOREGROUND, "Orphan": ORPHAN}
_FINISHED = frozenset({"Succeeded", "Failed"})
_CLEAN_UP = "customresourcecleanup.apiextensions.k8s.io"
#: Kinds whose deletion returns the object even if it was removed.
_RETURN_OBJECT = frozenset(
    {
        "pods.",
        "namespaces.",
        "services.",
        "serviceaccounts.",
        "replicationcontrollers.",
        "podtemplates.",
        "persistentvolumeclaims.",
        "resourcequotas.",
    }
)
#: Kinds that are returned as they were before the deletion.
_UNMARKED = _RETURN_OBJECT - {"pods.", "namespaces."}
#: Kinds whose dependents are orphaned by default.
_ORPHANING = frozenset({"jobs.batch", "replicationcontrollers."})
_POLICIES = ("Foreground", "Background", "Orphan", "nil")
_PRESERVED = (
    "child pods are preserved by default when jobs are deleted; set"
    " propagationPolicy=Background to remove them or set"
    " propagationPolicy=Orphan to suppress this warning"
)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """The parameters of a delete."""

    grace: int | None = None
    policy: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False

    @classmethod
    def read(cls, body: Obj, query: Any) -> "DeleteOptions":
        """Read the DeleteOptions of the body and the query parameters."""
        grace = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
        policy = body.get("propagationPolicy") or query.get(
            "propagationPolicy"
        )
        conditions = body.get("preconditions") or {}
        _check_policy(policy, body)
        if body.get("orphanDependents"):
            policy = "Orphan"
        for given in body.get("dryRun") or [query.get("dryRun")]:
            check_dry_run("DeleteOptions", given)
        return cls(
            grace=None if grace is None else int(grace),
            policy=policy or "",
            uid=conditions.get("uid") or "",
            version=conditions.get("resourceVersion") or "",
            dry_run=bool(body.get("dryRun") or query.get("dryRun")),
        )


def _check_policy(policy: str | None, body: Obj) -> None:
    path = "propagationPolicy"
    if policy and policy not in _POLICIES:
        cause = errors.unsupported(path, policy, _POLICIES)
    elif policy and body.get("orphanDependents") is not None:
        cause = errors.invalid_value(
            path,
            policy,
            "orphanDependents and deletionPropagation cannot be both set",
        )
    else:
        return
    raise errors.invalid("DeleteOptions", "meta.k8s.io", "", [cause])


def with_default_policy(
    kind: Kind, options: DeleteOptions, warn: Callable[[str], None]
) -> DeleteOptions:
    """Return the options of a client with the default policy of a kind."""
    if options.policy or kind.key not in _ORPHANING:
        return options
    if kind.key == "jobs.batch":
        warn(_PRESERVED)
    return replace(options, policy="Orphan")


NOW = DeleteOptions(grace=0)
DEFAULT = DeleteOptions()
BACKGROUND = DeleteOptions(policy="Background")


class Deletion:
    """Deletes objects as the API server does."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def delete(
        self, kind: Kind, obj: Obj, options: DeleteOptions = DEFAULT
    ) -> tuple[Obj, bool]:
        """Delete an object; return its last version and if it was removed.

        :raises ApiError: a precondition is not met
        """
        self._check(kind, obj, options)
        grace = self._grace(kind, obj, options)
        marked = self._marked(kind, obj, options, grace)
        if options.dry_run:
            kept = bool(marked["metadata"].get("finalizers") or grace)
            return (marked if kept or kind.key == "pods." else obj), not kept
        if (
            marked["metadata"].get("finalizers")
            or grace
            or self._is_finalized_later(kind)
        ):
            if marked == obj:
                return obj, False
            return self._api.store.put(kind, marked).obj, False
        if kind.key == "pods." and marked != obj:
            marked = self._api.store.put(kind, marked).obj
        removed = self._api.store.remove(kind, marked).obj
        if kind.key in _UNMARKED:
            return obj, True
        return removed, True

    @staticmethod
    def _is_finalized_later(kind: Kind) -> bool:
        return kind.key == "namespaces."

    @staticmethod
    def _check(kind: Kind, obj: Obj, options: DeleteOptions) -> None:
        for name, wanted, found, consequence in (
            ("UID", options.uid, uid_of(obj), "deleted and then recreated"),
            (
                "ResourceVersion",
                options.version,
                obj["metadata"]["resourceVersion"],
                "modified",
            ),
        ):
            if wanted and wanted != found:
                raise errors.conflict(
                    kind.kind,
                    kind.group,
                    name_of(obj),
                    f"the {name} in the precondition ({wanted}) does not match"
                    f" the {name} in record ({found}). The object might have"
                    f" been {consequence}",
                )

    @staticmethod
    def _grace(kind: Kind, obj: Obj, options: DeleteOptions) -> int:
        if kind.key != "pods.":
            return 0
        spec = obj["spec"]
        if not spec.get("nodeName") or obj["status"].get("phase") in _FINISHED:
            return 0
        if options.grace is not None:
            return 1 if options.grace < 0 else options.grace
        return int(spec.get("terminationGracePeriodSeconds", 30))

    def _marked(
        self, kind: Kind, obj: Obj, options: DeleteOptions, grace: int
    ) -> Obj:
        if kind.key == CRDS:
            return self._marked_definition(obj)
        if kind.key == "namespaces.":
            return self._marked_namespace(obj)
        finalizers = _finalizers(obj, options.policy)
        if is_deleting(obj):
            return self._marked_again(obj, finalizers, grace)
        generation = obj["metadata"].get("generation")
        return with_metadata(
            obj,
            deletionTimestamp=now_in(grace),
            deletionGracePeriodSeconds=grace,
            generation=generation + 1 if generation else None,
            finalizers=finalizers or None,
        )

    @staticmethod
    def _marked_again(obj: Obj, finalizers: list[str], grace: int) -> Obj:
        remaining = obj["metadata"].get("deletionGracePeriodSeconds", 0)
        changes: Obj = {"finalizers": finalizers or None}
        if grace < remaining:
            changes["deletionGracePeriodSeconds"] = grace
            changes["deletionTimestamp"] = now_in(grace)
        return with_metadata(obj, **changes)

    @staticmethod
    def _marked_namespace(obj: Obj) -> Obj:
        if is_deleting(obj):
            return obj
        marked = with_metadata(obj, deletionTimestamp=now())
        return {**marked, "status": {"phase": "Terminating"}}

    @staticmethod
    def _marked_definition(obj: Obj) -> Obj:
        if is_deleting(obj):
            return obj
        marked = with_metadata(
            obj, deletionTimestamp=now(), finalizers=[_CLEAN_UP]
        )
        terminating = {
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": now(),
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion;"
            " CustomResource deletion will begin soon",
        }
        known = obj["status"].get("conditions") or []
        status = {**obj["status"], "conditions": [*known, terminating]}
        return {**marked, "status": status}


def _finalizers(obj: Obj, policy: str) -> list[str]:
    """Return the finalizers for a propagation policy.

    Without a policy, an earlier deletion decides.
    """
    finalizers = list(obj["metadata"].get("finalizers") or ())
    wanted = _FINALIZERS.get(policy)
    if policy:
        ours = _FINALIZERS.values()
        finalizers = [f for f in finalizers if f == wanted or f not in ours]
    if wanted and wanted not in finalizers:
        finalizers.append(wanted)
    return finalizers


def response_body(kind: Kind, obj: Obj, *, removed: bool) -> Obj:
    """Build the response to a delete: the object or a Status."""
    if not removed or kind.key in _RETURN_OBJECT:
        return obj
    details: Obj = {"name": name_of(obj)}
    if kind.group:
        details["group"] = kind.group
    details["kind"] = kind.plural
    details["uid"] = uid_of(obj)
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
