"""The Pod Security Standards: each control, at each place of a pod."""

import copy
from typing import Any, Final

import testtools

from tacker_cnf.drivers.kubernetes import pod_security
from tacker_cnf.drivers.kubernetes.pod_security import PodSecurityLevel

BASELINE: Final = PodSecurityLevel.BASELINE
RESTRICTED: Final = PodSecurityLevel.RESTRICTED
CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
#: fields of a pod that the baseline forbids: path -> values
OF_POD: Final[dict[str, tuple[Any, ...]]] = {
    "hostNetwork": (True, "true"),
    "hostPID": (True,),
    "hostIPC": (True,),
    "securityContext.windowsOptions.hostProcess": (True,),
    "securityContext.appArmorProfile.type": ("Unconfined",),
    "securityContext.seLinuxOptions.type": ("spc_t",),
    "securityContext.seLinuxOptions.user": ("root",),
    "securityContext.seLinuxOptions.role": ("sysadm_r",),
    "securityContext.seccompProfile.type": ("Unconfined",),
    "securityContext.sysctls": ([{"name": "kernel.msgmax", "value": "1"}],),
    "volumes": ([{"name": "a", "hostPath": {"path": "/"}}],),
}
#: the same of a container
OF_CONTAINER: Final[dict[str, tuple[Any, ...]]] = {
    "securityContext.privileged": (True,),
    "securityContext.windowsOptions.hostProcess": (True,),
    "securityContext.capabilities.add": (
        ["SYS_ADMIN"],
        ["CHOWN", "NET_RAW"],
        ["ALL"],
    ),
    "securityContext.procMount": ("Unmasked",),
    "securityContext.appArmorProfile.type": ("Unconfined",),
    "securityContext.seLinuxOptions.type": ("spc_t",),
    "securityContext.seLinuxOptions.user": ("root",),
    "securityContext.seLinuxOptions.role": ("sysadm_r",),
    "securityContext.seccompProfile.type": ("Unconfined",),
    "ports": ([{"containerPort": 80, "hostPort": 80}],),
    **{
        f"{hook}.{action}.host": ("169.254.169.254",)
        for hook in (
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "lifecycle.postStart",
            "lifecycle.preStop",
        )
        for action in ("httpGet", "tcpSocket")
    },
}
#: allowed by the baseline, but not by restricted: of a container
HARDENED: Final[dict[str, tuple[Any, ...]]] = {
    "securityContext.allowPrivilegeEscalation": (None, True),
    "securityContext.runAsNonRoot": (False,),
    "securityContext.runAsUser": (0,),
    "securityContext.capabilities.drop": (None, ["NET_RAW"]),
    "securityContext.capabilities.add": (["CHOWN"],),
}


def a_pod(**spec: Any) -> dict[str, Any]:
    """Return a pod that restricted allows."""
    container = {
        "name": "main",
        "image": "nginx",
        "ports": [{"containerPort": 80}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
        },
    }
    return {
        "metadata": {"annotations": {}},
        "spec": {
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
                "sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}],
            },
            "volumes": [
                {"name": "a", "emptyDir": {}},
                {"name": "b", "configMap": {"name": "b"}},
            ],
            **{
                group: [copy.deepcopy(container) for _ in range(2)]
                for group in CONTAINERS
            },
            **spec,
        },
    }


def put(body: dict[str, Any], path: str, value: Any) -> None:
    """Set a field of a pod or a container."""
    *outer, last = path.split(".")
    for name in outer:
        body = body.setdefault(name, {})
    body[last] = value


def found(pod: dict[str, Any], level: PodSecurityLevel) -> list[str]:
    return [v.path for v in pod_security.violations(pod, level)]


class TestPods(testtools.TestCase):
    def test_a_hardened_pod(self) -> None:
        for level in PodSecurityLevel:
            self.assertEqual([], found(a_pod(), level))

    def test_a_pod_with_defaults_only(self) -> None:
        pod = {"spec": {"containers": [{"name": "main", "image": "nginx"}]}}
        self.assertEqual([], found(pod, BASELINE))
        at = "spec.containers[0].securityContext"
        self.assertEqual(
            [
                f"{at}.runAsNonRoot",
                f"{at}.allowPrivilegeEscalation",
                f"{at}.seccompProfile.type",
                f"{at}.capabilities.drop",
            ],
            found(pod, RESTRICTED),
        )

    def test_each_field_of_a_pod(self) -> None:
        for path, values in OF_POD.items():
            for value in values:
                pod = a_pod()
                put(pod["spec"], path, value)
                self.check(pod, f"spec.{path}")

    def test_each_field_of_each_container(self) -> None:
        for group in CONTAINERS:
            for path, values in OF_CONTAINER.items():
                for value in values:
                    pod = a_pod()
                    put(pod["spec"][group][1], path, value)
                    self.check(pod, f"spec.{group}[1].{path}")

    def check(self, pod: dict[str, Any], path: str) -> None:
        """Check that only privileged allows a pod, because of a path."""
        self.assertEqual([], found(pod, PodSecurityLevel.PRIVILEGED))
        (violation,) = found(pod, BASELINE)
        self.assertTrue(violation.startswith(path), f"{violation}, not {path}")
        self.assertIn(violation, found(pod, RESTRICTED))

    def test_each_field_of_restricted(self) -> None:
        for group in CONTAINERS:
            for path, values in HARDENED.items():
                for value in values:
                    pod = a_pod()
                    put(pod["spec"][group][0], path, value)
                    self.assertEqual([], found(pod, BASELINE))
                    self.assertEqual(
                        [f"spec.{group}[0].{path}"], found(pod, RESTRICTED)
                    )

    def test_users_and_seccomp_of_the_pod(self) -> None:
        for field, value in (
            ("runAsUser", 0),
            ("runAsNonRoot", None),
            ("seccompProfile", None),
        ):
            pod = a_pod()
            pod["spec"]["securityContext"][field] = value
            self.assertEqual([], found(pod, BASELINE))
            self.assertTrue(
                all(field in path for path in found(pod, RESTRICTED))
            )
            self.assertTrue(found(pod, RESTRICTED))

    def test_volumes_of_restricted(self) -> None:
        pod = a_pod(volumes=[{"name": "a", "nfs": {"server": "x"}}])
        self.assertEqual([], found(pod, BASELINE))
        self.assertEqual(["spec.volumes[0].nfs"], found(pod, RESTRICTED))

    def test_windows(self) -> None:
        pod = a_pod(os={"name": "windows"})
        for group in CONTAINERS:
            for container in pod["spec"][group]:
                del container["securityContext"]
        self.assertEqual([], found(pod, RESTRICTED))

    def test_apparmor_annotations(self) -> None:
        key = f"{pod_security.APPARMOR_ANNOTATION}main"
        for value, is_allowed in (
            ("runtime/default", True),
            ("localhost/vendor", True),
            ("unconfined", False),
        ):
            pod = a_pod()
            pod["metadata"]["annotations"] = {key: value}
            expected = [] if is_allowed else [f"metadata.annotations[{key!r}]"]
            self.assertEqual(expected, found(pod, BASELINE))

    def test_malformed_pods(self) -> None:
        """The cluster rejects them; the check does not fail."""
        malformed: tuple[dict[str, Any], ...] = (
            {},
            {"spec": None},
            {"spec": []},
            {"metadata": 1, "spec": {"containers": {"a": 1}, "volumes": [1]}},
            {"spec": {"containers": [None, "x", {"ports": [1]}]}},
            {"spec": {"securityContext": "x", "volumes": "y"}},
        )
        for pod in malformed:
            list(pod_security.violations(pod, RESTRICTED))
