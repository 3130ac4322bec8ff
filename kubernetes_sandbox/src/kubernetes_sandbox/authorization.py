"""RBAC authorization by the stored roles and bindings."""

from collections.abc import Iterator
from dataclasses import dataclass

from kubernetes_sandbox.api_request import User
from kubernetes_sandbox.authentication import MASTERS
from kubernetes_sandbox.errors import ApiError
from kubernetes_sandbox.objects import Obj
from kubernetes_sandbox.store import Store

_GROUP = "rbac.authorization.k8s.io"
#: Paths that any caller can read.
_PUBLIC_PATHS = ("/version", "/healthz", "/readyz", "/livez")
#: Paths that any authenticated user can read.
_DISCOVERY_PATHS = ("/api", "/apis", "/openapi")
#: Reviews that any authenticated user can create.
_SELF_REVIEWS = frozenset(
    {
        "selfsubjectaccessreviews",
        "selfsubjectrulesreviews",
        "selfsubjectreviews",
    }
)


@dataclass(frozen=True, slots=True)
class AuthorizationAttributes:
    """The attributes of a request that RBAC decides on."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""


class Authorizer:
    """Authorizes requests by the roles that are stored now."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def is_allowed(self, user: User, action: AuthorizationAttributes) -> bool:
        """Return whether RBAC allows a request for a resource."""
        if MASTERS in user.groups:
            return True
        if action.verb == "create" and action.resource in _SELF_REVIEWS:
            return user.name != "system:anonymous"
        rules = self.rules_of(user, action.namespace)
        return any(_matches(rule, action) for rule in rules)

    def is_path_allowed(self, user: User, path: str) -> bool:
        """Return whether RBAC allows to read a non-resource path."""
        if MASTERS in user.groups or path.startswith(_PUBLIC_PATHS):
            return True
        known = user.name != "system:anonymous"
        if known and path.startswith(_DISCOVERY_PATHS):
            return True
        rules = self.rules_of(user, "")
        return any("*" in r.get("nonResourceURLs", ()) for r in rules)

    def rules_of(self, user: User, namespace: str) -> Iterator[Obj]:
        """Iterate over the rules that apply to a user in a namespace."""
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


def _matches(rule: Obj, action: AuthorizationAttributes) -> bool:
    names = rule.get("resourceNames")
    return (
        _has(rule.get("verbs"), action.verb)
        and _has(rule.get("apiGroups"), action.group)
        and _has(rule.get("resources"), action.resource)
        and (not names or action.name in names)
    )


def _has(allowed: list[str] | None, wanted: str) -> bool:
    return "*" in (allowed or ()) or wanted in (allowed or ())


def forbidden_error(user: User, action: AuthorizationAttributes) -> ApiError:
    """Build the 403 of a resource request."""
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


def path_forbidden_error(user: User, verb: str, path: str) -> ApiError:
    """Build the 403 of a non-resource path."""
    return ApiError(
        403,
        "Forbidden",
        f'forbidden: User "{user.name}" cannot {verb} path "{path}"',
        {},
    )
