"""Checks manifests by the policy of the cluster that they are for.

All but the scope of kinds that Kubernetes does not define is known from the
manifests; that of the others, from a CustomResourceDefinition among them, or
from the cluster.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tacker_cnf.drivers.kubernetes import (
    cluster_assignment,
    pod_security,
    rbac_rules,
    vnf_kinds,
)
from tacker_cnf.drivers.kubernetes.api_errors import NotFound
from tacker_cnf.drivers.kubernetes.client import Cluster
from tacker_cnf.drivers.kubernetes.cluster_assignment import ClusterAssignment
from tacker_cnf.drivers.kubernetes.cluster_policy import (
    SYSTEM_NAMESPACES,
    ClusterPolicy,
)
from tacker_cnf.drivers.kubernetes.manifests import (
    Manifest,
    Rendered,
    pod_templates,
)
from tacker_cnf.drivers.kubernetes.objects import Object
from tacker_cnf.drivers.kubernetes.pod_security import PodSecurityLevel
from tacker_cnf.drivers.kubernetes.vnf_kinds import RBAC
from tacker_cnf.lcm import vim_policy
from tacker_cnf.sol.common import VimConnectionInfo

#: kind that lets a VNF give any rights -> kinds that are then not checked
UNLIMITED: Final = {"Role": "ClusterRole", "RoleBinding": "ClusterRoleBinding"}
#: sources of a PersistentVolume that are a part of a node
NODE_VOLUMES: Final = ("hostPath", "local")
#: kind -> path of its pod, unless that is spec.template
TEMPLATE_PATHS: Final = {
    "CronJob": "spec.jobTemplate.spec.template.",
    "Pod": "",
    "PodTemplate": "template.",
}


def check(
    rendered: Rendered,
    assignment: ClusterAssignment,
    connections: Mapping[str, VimConnectionInfo],
    defaults: Mapping[str, Any],
) -> None:
    """Check the manifests of a VNF, each by the policy of its cluster.

    :param defaults: the options of [kubernetes]
    :raises VimPolicyViolation: a policy does not allow one
    :raises InvalidVimConnection: a policy is not valid
    """
    for key, part in cluster_assignment.split(rendered, assignment).items():
        policy = ClusterPolicy.of_connection(connections[key], defaults)
        _raise_problems(key, _find_problems(part, policy))


def check_scopes(
    key: str, cluster: Cluster, rendered: Rendered, policy: ClusterPolicy
) -> None:
    """Check the scope of the kinds that Kubernetes does not define, as the
    cluster serves them.

    :param key: of the cluster in vimConnectionInfo
    :raises VimPolicyViolation: the policy does not allow one of them
    :raises InfraError: the cluster cannot be read
    """
    problems = (
        f"{_place(manifest)}: {_beyond_namespace(manifest)}"
        for manifest in rendered.objects
        if _has_unknown_scope(manifest, policy)
        and _is_cluster_scoped(cluster, manifest)
    )
    _raise_problems(key, problems)


def _is_cluster_scoped(cluster: Cluster, manifest: Manifest) -> bool:
    try:
        kind = cluster.kind(manifest.api_version, manifest.kind)
    except NotFound:  # its definition, if any, is among the manifests
        return False
    return not kind.namespaced


def _raise_problems(key: str, problems: Iterator[str]) -> None:
    vim_policy.refuse_package(
        list(problems),
        f"the VIM vimConnectionInfo.{key}",
        "Change the package or the namespace, or have the policy changed: "
        "allowed_namespaces, allowed_kinds or pod_security in extra.policy of "
        "the registered VIM; if it does not set them, in [kubernetes].",
    )


def _find_problems(rendered: Rendered, policy: ClusterPolicy) -> Iterator[str]:
    if not policy.allows_namespace(rendered.namespace):
        allowed = ", ".join(policy.allowed_namespaces) or "none"
        if rendered.namespace in SYSTEM_NAMESPACES:
            allowed += "; a namespace of the system has to be named itself"
        yield f"namespace {rendered.namespace}: VNFs may be in {allowed}"
    scopes = dict(filter(None, map(_defined_scope, rendered.objects)))
    for manifest in rendered.objects:
        for problem in _problems_of(manifest, policy, scopes):
            yield f"{_place(manifest)}: {problem}"


def _place(manifest: Manifest) -> str:
    return f"{manifest.file}: {manifest}"


def _problems_of(
    manifest: Manifest,
    policy: ClusterPolicy,
    scopes: Mapping[tuple[str, str], Any],
) -> Iterator[str]:
    group, kind, _ = manifest.key
    is_allowed = policy.allows_kind(group, kind)
    if not is_allowed and not vnf_kinds.is_vnf_kind(group, kind):
        if vnf_kinds.is_builtin(group):
            yield f"packages may not create a {_kind_name(manifest)}"
        elif scopes.get((group, kind), "Namespaced") != "Namespaced":
            yield _beyond_namespace(manifest)
    if group == RBAC and not policy.allows_kind(RBAC, UNLIMITED.get(kind, "")):
        yield from rbac_rules.find_problems(kind, manifest.body)
        if policy.pod_security is not PodSecurityLevel.PRIVILEGED:
            yield from rbac_rules.find_pod_rules(kind, manifest.body)
    if not group:
        yield from _core_problems(manifest, policy)
    if policy.pod_security is not PodSecurityLevel.PRIVILEGED:
        yield from _node_volumes(manifest)
        yield from _pod_problems(manifest, policy.pod_security)


def _core_problems(manifest: Manifest, policy: ClusterPolicy) -> Iterator[str]:
    """Yield the problems of a Namespace, a Secret or a Service."""
    _, kind, name = manifest.key
    body = manifest.body
    if kind == "Namespace" and not policy.allows_namespace(name):
        yield "VNFs may not be in this namespace"
    if (
        kind == "Secret"
        and body.get("type") == rbac_rules.ACCOUNT_TYPE
        and not policy.allows_kind(RBAC, UNLIMITED["Role"])
    ):
        yield "type: the token of a ServiceAccount gives rights of others"
    spec = body.get("spec")
    if (
        kind == "Service"
        and isinstance(spec, dict)
        and spec.get("externalIPs")
        and not policy.allows_kind("", "Endpoints")
    ):
        yield (
            "spec.externalIPs: it takes the traffic to addresses of others; "
            "it needs Endpoints in allowed_kinds"
        )


def _kind_name(manifest: Manifest) -> str:
    group, kind, _ = manifest.key
    return f"{kind}.{group}" if group else kind


def _beyond_namespace(manifest: Manifest) -> str:
    return (
        f"a {_kind_name(manifest)} has no namespace, so packages may not "
        "create it"
    )


def _has_unknown_scope(manifest: Manifest, policy: ClusterPolicy) -> bool:
    group, kind, _ = manifest.key
    return not (vnf_kinds.is_builtin(group) or policy.allows_kind(group, kind))


def _defined_scope(manifest: Manifest) -> tuple[tuple[str, str], Any] | None:
    """Return ((group, kind), scope) of a CustomResourceDefinition."""
    spec = manifest.body.get("spec")
    if manifest.kind != "CustomResourceDefinition" or not isinstance(
        spec, dict
    ):
        return None
    names = spec.get("names")
    kind = names.get("kind") if isinstance(names, dict) else None
    return (str(spec.get("group")), str(kind)), spec.get("scope")


def _node_volumes(manifest: Manifest) -> Iterator[str]:
    spec = manifest.body.get("spec")
    if manifest.kind == "PersistentVolume" and isinstance(spec, dict):
        for source in NODE_VOLUMES:
            if spec.get(source) is not None:
                yield f"spec.{source}: it is a part of a node"


def _pod_problems(
    manifest: Manifest, level: PodSecurityLevel
) -> Iterator[str]:
    prefix = TEMPLATE_PATHS.get(manifest.kind, "spec.template.")
    for pod in _pods(manifest):
        for violation in pod_security.violations(pod, level):
            yield f"{prefix}{violation} (pod security {level})"


def _pods(manifest: Manifest) -> Iterator[Object]:
    """Yield the pod, or the templates of pods, of an object."""
    body = manifest.body
    if manifest.kind == "Pod":
        yield body
    elif manifest.kind == "PodTemplate":
        template = body.get("template")
        if isinstance(template, dict):
            yield template
    else:
        yield from pod_templates(body)
