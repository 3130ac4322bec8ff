"""Deleting: grace, finalizers, propagation, preconditions."""

from dataclasses import dataclass
from typing import Any

from kubernetes_sandbox import errors
from kubernetes_sandbox.api import Api
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
from kubernetes_sandbox.strategy import DEFINITIONS

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_FINALIZERS = {"Foreground": FOREGROUND, "Orphan": ORPHAN}
_OVER = frozenset({"Succeeded", "Failed"})
_CLEAN_UP = "customresourcecleanup.apiextensions.k8s.io"
#: Kinds whose deletion answers the object even when it is gone at once.
_ANSWER_OBJECT = frozenset({"pods.", "namespaces.", "services."})


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
        """Read DeleteOptions of the body, and of the query."""
        grace = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
        policy = body.get("propagationPolicy") or query.get(
            "propagationPolicy"
        )
        if body.get("orphanDependents"):
            policy = "Orphan"
        conditions = body.get("preconditions") or {}
        return cls(
            grace=None if grace is None else int(grace),
            policy=policy or "",
            uid=conditions.get("uid") or "",
            version=conditions.get("resourceVersion") or "",
            dry_run=bool(body.get("dryRun") or query.get("dryRun")),
        )


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
        """Delete an object; answers its last version and whether it went.

        :raises ApiError: a precondition does not hold
        """
        self._check(kind, obj, options)
        grace = self._grace(kind, obj, options)
        marked = self._marked(kind, obj, options, grace)
        if options.dry_run:
            return marked, grace == 0
        if marked["metadata"].get("finalizers") or grace or self._held(kind):
            if marked == obj:
                return obj, False
            return self._api.store.put(kind, marked).obj, False
        if kind.key == "pods." and marked != obj:
            marked = self._api.store.put(kind, marked).obj
        return self._api.store.remove(kind, marked).obj, True

    @staticmethod
    def _held(kind: Kind) -> bool:
        return kind.key == "namespaces."

    @staticmethod
    def _check(kind: Kind, obj: Obj, options: DeleteOptions) -> None:
        for told, label, wanted, found in (
            ("UID", "UID", options.uid, uid_of(obj)),
            (
                "ResourceVersion",
                "ResourceVersion",
                options.version,
                obj["metadata"]["resourceVersion"],
            ),
        ):
            if wanted and wanted != found:
                raise errors.conflict(
                    kind.plural,
                    kind.group,
                    name_of(obj),
                    f"Precondition failed: {told} in precondition: {wanted},"
                    f" {label} in object meta: {found}",
                )

    @staticmethod
    def _grace(kind: Kind, obj: Obj, options: DeleteOptions) -> int:
        if kind.key != "pods.":
            return 0
        spec = obj["spec"]
        if not spec.get("nodeName") or obj["status"].get("phase") in _OVER:
            return 0
        if options.grace is not None:
            return max(options.grace, 0)
        return int(spec.get("terminationGracePeriodSeconds", 30))

    def _marked(
        self, kind: Kind, obj: Obj, options: DeleteOptions, grace: int
    ) -> Obj:
        if kind.key == DEFINITIONS:
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
        left = obj["metadata"].get("deletionGracePeriodSeconds", 0)
        changes: Obj = {"finalizers": finalizers or None}
        if grace < left:
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
    """List the finalizers of an object whose deletion follows a policy; none
    given leaves what an earlier deletion chose.
    """
    finalizers = list(obj["metadata"].get("finalizers") or ())
    wanted = _FINALIZERS.get(policy)
    if policy:
        ours = _FINALIZERS.values()
        finalizers = [f for f in finalizers if f == wanted or f not in ours]
    if wanted and wanted not in finalizers:
        finalizers.append(wanted)
    return finalizers


def answer(kind: Kind, obj: Obj, *, gone: bool) -> Obj:
    """Build the answer to a delete: the object, or Success."""
    if not gone or kind.key in _ANSWER_OBJECT:
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
