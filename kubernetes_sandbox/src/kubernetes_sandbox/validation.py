"""What makes an object invalid, with the causes a real server tells."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubernetes_sandbox import errors, pods, quantities, selectors
from kubernetes_sandbox.errors import Cause
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.names import dns_label_fault, label_fault, name_fault
from kubernetes_sandbox.objects import Obj, name_of

_Causes = Iterator[Cause]
_NOT_NEGATIVE = "must be greater than or equal to 0"
_MISMATCH = "`selector` does not match template `labels`"
_COST = re.compile(r"0|-?[1-9]\d{0,9}")
_POLICIES = ("Always", "Never", "OnFailure")


def _metadata(kind: Kind, metadata: Obj) -> _Causes:
    name = metadata.get("name")
    if not name:
        yield errors.required(
            "metadata.name", "name or generateName is required"
        )
    elif fault := name_fault(kind.key, name):
        yield errors.invalid_value("metadata.name", name, fault)
    for key, value in (metadata.get("labels") or {}).items():
        del key
        if fault := label_fault(value):
            yield errors.invalid_value("metadata.labels", value, fault)


def _not_negative(path: str, value: Any) -> _Causes:
    if value is not None and value < 0:
        yield errors.invalid_value(path, value, _NOT_NEGATIVE)


def _container(container: Obj, path: str) -> _Causes:
    name = container.get("name")
    if not name:
        yield errors.required(f"{path}.name")
    elif fault := dns_label_fault(name):
        yield errors.invalid_value(f"{path}.name", name, fault)
    if not container.get("image"):
        yield errors.required(f"{path}.image")
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            yield errors.required(f"{path}.env[{index}].name")
    yield from _resources(container.get("resources") or {}, path)


def _resources(resources: Obj, path: str) -> _Causes:
    limits = resources.get("limits") or {}
    for name, amount in (resources.get("requests") or {}).items():
        limit = limits.get(name)
        if limit is not None and _exceeds(amount, limit):
            yield errors.invalid_value(
                f"{path}.resources.requests",
                str(amount),
                f"must be less than or equal to {name} limit of {limit}",
            )


def _exceeds(amount: Any, limit: Any) -> bool:
    return quantities.parse(amount) > quantities.parse(limit)


def _containers(containers: list[Obj], path: str) -> _Causes:
    seen: set[str] = set()
    for index, container in enumerate(containers):
        yield from _container(container, f"{path}[{index}]")
        name = container.get("name") or ""
        if name in seen:
            yield Cause(
                f"{path}[{index}].name",
                "FieldValueDuplicate",
                f'Duplicate value: "{name}"',
            )
        seen.add(name)


def _volume_mounts(spec: Obj, path: str) -> _Causes:
    known = {volume.get("name") for volume in spec.get("volumes") or ()}
    for index, container in enumerate(spec.get("containers") or ()):
        for at, mount in enumerate(container.get("volumeMounts") or ()):
            if mount.get("name") not in known:
                yield Cause(
                    f"{path}.containers[{index}].volumeMounts[{at}].name",
                    "FieldValueNotFound",
                    f'Not found: "{mount.get("name")}"',
                )


def _pod_spec(spec: Obj, path: str) -> _Causes:
    if not spec.get("containers"):
        yield errors.required(f"{path}.containers")
    yield from _containers(spec.get("containers") or [], f"{path}.containers")
    yield from _containers(
        spec.get("initContainers") or [], f"{path}.initContainers"
    )
    yield from _volume_mounts(spec, path)
    policy = spec.get("restartPolicy", "Always")
    if policy not in _POLICIES:
        yield errors.unsupported(f"{path}.restartPolicy", policy, _POLICIES)


def _deletion_cost(notes: Obj) -> _Causes:
    cost = notes.get(pods.DELETION_COST)
    if cost is not None and not _COST.fullmatch(cost):
        yield errors.invalid_value(
            f"metadata.annotations[{pods.DELETION_COST}]",
            cost,
            "must be a 32bit integer",
        )


def _pod(obj: Obj) -> _Causes:
    yield from _deletion_cost(obj["metadata"].get("annotations") or {})
    yield from _pod_spec(obj.get("spec") or {}, "spec")


def _with_claims(pod: Obj, spec: Obj) -> Obj:
    """Let a StatefulSet's pods mount the claims it makes for each."""
    claims = [
        {"name": (claim.get("metadata") or {}).get("name")}
        for claim in spec.get("volumeClaimTemplates") or ()
    ]
    return {**pod, "volumes": [*(pod.get("volumes") or ()), *claims]}


def _template(spec: Obj, selector: Obj | None) -> _Causes:
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if selector is None or not selectors.matches(selector, labels or {}):
        yield errors.invalid_value(
            "spec.template.metadata.labels", labels, _MISMATCH
        )
    pod = template.get("spec") or {}
    yield from _pod_spec(_with_claims(pod, spec), "spec.template.spec")
    policy = (template.get("spec") or {}).get("restartPolicy", "Always")
    if policy in {"Never", "OnFailure"}:
        yield errors.unsupported(
            "spec.template.spec.restartPolicy", policy, ("Always",)
        )


def _workload(obj: Obj) -> _Causes:
    spec = obj.get("spec") or {}
    yield from _not_negative("spec.replicas", spec.get("replicas"))
    selector = spec.get("selector")
    if selector is None:
        yield errors.required("spec.selector")
    elif not selector:
        yield errors.invalid_value(
            "spec.selector",
            selector,
            "empty selector is invalid for deployment",
        )
    yield from _template(spec, selector)


def _job(obj: Obj) -> _Causes:
    spec = obj.get("spec") or {}
    for field in ("completions", "parallelism", "backoffLimit"):
        yield from _not_negative(f"spec.{field}", spec.get(field))
    pod = (spec.get("template") or {}).get("spec") or {}
    yield from _pod_spec(pod, "spec.template.spec")
    if pod.get("restartPolicy", "Always") == "Always":
        yield errors.unsupported(
            "spec.template.spec.restartPolicy",
            "Always",
            ("OnFailure", "Never"),
        )


def _service(obj: Obj) -> _Causes:
    spec = obj.get("spec") or {}
    headless = spec.get("clusterIP") == "None"
    named_elsewhere = spec.get("type") == "ExternalName"
    if not spec.get("ports") and not headless and not named_elsewhere:
        yield errors.required("spec.ports")
    for index, port in enumerate(spec.get("ports") or ()):
        number = port.get("port") or 0
        if not 1 <= number <= 65535:
            yield errors.invalid_value(
                f"spec.ports[{index}].port",
                number,
                "must be between 1 and 65535, inclusive",
            )


def _volume_claim(obj: Obj) -> _Causes:
    spec = obj.get("spec") or {}
    if not spec.get("accessModes"):
        yield errors.required(
            "spec.accessModes", "at least 1 access mode is required"
        )
    requests = (spec.get("resources") or {}).get("requests") or {}
    if "storage" not in requests:
        yield errors.required("spec.resources[storage]")


def _persistent_volume(obj: Obj) -> _Causes:
    spec = obj.get("spec") or {}
    if not spec.get("accessModes"):
        yield errors.required("spec.accessModes")
    if not spec.get("capacity"):
        yield errors.required("spec.capacity")


def _disruption_budget(obj: Obj) -> _Causes:
    spec = obj.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield errors.invalid_value(
            "spec", spec, "minAvailable and maxUnavailable cannot be both set"
        )


def _custom_definition(obj: Obj) -> _Causes:
    spec = obj.get("spec") or {}
    names = spec.get("names") or {}
    wanted = f"{names.get('plural')}.{spec.get('group')}"
    for field in ("group", "scope", "versions"):
        if not spec.get(field):
            yield errors.required(f"spec.{field}")
    for field in ("plural", "kind"):
        if not names.get(field):
            yield errors.required(f"spec.names.{field}")
    if name_of(obj) != wanted:
        yield errors.invalid_value(
            "metadata.name",
            name_of(obj),
            'must be spec.names.plural+"."+spec.group',
        )


def _revision(obj: Obj) -> _Causes:
    yield from _not_negative("revision", obj.get("revision"))
    if obj.get("data") is None:
        yield errors.required("data", "data is mandatory")
    elif not isinstance(obj["data"], dict):
        yield errors.required("data", "data must be a valid JSON object")


_RULES: Mapping[str, Callable[[Obj], _Causes]] = {
    "controllerrevisions.apps": _revision,
    "pods.": _pod,
    "deployments.apps": _workload,
    "replicasets.apps": _workload,
    "statefulsets.apps": _workload,
    "daemonsets.apps": _workload,
    "jobs.batch": _job,
    "services.": _service,
    "persistentvolumeclaims.": _volume_claim,
    "persistentvolumes.": _persistent_volume,
    "poddisruptionbudgets.policy": _disruption_budget,
    "customresourcedefinitions.apiextensions.k8s.io": _custom_definition,
}


def causes_of(kind: Kind, obj: Obj) -> list[Cause]:
    """List what is wrong with an object in itself."""
    causes = list(_metadata(kind, obj["metadata"]))
    rules = _RULES.get(kind.key)
    if rules is not None:
        causes.extend(rules(obj))
    return causes


def check(kind: Kind, obj: Obj) -> None:
    """Refuse an object that is invalid in itself.

    :raises ApiError: 422 with every cause
    """
    refuse(kind, obj, causes_of(kind, obj))


def refuse(kind: Kind, obj: Obj, causes: list[Cause]) -> None:
    """Refuse an object if there are causes.

    :raises ApiError: 422 with every cause
    """
    if causes:
        raise errors.invalid(kind.kind, kind.group, name_of(obj), causes)
