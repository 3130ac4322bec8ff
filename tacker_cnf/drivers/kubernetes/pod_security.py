"""The Pod Security Standards of Kubernetes 1.35: baseline and restricted."""

import enum
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from tacker_cnf.drivers.kubernetes.objects import Object


class PodSecurityLevel(enum.StrEnum):
    """What pods may do on their node."""

    PRIVILEGED = "privileged"
    BASELINE = "baseline"
    RESTRICTED = "restricted"


class Violation(NamedTuple):
    """A value of a pod that a level does not allow."""

    #: such as spec.containers[0].securityContext.privileged
    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class Control(NamedTuple):
    """The values that fields may have; None: the field is not set."""

    #: such as spec.volumes[*].hostPath
    paths: tuple[str, ...]
    allowed: tuple[Any, ...]


CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


def _containers(*paths: str) -> tuple[str, ...]:
    return tuple(f"spec.{c}[*].{path}" for path in paths for c in CONTAINERS)


def _pod_and_containers(path: str) -> tuple[str, ...]:
    return (f"spec.{path}", *_containers(path))


_ROOT: Final = "0 (root) is not allowed"
_OFF: Final = (None, False)
_UNSET: Final = (None, "")
_PROFILES: Final = (None, "RuntimeDefault", "Localhost")
_HOSTS: Final = tuple(
    f"{hook}.{action}.host"
    for hook in (
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle.postStart",
        "lifecycle.preStop",
    )
    for action in ("httpGet", "tcpSocket")
)
#: capabilities that containers of the baseline may add
CAPABILITIES: Final = (
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
)
BASELINE: Final = (
    Control(("spec.hostNetwork", "spec.hostPID", "spec.hostIPC"), _OFF),
    Control(
        _pod_and_containers("securityContext.windowsOptions.hostProcess"), _OFF
    ),
    Control(_containers("securityContext.privileged"), _OFF),
    Control(_containers("securityContext.capabilities.add[*]"), CAPABILITIES),
    Control(("spec.volumes[*].hostPath",), (None,)),
    Control(_containers("ports[*].hostPort"), (None, 0)),
    Control(_containers(*_HOSTS), _UNSET),
    Control(
        _pod_and_containers("securityContext.appArmorProfile.type"), _PROFILES
    ),
    Control(
        _pod_and_containers("securityContext.seLinuxOptions.type"),
        (
            *_UNSET,
            "container_t",
            "container_init_t",
            "container_kvm_t",
            "container_engine_t",
        ),
    ),
    Control(
        _pod_and_containers("securityContext.seLinuxOptions.user"), _UNSET
    ),
    Control(
        _pod_and_containers("securityContext.seLinuxOptions.role"), _UNSET
    ),
    Control(_containers("securityContext.procMount"), (*_UNSET, "Default")),
    Control(
        _pod_and_containers("securityContext.seccompProfile.type"), _PROFILES
    ),
    Control(
        ("spec.securityContext.sysctls[*].name",),
        (
            "kernel.shm_rmid_forced",
            "net.ipv4.ip_local_port_range",
            "net.ipv4.ip_local_reserved_ports",
            "net.ipv4.ip_unprivileged_port_start",
            "net.ipv4.ping_group_range",
            "net.ipv4.tcp_fin_timeout",
            "net.ipv4.tcp_keepalive_intvl",
            "net.ipv4.tcp_keepalive_probes",
            "net.ipv4.tcp_keepalive_time",
            "net.ipv4.tcp_syncookies",
        ),
    ),
)
APPARMOR_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"
#: types of volumes of the level restricted
VOLUME_TYPES: Final = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)


def violations(pod: Object, level: PodSecurityLevel) -> Iterator[Violation]:
    """Yield what a level does not allow in a pod or a template of pods."""
    if level is PodSecurityLevel.PRIVILEGED:
        return
    for paths, allowed in BASELINE:
        for path in paths:
            for where, value in _values(pod, path):
                if value not in allowed:
                    yield Violation(where, _describe(value, allowed))
    yield from _apparmor_annotations(pod)
    if level is PodSecurityLevel.RESTRICTED:
        yield from _restricted(pod)


def _values(body: Any, path: str, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields at a path, and their values; None: not set."""
    if not path:
        yield at, body
        return
    head, _, rest = path.partition(".")
    name = head.removesuffix("[*]")
    value = body.get(name) if isinstance(body, Mapping) else None
    where = f"{at}.{name}" if at else name
    if name == head:
        yield from _values(value, rest, where)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _values(item, rest, f"{where}[{number}]")


def _value(body: Any, path: str) -> Any:
    return next(_values(body, path))[1]


def _describe(value: Any, allowed: tuple[Any, ...]) -> str:
    options = ["unset" if one is None else _text(one) for one in allowed]
    return (
        f"{_text(value):.80} is not allowed, only "
        f"{' or '.join(filter(None, options))}"
    )


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _apparmor_annotations(pod: Object) -> Iterator[Violation]:
    annotations = _value(pod, "metadata.annotations")
    for name in annotations if isinstance(annotations, Mapping) else ():
        value = str(annotations[name] or "")
        if name.startswith(APPARMOR_ANNOTATION) and not (
            value in {"", "runtime/default"} or value.startswith("localhost/")
        ):
            yield Violation(
                f"metadata.annotations[{name!r}]",
                f"{value!r} is not allowed, only runtime/default or "
                "localhost/PROFILE",
            )


def _restricted(pod: Object) -> Iterator[Violation]:
    """Yield what the level restricted does not allow beyond the baseline."""
    yield from _volume_types(pod)
    if _value(pod, "spec.securityContext.runAsUser") == 0:
        yield Violation("spec.securityContext.runAsUser", _ROOT)
    checks = [_restricted_user]
    if _value(pod, "spec.os.name") != "windows":
        checks.append(_restricted_linux)
    for group in CONTAINERS:
        for where, container in _values(pod, f"spec.{group}[*]"):
            for check in checks:
                for path, problem in check(pod, container):
                    yield Violation(f"{where}.securityContext.{path}", problem)


def _volume_types(pod: Object) -> Iterator[Violation]:
    for where, volume in _values(pod, "spec.volumes[*]"):
        fields = volume if isinstance(volume, Mapping) else {}
        used = {name for name in fields if fields[name] is not None}
        for kind in sorted(used - VOLUME_TYPES - {"name"}):
            yield Violation(
                f"{where}.{kind}",
                "this type of volume is not allowed, only "
                f"{', '.join(sorted(VOLUME_TYPES))}",
            )


def _effective(pod: Object, container: Any, field: str) -> Any:
    """Return a field of a container, or else that of its pod."""
    own = _value(container, f"securityContext.{field}")
    if own is not None:
        return own
    return _value(pod, f"spec.securityContext.{field}")


def _restricted_user(pod: Object, container: Any) -> Iterator[Violation]:
    if _effective(pod, container, "runAsNonRoot") is not True:
        yield Violation("runAsNonRoot", "it has to be true")
    if _value(container, "securityContext.runAsUser") == 0:
        yield Violation("runAsUser", _ROOT)


def _restricted_linux(pod: Object, container: Any) -> Iterator[Violation]:
    escalation = "allowPrivilegeEscalation"
    if _value(container, f"securityContext.{escalation}") is not False:
        yield Violation(escalation, "it has to be false")
    if _effective(pod, container, "seccompProfile.type") is None:
        yield Violation(
            "seccompProfile.type", "it has to be RuntimeDefault or Localhost"
        )
    dropped = _value(container, "securityContext.capabilities.drop")
    if not isinstance(dropped, list) or "ALL" not in dropped:
        yield Violation("capabilities.drop", "it has to contain ALL")
    added = _value(container, "securityContext.capabilities.add")
    for name in added if isinstance(added, list) else ():
        if name != "NET_BIND_SERVICE":
            yield Violation(
                "capabilities.add",
                f"{name!r} is not allowed, only NET_BIND_SERVICE",
            )
