"""The policy of a cluster: what VNF packages may create on it."""

import fnmatch
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec

from tacker_cnf.drivers.kubernetes import vnf_kinds
from tacker_cnf.drivers.kubernetes.pod_security import PodSecurityLevel
from tacker_cnf.lcm import vim_policy
from tacker_cnf.sol import suggestion
from tacker_cnf.sol.common import VimConnectionInfo

#: namespaces that no pattern with a wildcard matches
SYSTEM_NAMESPACES: Final = frozenset(
    {"kube-system", "kube-public", "kube-node-lease"}
)


#: names or patterns with *
NamespacePattern = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9*-]+$")]
KindPattern = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9.*-]+$")]


class ClusterPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What VNF packages may create on a cluster; [kubernetes] has the default
    of each attribute.
    """

    #: patterns of the namespaces of VNFs
    allowed_namespaces: tuple[NamespacePattern, ...] = ("*",)
    #: patterns of further kinds: KIND for one of Kubernetes, KIND.GROUP
    allowed_kinds: tuple[KindPattern, ...] = ()
    pod_security: PodSecurityLevel = PodSecurityLevel.BASELINE

    def __post_init__(self) -> None:
        for pattern in self.allowed_kinds:
            _check_kind(pattern)

    @classmethod
    def of_connection(
        cls, info: VimConnectionInfo, defaults: Mapping[str, Any]
    ) -> "ClusterPolicy":
        """Return the policy of the VIM of a connection.

        :param defaults: the options of [kubernetes]
        :raises InvalidVimConnection: it is not valid
        """
        return vim_policy.read(info.extra, cls, defaults)

    def allows_namespace(self, namespace: str) -> bool:
        """Return whether VNFs may be in a namespace."""
        if namespace in SYSTEM_NAMESPACES:
            return namespace in self.allowed_namespaces
        return _matches(namespace, self.allowed_namespaces)

    def allows_kind(self, group: str, kind: str) -> bool:
        """Return whether a kind is one of the further kinds."""
        names = [f"{kind}.{group}" if group else kind]
        if group and vnf_kinds.is_builtin(group):
            names.append(kind)
        return any(_matches(name, self.allowed_kinds) for name in names)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _check_kind(pattern: str) -> None:
    """Check that a name without a group is that of a kind of Kubernetes.

    :raises ValueError: there is no such kind
    """
    if {".", "*"} & {*pattern} or pattern in vnf_kinds.KIND_NAMES:
        return
    closest_name = suggestion.closest_name(
        pattern, sorted(vnf_kinds.KIND_NAMES)
    )
    hint = f' Did you mean "{closest_name}"?' if closest_name else ""
    raise ValueError(
        f'allowed_kinds: Kubernetes has no kind "{pattern}"; name others as '
        f"KIND.GROUP.{hint}"
    )
