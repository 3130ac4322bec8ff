"""Who may do what: RBAC over the stored roles and bindings."""

from collections.abc import Iterator
from dataclasses import dataclass

from kubernetes_sandbox.calls import User
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.identities import MASTERS
from kubernetes_sandbox.objects import Obj
from kubernetes_sandbox.store import Store

_GROUP = "rbac.authorization.k8s.io"
#: Paths that tell everybody what a cluster is.
_PUBLIC = ("/version", "/healthz", "/readyz", "/livez")
#: Paths that tell any known user what a cluster serves.
_DISCOVERY = ("/api", "/apis", "/openapi")
#: What any known user may ask about itself.
_ABOUT_SELF = frozenset(
    {
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "selfsubjectreviews",
    }
)


@dataclass(frozen=True, slots=True)
class Action:
    """What somebody wants to do."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


class Authorizer:
    """Answers from the roles that are stored now."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def allows(self, user: User, action: Action) -> bool:
        """Tell whether a user may do something to a resource."""
        if MASTERS in user.groups:
            return True
        if action.verb == "create" and action.resource in _ABOUT_SELF:
            return user.name != "system:anonymous"
        rules = self.rules_of(user, action.namespace)
        return any(_covers(rule, action) for rule in rules)

    def allows_path(self, user: User, path: str) -> bool:
        """Tell whether a user may read a path that is no resource."""
        if MASTERS in user.groups or path.startswith(_PUBLIC):
            return True
        known = user.name != "system:anonymous"
        if known and path.startswith(_DISCOVERY):
            return True
        rules = self.rules_of(user, "")
        return any("*" in r.get("nonResourceURLs", ()) for r in rules)

    def rules_of(self, user: User, namespace: str) -> Iterator[Obj]:
        """Go through the rules that hold for a user in a namespace."""
        for binding in self._store.objects(f"clusterrolebindings.{_GROUP}"):
            if _binds(binding, user, ""):
                yield from self._rules(binding, "")
        if not namespace:
            return
        for binding in self._store.objects(
            f"rolebindings.{_GROUP}", namespace
        ):
            if _binds(binding, user, namespace):
                yield from self._rules(binding, namespace)

    def _rules(self, binding: Obj, namespace: str) -> list[Obj]:
        ref = binding["roleRef"]
        key = f"{ref['kind'].lower()}s.{_GROUP}"
        space = namespace if ref["kind"] == "Role" else ""
        role = self._store.get(key, space, ref["name"])
        return list((role or {}).get("rules") or ())


def _binds(binding: Obj, user: User, namespace: str) -> bool:
    for subject in binding.get("subjects") or ():
        name = subject["name"]
        if subject["kind"] == "User" and name == user.name:
            return True
        if subject["kind"] == "Group" and name in user.groups:
            return True
        if subject["kind"] == "ServiceAccount":
            space = subject.get("namespace") or namespace
            if user.name == f"system:serviceaccount:{space}:{name}":
                return True
    return False


def _covers(rule: Obj, action: Action) -> bool:
    names = rule.get("resourceNames")
    return (
        _has(rule.get("verbs"), action.verb)
        and _has(rule.get("apiGroups"), action.group)
        and _has(rule.get("resources"), action.resource)
        and (not names or action.name in names)
    )


def _has(allowed: list[str] | None, wanted: str) -> bool:
    return "*" in (allowed or ()) or wanted in (allowed or ())


def refusal(user: User, action: Action) -> ApiError:
    """Build the 403 that tells what is not allowed."""
    plural, _, sub = action.resource.partition("/")
    qualified = f"{plural}.{action.group}" if action.group else plural
    where = (
        f'in the namespace "{action.namespace}"'
        if action.namespace
        else "at the cluster scope"
    )
    shown = f' "{action.name}"' if action.name else ""
    del sub
    details: Obj = {}
    if action.name:
        details["name"] = action.name
    if action.group:
        details["group"] = action.group
    details["kind"] = plural
    return ApiError(
        403,
        "Forbidden",
        f'{qualified}{shown} is forbidden: User "{user.name}" cannot'
        f' {action.verb} resource "{action.resource}" in API group'
        f' "{action.group}" {where}',
        details,
    )


def path_refusal(user: User, verb: str, path: str) -> ApiError:
    """Build the 403 for a path that is no resource."""
    return ApiError(
        403,
        "Forbidden",
        f'forbidden: User "{user.name}" cannot {verb} path "{path}"',
        {},
    )
