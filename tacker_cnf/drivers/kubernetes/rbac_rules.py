"""The RBAC objects of a package that would give a VNF rights beyond its own.

The API server lets a client grant only rights that it has itself; but the
credentials of a VIM often have all.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.vnf_kinds import RBAC

#: verbs that give more rights than a client has
ESCALATING_VERBS: Final = frozenset({"bind", "escalate", "impersonate"})
#: (API group, resource) -> verbs with which it gives the rights of others;
#: "*" means only the wildcard
SENSITIVE: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    # a Secret of ACCOUNT_TYPE has the token of a ServiceAccount
    ("", "secrets"): frozenset({"*", "create"}),
    ("", "serviceaccounts"): frozenset({"*"}),
    ("", "serviceaccounts/token"): frozenset({"*", "create"}),
    (RBAC, "roles"): frozenset({"*"}),
    (RBAC, "rolebindings"): frozenset({"*"}),
}
#: verbs that set the template of pods
_TEMPLATE: Final = frozenset({"*", "create", "update", "patch"})
#: (API group, resource) -> verbs that create pods, or their templates; an
#: update of a pod cannot change its security
PODS: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    ("", "pods"): frozenset({"*", "create"}),
    ("", "pods/ephemeralcontainers"): frozenset({"*", "update", "patch"}),
    ("", "replicationcontrollers"): _TEMPLATE,
    ("apps", "daemonsets"): _TEMPLATE,
    ("apps", "deployments"): _TEMPLATE,
    ("apps", "replicasets"): _TEMPLATE,
    ("apps", "statefulsets"): _TEMPLATE,
    ("batch", "cronjobs"): _TEMPLATE,
    ("batch", "jobs"): _TEMPLATE,
}
#: type of Secrets into which Kubernetes writes the token of a ServiceAccount
ACCOUNT_TYPE: Final = "kubernetes.io/service-account-token"
#: ClusterRoles that any RoleBinding may refer to
BINDABLE: Final = frozenset({"view"})


class _Rule(NamedTuple):
    """A rule of a Role."""

    path: str
    groups: frozenset[str]
    resources: frozenset[str]
    verbs: frozenset[str]

    def names(self, group: str, resource: str) -> bool:
        """Return whether the rule is for a resource or a subresource."""
        _, slash, subresource = resource.partition("/")
        names = {"*", "*/*", resource} | (
            {f"*/{subresource}"} if slash else set()
        )
        return bool(self.groups & {"*", group} and self.resources & names)


def find_problems(kind: str, body: Object) -> Iterator[str]:
    """Yield why a Role or a RoleBinding needs a policy that allows it."""
    if kind == "Role":
        for rule in _rules(body):
            yield from _rule_problems(rule)
    elif kind == "RoleBinding":
        ref = body.get("roleRef")
        ref = ref if isinstance(ref, Mapping) else {}
        if ref.get("kind") != "Role" and ref.get("name") not in BINDABLE:
            yield (
                f"roleRef: the {ref.get('kind')} {ref.get('name')} is not of "
                "the VNF; a RoleBinding may refer to a Role, or to the "
                f"ClusterRole {' or '.join(sorted(BINDABLE))}"
            )


def find_pod_rules(kind: str, body: Object) -> Iterator[str]:
    """Yield the rules of a Role by which a VNF creates pods that no policy
    has checked.
    """
    for rule in _rules(body) if kind == "Role" else ():
        yield from _given(rule, PODS, "creates pods of any pod security")


def _rules(body: Object) -> Iterator[_Rule]:
    rules = body.get("rules")
    for number, rule in enumerate(rules if isinstance(rules, list) else ()):
        if isinstance(rule, Mapping):
            yield _Rule(
                f"rules[{number}]",
                *(
                    _strings(rule.get(name))
                    for name in ("apiGroups", "resources", "verbs")
                ),
            )


def _rule_problems(rule: _Rule) -> Iterator[str]:
    for verb in sorted(ESCALATING_VERBS & rule.verbs):
        yield f"{rule.path}.verbs: {verb} gives rights of others"
    if rule.resources & {"*", "*/*"} and rule.groups & {"*", "", RBAC}:
        yield (
            f"{rule.path}.resources: * includes Secrets, or Roles and "
            "RoleBindings"
        )
        return
    yield from _given(rule, SENSITIVE, "gives rights of others")


def _given(
    rule: _Rule,
    resources: Mapping[tuple[str, str], frozenset[str]],
    effect: str,
) -> Iterator[str]:
    for (group, resource), sensitive in resources.items():
        found = sorted(sensitive & rule.verbs)
        if found and rule.names(group, resource):
            yield f"{rule.path}.verbs: {found[0]} of {resource} {effect}"


def _strings(value: Any) -> frozenset[str]:
    items = value if isinstance(value, list) else ()
    return frozenset(item for item in items if isinstance(item, str))
