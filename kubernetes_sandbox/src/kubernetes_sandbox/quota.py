"""ResourceQuota: what is used, and whether one more fits."""

from collections.abc import Mapping
from decimal import Decimal

from kubernetes_sandbox import errors, quantities
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.objects import Obj, is_deleting, name_of
from kubernetes_sandbox.store import Store

QUOTAS = "resourcequotas."
_PODS = "pods."
_PLAIN = frozenset(
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
_OVER = frozenset({"Succeeded", "Failed"})


def _counts(pod: Obj) -> bool:
    return pod["status"].get("phase") not in _OVER


def _asked_by_pod(spec: Obj, resource: str) -> Decimal | int:
    part, _, name = resource.rpartition(".")
    if part == "limits":
        return sum(
            quantities.parse(c["resources"].get("limits", {}).get(name, 0))
            for c in spec.get("containers") or ()
        )
    return quantities.requests_of(spec).get(name, 0)


def _key_counted(resource: str) -> str | None:
    if resource.startswith("count/"):
        plural, _, group = resource.removeprefix("count/").partition(".")
        return f"{plural}.{group}"
    return f"{resource}." if resource in _PLAIN else None


def _used(store: Store, namespace: str, resource: str) -> Decimal | int:
    key = _key_counted(resource)
    if key == _PODS and resource == "pods":
        return sum(
            1 for pod in store.objects(_PODS, namespace) if _counts(pod)
        )
    if key is not None:
        return store.count(key, namespace)
    if resource == "requests.storage":
        return sum(
            quantities.parse(claim["spec"]["resources"]["requests"]["storage"])
            for claim in store.objects("persistentvolumeclaims.", namespace)
        )
    return sum(
        _asked_by_pod(pod["spec"], resource)
        for pod in store.objects(_PODS, namespace)
        if _counts(pod)
    )


def _asked(kind: Kind, obj: Obj, resource: str) -> Decimal | int:
    key = _key_counted(resource)
    if key is not None:
        return 1 if key == kind.key else 0
    if kind.key == "persistentvolumeclaims.":
        if resource != "requests.storage":
            return 0
        return quantities.parse(
            obj["spec"]["resources"]["requests"]["storage"]
        )
    if kind.key == _PODS and resource != "requests.storage":
        return _asked_by_pod(obj["spec"], resource)
    return 0


def _shown(resource: str, amount: Decimal | int) -> str:
    if amount == int(amount):
        return str(int(amount))
    if resource.endswith("cpu"):
        return f"{round(amount * 1000)}m"
    return str(amount)


def usage(store: Store, quota: Obj) -> dict[str, str]:
    """Work out status.used of a quota."""
    namespace = quota["metadata"]["namespace"]
    return {
        resource: _shown(resource, _used(store, namespace, resource))
        for resource in quota["spec"].get("hard") or {}
    }


def _refuse(
    kind: Kind, obj: Obj, quota: Obj, over: Mapping[str, Decimal | int]
) -> None:
    used = quota["used"]
    hard = quota["hard"]
    told = (
        ",".join(
            f"{name}={_shown(name, over[name])}" for name in sorted(over)
        ),
        ",".join(f"{name}={used[name]}" for name in sorted(over)),
        ",".join(f"{name}={hard[name]}" for name in sorted(over)),
    )
    raise errors.forbidden(
        kind.plural,
        kind.group,
        name_of(obj),
        f"exceeded quota: {quota['name']}, requested: {told[0]}, used:"
        f" {told[1]}, limited: {told[2]}",
    )


def check(store: Store, kind: Kind, obj: Obj) -> None:
    """Refuse an object that would exceed a quota.

    :raises ApiError: 403 with the message of a real server
    """
    namespace = obj["metadata"].get("namespace", "")
    if not namespace or not store.count(QUOTAS, namespace):
        return
    for quota in store.objects(QUOTAS, namespace):
        if is_deleting(quota):
            continue
        hard = quota["spec"].get("hard") or {}
        over: dict[str, Decimal | int] = {}
        for resource, limit in hard.items():
            asked = _asked(kind, obj, resource)
            used = _used(store, namespace, resource) if asked else 0
            if asked and used + asked > quantities.parse(limit):
                over[resource] = asked
        if over:
            told = {
                "name": name_of(quota),
                "used": usage(store, quota),
                "hard": hard,
            }
            _refuse(kind, obj, told, over)
