"""Run ``kubectl`` on a master: create credentials for the Kubernetes API, and
probe one API server or one HAProxy.
"""

import base64
import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.cluster import haproxy
from tacker_cnf.mgmt_drivers.remote import Host
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.runtime.retry_policy import RetryPolicy

ADMIN_KUBECONFIG: Final = "/etc/kubernetes/admin.conf"
#: seconds between two polls; the last one is repeated
POLL_DELAYS_S: Final = (0.1, 0.2, 0.5, 1.0)
ACCOUNT: Final = "tacker-cnf"
NAMESPACE: Final = "kube-system"


class Kubectl:
    """Runs kubectl on one master, with the API server there.

    :param address: of this master
    :param timeout: seconds for a command that waits for nothing
    """

    def __init__(self, host: Host, address: str, timeout: float) -> None:
        self._host = host
        self._server = _url(address, haproxy.API_PORT)
        self._timeout = timeout

    def wait_api(
        self, address: str, port: int, name: str, deadline: Deadline
    ) -> None:
        """Wait until an API server is ready, as seen from this master.

        :param name: that its certificate has to contain
        :raises InfraError: the API server was not ready in time
        """
        command = self._command(
            "get",
            "--raw=/readyz",
            f"--server={_url(address, port)}",
            f"--tls-server-name={name}",
            "--request-timeout=5s",
        )

        def check() -> None:
            result = self._host.run(
                command, as_root=True, timeout=self._timeout
            )
            if result.exit_code:
                raise errors.NotReady(
                    f"{self._host}: the API server at {_url(address, port)} is "
                    f"not ready: {result.stderr.decode(errors='replace').strip()}"
                )

        RetryPolicy(deadline, delays=POLL_DELAYS_S).call(
            check, errors.NotReady
        )

    def create_admin_token(self, deadline: Deadline) -> str:
        """Create a ServiceAccount with cluster-admin, and return its token,
        which does not expire.

        :raises InfraError: the cluster created no token in time
        """
        documents = "\n".join(map(json.dumps, _ACCOUNT_MANIFESTS))
        self._run("apply", "-f", "-", stdin=documents.encode())
        policy = RetryPolicy(deadline, delays=POLL_DELAYS_S)
        return policy.call(self._read_token, errors.NotReady)

    def _read_token(self) -> str:
        output = self._run(
            "get", "secret", ACCOUNT, "-n", NAMESPACE, "-o", "json"
        )
        data = msgspec.json.decode(output).get("data") or {}
        if token := data.get("token"):
            return _decode(token)
        raise errors.NotReady(
            f"Secret {NAMESPACE}/{ACCOUNT} has no token in time; does "
            "kube-controller-manager run?"
        )

    def _run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        return self._host.check(
            self._command(*arguments),
            stdin=stdin,
            as_root=True,
            timeout=self._timeout,
        ).stdout

    def _command(self, *arguments: str) -> str:
        # of a flag that is given twice, kubectl uses the last value
        return shlex.join(
            (
                "kubectl",
                f"--kubeconfig={ADMIN_KUBECONFIG}",
                f"--server={self._server}",
                *arguments,
            )
        )


def _url(address: str, port: int) -> str:
    return f"https://{haproxy.url_host(address)}:{port}"


def _decode(text: str) -> str:
    return base64.b64decode(text).decode()


#: a ServiceAccount with cluster-admin, and the Secret of its token
_ACCOUNT_MANIFESTS: Final[tuple[Mapping[str, Any], ...]] = (
    {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": ACCOUNT, "namespace": NAMESPACE},
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": ACCOUNT},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": ACCOUNT,
                "namespace": NAMESPACE,
            }
        ],
    },
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": ACCOUNT,
            "namespace": NAMESPACE,
            "annotations": {"kubernetes.io/service-account.name": ACCOUNT},
        },
        "type": "kubernetes.io/service-account-token",
    },
)
