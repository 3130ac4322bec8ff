"""The RBAC objects of a package that would give a VNF rights beyond its own.

The API server lets a client grant only rights that it has itself; but the
credentials of a VIM often have all.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.vnf_kinds import RBAC

#: verbs that give more rights than a client has
ESCALATING_VERBS: Final = frozenset({"bind", "escalate", "impersonate"})
#: (API group, resource) -> verbs with which it gives the rights of others;
#: "*" means only the wildcard
SENSITIVE: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    ("", "secrets"): frozenset({"*"}),
    ("", "serviceaccounts"): frozenset({"*"}),
    ("", "serviceaccounts/token"): frozenset({"*", "create"}),
    (RBAC, "roles"): frozenset({"*"}),
    (RBAC, "rolebindings"): frozenset({"*"}),
}
#: ClusterRoles that any RoleBinding may refer to
BINDABLE: Final = frozenset({"view"})


def find_problems(kind: str, body: Object) -> Iterator[str]:
    """Yield why a Role or a RoleBinding needs a policy that allows it."""
    if kind == "Role":
        rules = body.get("rules")
        for number, rule in enumerate(
            rules if isinstance(rules, list) else ()
        ):
            if isinstance(rule, Mapping):
                for problem in _rule_problems(rule):
                    yield f"rules[{number}].{problem}"
    elif kind == "RoleBinding":
        ref = body.get("roleRef")
        ref = ref if isinstance(ref, Mapping) else {}
        if ref.get("kind") != "Role" and ref.get("name") not in BINDABLE:
            yield (
                f"roleRef: the {ref.get('kind')} {ref.get('name')} is not of "
                "the VNF; a RoleBinding may refer to a Role, or to the "
                f"ClusterRole {' or '.join(sorted(BINDABLE))}"
            )


def _rule_problems(rule: Mapping[str, Any]) -> Iterator[str]:
    groups, resources, verbs = (
        _strings(rule.get(name))
        for name in ("apiGroups", "resources", "verbs")
    )
    for verb in sorted(ESCALATING_VERBS & verbs):
        yield f"verbs: {verb} gives rights of others"
    if resources & {"*", "*/*"} and groups & {"*", "", RBAC}:
        yield "resources: * includes Secrets, or Roles and RoleBindings"
        return
    for (group, resource), sensitive in SENSITIVE.items():
        found = sorted(sensitive & verbs)
        if found and resource in resources and groups & {"*", group}:
            yield f"verbs: {found[0]} of {resource} gives rights of others"


def _strings(value: Any) -> frozenset[str]:
    items = value if isinstance(value, list) else ()
    return frozenset(item for item in items if isinstance(item, str))
