"""Validation of updates: immutable fields."""

from collections.abc import Callable, Mapping
from typing import Any

from kubernetes_sandbox import errors, raw_extension, validation
from kubernetes_sandbox.errors import Cause
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj, is_deleting

_IMMUTABLE = "field is immutable"
_POD_RULE = (
    "pod updates may not change fields other than"
    " `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to"
    " existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to"
    " be set to 1 if it was previously negative)"
)
_STATEFUL_RULE = (
    "updates to statefulset spec for fields other than 'replicas',"
    " 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit',"
    " 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are"
    " forbidden"
)
_STATEFUL_MUTABLE = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)
_CLAIM_RULE = (
    "spec is immutable after creation except resources.requests and"
    " volumeAttributesClassName for bound claims"
)
_CLAIM_MUTABLE = frozenset(
    {
        "resources",
        "volumeAttributesClassName",
        "volumeName",
    }
)
_POD_MUTABLE = frozenset(
    {
        "activeDeadlineSeconds",
        "tolerations",
        "terminationGracePeriodSeconds",
        "schedulingGates",
    }
)


def _same_field(old: Obj, new: Obj, field: str) -> list[Cause]:
    before, after = _spec(old).get(field), _spec(new).get(field)
    if before == after:
        return []
    return [errors.invalid_value(f"spec.{field}", after, _IMMUTABLE)]


def _spec(obj: Obj) -> Obj:
    return dict(obj.get("spec") or {})


def _without(spec: Obj, fields: frozenset[str]) -> Obj:
    return {key: value for key, value in spec.items() if key not in fields}


def _selector_after(kind: Kind, old: Obj, new: Obj) -> list[Cause]:
    causes = validation.causes_of(kind, new)
    return causes + _same_field(old, new, "selector")


def _selector_before(kind: Kind, old: Obj, new: Obj) -> list[Cause]:
    return _same_field(old, new, "selector") + validation.causes_of(kind, new)


def _stateful_set(kind: Kind, old: Obj, new: Obj) -> list[Cause]:
    causes = validation.causes_of(kind, new)
    before = _without(_spec(old), _STATEFUL_MUTABLE)
    if before != _without(_spec(new), _STATEFUL_MUTABLE):
        causes.append(errors.forbidden_value("spec", _STATEFUL_RULE))
    return causes


def _immutable_pod_spec(obj: Obj) -> Obj:
    spec = _without(_spec(obj), _POD_MUTABLE)
    for part in ("containers", "initContainers"):
        if part in spec:
            spec[part] = [
                _without(c, frozenset({"image"})) for c in spec[part]
            ]
    return spec


def _pod(kind: Kind, old: Obj, new: Obj) -> list[Cause]:
    causes = validation.causes_of(kind, new)
    if _immutable_pod_spec(old) != _immutable_pod_spec(new):
        causes.append(errors.forbidden_value("spec", _POD_RULE))
    return causes


def _volume_claim(kind: Kind, old: Obj, new: Obj) -> list[Cause]:
    causes = validation.causes_of(kind, new)
    before = _without(_spec(old), _CLAIM_MUTABLE)
    if before != _without(_spec(new), _CLAIM_MUTABLE):
        causes.append(errors.forbidden_value("spec", _CLAIM_RULE))
    return causes


def _job(kind: Kind, old: Obj, new: Obj) -> list[Cause]:
    causes = validation.causes_of(kind, new)
    for field in ("completions", "selector", "template"):
        causes += _same_field(old, new, field)
    return causes


def _service(kind: Kind, old: Obj, new: Obj) -> list[Cause]:
    causes = validation.causes_of(kind, new)
    before, after = _spec(old).get("clusterIP"), _spec(new).get("clusterIP")
    if before and before != after and _spec(new)["type"] != "ExternalName":
        causes.append(
            errors.invalid_value(
                "spec.clusterIPs[0]", [after], "may not change once set"
            )
        )
    return causes


def _config_data(kind: Kind, old: Obj, new: Obj) -> list[Cause]:
    causes = validation.causes_of(kind, new)
    if not old.get("immutable"):
        return causes
    why = "field is immutable when `immutable` is set"
    for field in ("immutable", "data", "binaryData"):
        if old.get(field) != new.get(field):
            causes.append(errors.forbidden_value(field, why))
    return causes


def _secret(kind: Kind, old: Obj, new: Obj) -> list[Cause]:
    causes = _config_data(kind, old, new)
    if old.get("type") != new.get("type"):
        causes.append(
            errors.invalid_value("type", new.get("type"), _IMMUTABLE)
        )
    return causes


def _revision(kind: Kind, old: Obj, new: Obj) -> list[Cause]:
    causes = validation.causes_of(kind, new)
    data = new.get("data")
    if raw_extension.raw_of(old["data"]) != raw_extension.raw_of(data):
        causes.append(errors.invalid_value("data", data, _IMMUTABLE))
    return causes


_Rule = Callable[[Kind, Obj, Obj], list[Cause]]
_RULES: Mapping[str, _Rule] = {
    "pods.": _pod,
    "configmaps.": _config_data,
    "secrets.": _secret,
    "services.": _service,
    "persistentvolumeclaims.": _volume_claim,
    "deployments.apps": _selector_after,
    "replicasets.apps": _selector_after,
    "daemonsets.apps": _selector_before,
    "statefulsets.apps": _stateful_set,
    "jobs.batch": _job,
    raw_extension.KEY: _revision,
}
_METADATA = ("uid", "creationTimestamp")


def _metadata(old: Obj, new: Obj) -> list[Cause]:
    causes = []
    for field in _METADATA:
        before: Any = old["metadata"].get(field)
        after = new["metadata"].get(field, before)
        if before != after:
            causes.append(
                errors.invalid_value(f"metadata.{field}", after, _IMMUTABLE)
            )
    return causes


def _finalizers(old: Obj, new: Obj) -> list[Cause]:
    if not is_deleting(old):
        return []
    before = old["metadata"].get("finalizers") or ()
    after = new["metadata"].get("finalizers") or ()
    added = ", ".join(f'"{one}"' for one in after if one not in before)
    if not added:
        return []
    why = (
        "no new finalizers can be added if the object is being deleted, found"
        f" new finalizers []string{{{added}}}"
    )
    return [errors.forbidden_value("metadata.finalizers", why)]


def _role_binding(kind: Kind, old: Obj, new: Obj) -> list[Cause]:
    causes = validation.causes_of(kind, new)
    if old.get("roleRef") != new.get("roleRef"):
        found = new.get("roleRef") or {}
        shown = {
            f"{name[0].upper()}{name[1:]}": found.get(name, "")
            for name in ("apiGroup", "kind", "name")
        }
        shown = {"APIGroup": shown.pop("ApiGroup"), **shown}
        why = "cannot change roleRef"
        causes.append(errors.invalid_value("roleRef", shown, why))
    return causes


_ROLE_BINDINGS = frozenset(
    {
        "rolebindings.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
    }
)


def check(kind: Kind, old: Obj, new: Obj) -> None:
    """Reject an invalid update.

    :raises ApiError: 422 with all causes
    """
    causes = _metadata(old, new) + 2 * _finalizers(old, new)
    rule = _RULES.get(kind.key)
    if kind.key in _ROLE_BINDINGS:
        rule = _role_binding
    if rule is None:
        causes += validation.causes_of(kind, new)
    else:
        causes += rule(kind, old, new)
    validation.reject(kind, new, causes)
