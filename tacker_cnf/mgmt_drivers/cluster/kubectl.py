"""What takes ``kubectl`` on a master: credentials for the Kubernetes API, and
the answers of one API server and one HAProxy.
"""

import base64
import json
import shlex
import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.cluster import haproxy
from tacker_cnf.mgmt_drivers.remote import Host
from tacker_cnf.runtime.cancellation import Deadline

ADMIN_KUBECONFIG: Final = "/etc/kubernetes/admin.conf"
#: seconds between two looks, the last again and again
POLL_DELAYS_S: Final = (0.1, 0.2, 0.5, 1.0)
ACCOUNT: Final = "tacker-cnf"
NAMESPACE: Final = "kube-system"


class Kubectl:
    """Runs kubectl on one master, and asks the API server there.

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
        """Wait until an API server answers, seen from this master.

        :param name: that it has to show in its certificate
        :raises InfraError: it did not, in time
        """
        command = self._command(
            "get",
            "--raw=/readyz",
            f"--server={_url(address, port)}",
            f"--tls-server-name={name}",
            "--request-timeout=5s",
        )
        attempt = 0
        while True:
            result = self._host.run(
                command, as_root=True, timeout=self._timeout
            )
            if result.exit_code == 0:
                return
            if deadline.passed:
                raise errors.InfraError(
                    f"{self._host}: the API server at {_url(address, port)} does not "
                    f"answer: {result.stderr.decode(errors='replace').strip()}"
                )
            _sleep(attempt, deadline)
            attempt += 1

    def create_admin_token(self, deadline: Deadline) -> str:
        """Make an account that may do everything, and give its token, which
        does not expire.

        :raises InfraError: the cluster gave none in time
        """
        documents = "\n".join(map(json.dumps, _ACCOUNT_MANIFESTS))
        self._run("apply", "-f", "-", stdin=documents.encode())
        attempt = 0
        while True:
            output = self._run(
                "get", "secret", ACCOUNT, "-n", NAMESPACE, "-o", "json"
            )
            data = msgspec.json.decode(output).get("data") or {}
            if token := data.get("token"):
                return str(_decode(token))
            if deadline.passed:
                raise errors.InfraError(
                    f"Secret {NAMESPACE}/{ACCOUNT} got no token in time."
                )
            _sleep(attempt, deadline)
            attempt += 1

    def _run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        return self._host.check(
            self._command(*arguments),
            stdin=stdin,
            as_root=True,
            timeout=self._timeout,
        ).stdout

    def _command(self, *arguments: str) -> str:
        # where a flag comes twice, the last counts
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


def _sleep(attempt: int, deadline: Deadline) -> None:
    seconds = POLL_DELAYS_S[min(attempt, len(POLL_DELAYS_S) - 1)]
    time.sleep(min(seconds, deadline.remaining))


def _decode(text: str) -> str:
    return base64.b64decode(text).decode()


#: an account that may do everything, and its token
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
