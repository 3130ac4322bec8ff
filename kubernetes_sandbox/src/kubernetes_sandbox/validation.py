"""Validation of objects, with the causes that the API server reports."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubernetes_sandbox import errors, pods, quantities, selectors
from kubernetes_sandbox.errors import Cause
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.name_validation import (
    config_key_error,
    dns_label_error,
    label_value_error,
    name_error,
    qualified_name_errors,
)
from kubernetes_sandbox.objects import Obj, name_of

_Causes = Iterator[Cause]
_NOT_NEGATIVE = "must be greater than or equal to 0"
_SELECTOR_MISMATCH = "`selector` does not match template `labels`"
_COST = re.compile(r"0|-?[1-9]\d{0,9}")
_POLICIES = ("Always", "OnFailure", "Never")
_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PORT_RANGE = "must be between 1 and 65535, inclusive"
_PERCENT = re.compile(r"[0-9]+%")
_PERCENT_RULE = (
    "a valid percent string must be a numeric string followed by an ending"
    " '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_STANDARD_FINALIZERS = frozenset(
    {"kubernetes", "orphan", "foregroundDeletion"}
)


def _metadata(kind: Kind, metadata: Obj) -> _Causes:
    name = metadata.get("name")
    base = (metadata.get("generateName") or "").removesuffix("-")
    if base and (failure := name_error(kind.key, base)):
        yield errors.invalid_value(
            "metadata.generateName", metadata["generateName"], failure
        )
    if not name:
        yield errors.required(
            "metadata.name", "name or generateName is required"
        )
    elif failure := name_error(kind.key, name):
        yield errors.invalid_value("metadata.name", name, failure)
    for key, value in (metadata.get("labels") or {}).items():
        yield from _key("metadata.labels", key)
        if failure := label_value_error(value):
            yield errors.invalid_value("metadata.labels", value, failure)
    for key in metadata.get("annotations") or {}:
        yield from _key("metadata.annotations", key.lower())
    yield from _references(metadata)


def _key(path: str, key: str) -> _Causes:
    for failure in qualified_name_errors(key):
        yield errors.invalid_value(path, key, failure)


def _references(metadata: Obj) -> _Causes:
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            yield errors.invalid_value(
                f"metadata.finalizers[{index}]",
                finalizer,
                "name is neither a standard finalizer name nor is it fully"
                " qualified",
            )
    owners = metadata.get("ownerReferences") or []
    for owner in owners:
        if not owner.get("uid"):
            yield errors.invalid_value(
                "metadata.ownerReferences.uid", "", "must not be empty"
            )
    controllers = [one for one in owners if one.get("controller")]
    if len(controllers) > 1:
        first, second = (f"{c['kind']}/{c['name']}" for c in controllers[:2])
        yield errors.invalid_value(
            "metadata.ownerReferences",
            owners,
            "Only one reference can have Controller set to true. Found"
            f' "true" in references for {first} and {second}',
        )


def _not_negative(path: str, value: Any) -> _Causes:
    if value is not None and value < 0:
        yield errors.invalid_value(path, value, _NOT_NEGATIVE)


def _container(container: Obj, path: str) -> _Causes:
    name = container.get("name")
    if not name:
        yield errors.required(f"{path}.name")
    elif failure := dns_label_error(name):
        yield errors.invalid_value(f"{path}.name", name, failure)
    if not container.get("image"):
        yield errors.required(f"{path}.image")
    yield from _environment(container, path)
    for index, port in enumerate(container.get("ports") or ()):
        yield from _container_port(port, f"{path}.ports[{index}]")
    policy = container.get("imagePullPolicy", "Always")
    if policy not in _PULL_POLICIES:
        yield errors.unsupported(
            f"{path}.imagePullPolicy", policy, _PULL_POLICIES
        )
    yield from _resources(container.get("resources") or {}, path)


def _environment(container: Obj, path: str) -> _Causes:
    for index, variable in enumerate(container.get("env") or ()):
        name = variable.get("name")
        if not name:
            yield errors.required(f"{path}.env[{index}].name")
        elif "=" in name:
            yield errors.invalid_value(
                f"{path}.env[{index}].name",
                name,
                "a valid environment variable name must consist only of"
                " printable ASCII characters other than '='",
            )


def _container_port(port: Obj, path: str) -> _Causes:
    number = port.get("containerPort")
    if len(port.get("name") or "") > 15:
        yield errors.invalid_value(
            f"{path}.name", port["name"], "must be no more than 15 characters"
        )
    if not number:
        yield errors.required(f"{path}.containerPort")
    elif not 1 <= number <= 65535:
        yield errors.invalid_value(
            f"{path}.containerPort", number, _PORT_RANGE
        )


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
    for key in spec.get("nodeSelector") or {}:
        yield from _key(f"{path}.nodeSelector", key)
    policy = spec.get("restartPolicy", "Always")
    if policy not in _POLICIES:
        yield errors.unsupported(f"{path}.restartPolicy", policy, _POLICIES)


def _deletion_cost(annotations: Obj) -> _Causes:
    cost = annotations.get(pods.DELETION_COST)
    if cost is not None and not _COST.fullmatch(cost):
        yield errors.invalid_value(
            f"metadata.annotations[{pods.DELETION_COST}]",
            cost,
            "must be a 32bit integer",
        )


def _pod(obj: Obj) -> _Causes:
    yield from _deletion_cost(obj["metadata"].get("annotations") or {})
    yield from _pod_spec(obj.get("spec") or {}, "spec")


def _with_claim_volumes(pod: Obj, spec: Obj) -> Obj:
    """Add the claims of a StatefulSet, which its pods can mount."""
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
            "spec.template.metadata.labels", labels, _SELECTOR_MISMATCH
        )
    pod = template.get("spec") or {}
    yield from _pod_spec(_with_claim_volumes(pod, spec), "spec.template.spec")
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


def _int_or_percent(path: str, value: Any) -> _Causes:
    if isinstance(value, int):
        yield from _not_negative(path, value)
    elif value is not None and not _PERCENT.fullmatch(value):
        yield errors.invalid_value(path, value, _PERCENT_RULE)
    elif value is not None and int(value[:-1]) > 100:
        yield errors.invalid_value(
            path, value, "must not be greater than 100%"
        )


def _deployment(obj: Obj) -> _Causes:
    yield from _workload(obj)
    spec = obj.get("spec") or {}
    yield from _not_negative(
        "spec.revisionHistoryLimit", spec.get("revisionHistoryLimit")
    )
    yield from _deployment_strategy(spec["strategy"])
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        yield errors.invalid_value(
            "spec.progressDeadlineSeconds",
            deadline,
            "must be greater than minReadySeconds",
        )


def _deployment_strategy(strategy: Obj) -> _Causes:
    path = "spec.strategy.rollingUpdate"
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "Recreate":
        if rolling is not None:
            yield errors.forbidden_value(
                path,
                "may not be specified when strategy `type` is 'Recreate'",
            )
        return
    if strategy["type"] != "RollingUpdate":
        yield Cause(
            "spec.strategy",
            "FieldValueNotSupported",
            f'Unsupported value: {{"Type":"{strategy["type"]}",'
            '"RollingUpdate":null}: supported values: "Recreate",'
            ' "RollingUpdate"',
        )
        return
    assert rolling is not None  # defaulted
    surge, unavailable = rolling["maxSurge"], rolling["maxUnavailable"]
    yield from _int_or_percent(f"{path}.maxUnavailable", unavailable)
    yield from _int_or_percent(f"{path}.maxSurge", surge)
    if surge in {0, "0%"} and unavailable in {0, "0%"}:
        yield errors.invalid_value(
            f"{path}.maxUnavailable",
            unavailable,
            "may not be 0 when `maxSurge` is 0",
        )


def _job(obj: Obj) -> _Causes:
    spec = obj.get("spec") or {}
    for field in ("completions", "parallelism", "backoffLimit"):
        yield from _not_negative(f"spec.{field}", spec.get(field))
    pod = (spec.get("template") or {}).get("spec") or {}
    yield from _pod_spec(pod, "spec.template.spec")
    if pod.get("restartPolicy", "Always") == "Always":
        yield errors.required(
            "spec.template.spec.restartPolicy",
            'valid values: "OnFailure", "Never"',
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
                _PORT_RANGE,
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
            "spec",
            {
                "MinAvailable": spec["minAvailable"],
                "Selector": spec.get("selector"),
                "MaxUnavailable": spec["maxUnavailable"],
                "UnhealthyPodEvictionPolicy": None,
            },
            "minAvailable and maxUnavailable cannot be both set",
        )
    for field in ("minAvailable", "maxUnavailable"):
        yield from _int_or_percent(f"spec.{field}", spec.get(field))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy not in {None, *_EVICTION_POLICIES}:
        yield errors.unsupported(
            "spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES
        )


def _config_map(obj: Obj) -> _Causes:
    for field in ("data", "binaryData"):
        for key in obj.get(field) or {}:
            if failure := config_key_error(key):
                yield errors.invalid_value(f"{field}[{key}]", key, failure)


def _quota(obj: Obj) -> _Causes:
    for name, amount in ((obj.get("spec") or {}).get("hard") or {}).items():
        if quantities.parse(amount) < 0:
            yield errors.invalid_value(
                f"spec.hard[{name}]", str(amount), _NOT_NEGATIVE
            )


def _role(obj: Obj) -> _Causes:
    for index, rule in enumerate(obj.get("rules") or ()):
        if not rule.get("verbs"):
            yield errors.required(
                f"rules[{index}].verbs",
                "verbs must contain at least one value",
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
    "configmaps.": _config_map,
    "resourcequotas.": _quota,
    "roles.rbac.authorization.k8s.io": _role,
    "pods.": _pod,
    "deployments.apps": _deployment,
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
    """List the causes for which an object is invalid."""
    causes = list(_metadata(kind, obj["metadata"]))
    rules = _RULES.get(kind.key)
    if rules is not None:
        causes.extend(rules(obj))
    return causes


def check(kind: Kind, obj: Obj) -> None:
    """Reject an invalid object.

    :raises ApiError: 422 with all causes
    """
    reject(kind, obj, causes_of(kind, obj))


def reject(kind: Kind, obj: Obj, causes: list[Cause]) -> None:
    """Reject an object if there are causes.

    :raises ApiError: 422 with all causes
    """
    if causes:
        raise errors.invalid(kind.kind, kind.group, name_of(obj), causes)
