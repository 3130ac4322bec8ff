"""ResourceQuota: usage and enforcement."""

from collections.abc import Mapping
from decimal import Decimal

from kubernetes_sandbox import errors, quantities
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj, is_deleting, name_of
from kubernetes_sandbox.store import Store

QUOTAS = "resourcequotas."
_PODS = "pods."
_COUNTED_CORE = frozenset(
    {
        "pods",
        "services",
        "configmaps",
        "secrets",
        "persistentvolumeclaims",
        "replicationcontrollers",
        "resourcequotas",
    }
)
_FINISHED = frozenset({"Succeeded", "Failed"})


def _counts(pod: Obj) -> bool:
    return pod["status"].get("phase") not in _FINISHED


def _requested_by_pod(spec: Obj, resource: str) -> Decimal | int:
    part, _, name = resource.rpartition(".")
    if part == "limits":
        return sum(
            quantities.parse(c["resources"].get("limits", {}).get(name, 0))
            for c in spec.get("containers") or ()
        )
    return quantities.pod_requests(spec).get(name, 0)


_SERVICE_TYPES = {
    "services.loadbalancers": ("LoadBalancer",),
    "services.nodeports": ("NodePort", "LoadBalancer"),
}
_COMPUTE = frozenset(
    f"{part}{name}"
    for part in ("", "requests.", "limits.")
    for name in ("cpu", "memory")
)


def _unspecified(spec: Obj, resource: str) -> list[str]:
    """List the containers that do not specify a compute resource."""
    part, _, name = resource.rpartition(".")
    return [
        container["name"]
        for container in spec["containers"]
        if name not in (container["resources"].get(part or "requests") or {})
    ]


def _key_counted(resource: str) -> str | None:
    if resource.startswith("count/"):
        plural, _, group = resource.removeprefix("count/").partition(".")
        return f"{plural}.{group}"
    return f"{resource}." if resource in _COUNTED_CORE else None


def _requested_by_service(service: Obj, resource: str) -> int:
    return int(service["spec"]["type"] in _SERVICE_TYPES[resource])


def _used(store: Store, namespace: str, resource: str) -> Decimal | int:
    key = _key_counted(resource)
    if key == _PODS and resource == "pods":
        return sum(
            1 for pod in store.objects(_PODS, namespace) if _counts(pod)
        )
    if key is not None:
        return store.count(key, namespace)
    if resource in _SERVICE_TYPES:
        return sum(
            _requested_by_service(service, resource)
            for service in store.objects("services.", namespace)
        )
    if resource == "requests.storage":
        return sum(
            quantities.parse(claim["spec"]["resources"]["requests"]["storage"])
            for claim in store.objects("persistentvolumeclaims.", namespace)
        )
    return sum(
        _requested_by_pod(pod["spec"], resource)
        for pod in store.objects(_PODS, namespace)
        if _counts(pod)
    )


def _requested(  # noqa: PLR0911
    kind: Kind, obj: Obj, resource: str
) -> Decimal | int:
    key = _key_counted(resource)
    if key is not None:
        return 1 if key == kind.key else 0
    if resource in _SERVICE_TYPES:
        if kind.key != "services.":
            return 0
        return _requested_by_service(obj, resource)
    if kind.key == "persistentvolumeclaims.":
        if resource != "requests.storage":
            return 0
        return quantities.parse(
            obj["spec"]["resources"]["requests"]["storage"]
        )
    if kind.key == _PODS and resource != "requests.storage":
        return _requested_by_pod(obj["spec"], resource)
    return 0


def _format(resource: str, amount: Decimal | int) -> str:
    binary = resource.endswith(("memory", "storage"))
    return quantities.format_amount(Decimal(amount), binary=binary)


def usage(store: Store, quota: Obj) -> dict[str, str]:
    """Compute status.used of a quota."""
    namespace = quota["metadata"]["namespace"]
    return {
        resource: _format(resource, _used(store, namespace, resource))
        for resource in quota["spec"].get("hard") or {}
    }


def _reject(
    kind: Kind, obj: Obj, quota: Obj, exceeded: Mapping[str, Decimal | int]
) -> None:
    used = quota["used"]
    hard = quota["hard"]
    amounts = (
        ",".join(
            f"{name}={_format(name, exceeded[name])}"
            for name in sorted(exceeded)
        ),
        ",".join(f"{name}={used[name]}" for name in sorted(exceeded)),
        ",".join(f"{name}={hard[name]}" for name in sorted(exceeded)),
    )
    raise errors.forbidden(
        kind.plural,
        kind.group,
        name_of(obj),
        f"exceeded quota: {quota['name']}, requested: {amounts[0]}, used:"
        f" {amounts[1]}, limited: {amounts[2]}",
    )


def _check_specified(pod: Obj, quota: str, hard: Obj) -> None:
    missing = {
        resource: ",".join(names)
        for resource in sorted(_COMPUTE & hard.keys())
        if (names := _unspecified(pod["spec"], resource))
    }
    if missing:
        listed = "; ".join(f"{k} for: {v}" for k, v in missing.items())
        raise errors.forbidden(
            "pods",
            "",
            name_of(pod),
            f"failed quota: {quota}: must specify {listed}",
        )


def check(store: Store, kind: Kind, obj: Obj) -> None:
    """Reject an object that would exceed a quota.

    :raises ApiError: 403
    """
    namespace = obj["metadata"].get("namespace", "")
    if not namespace or not store.count(QUOTAS, namespace):
        return
    for quota in store.objects(QUOTAS, namespace):
        if is_deleting(quota):
            continue
        hard = quota["spec"].get("hard") or {}
        if kind.key == _PODS:
            _check_specified(obj, name_of(quota), hard)
        exceeded: dict[str, Decimal | int] = {}
        for resource, limit in hard.items():
            requested = _requested(kind, obj, resource)
            used = _used(store, namespace, resource) if requested else 0
            if requested and used + requested > quantities.parse(limit):
                exceeded[resource] = requested
        if exceeded:
            state = {
                "name": name_of(quota),
                "used": usage(store, quota),
                "hard": hard,
            }
            _reject(kind, obj, state, exceeded)
