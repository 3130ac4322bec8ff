"""The Kubernetes of the cluster, as ``kubectl`` on one of its masters tells
it.
"""

import base64
import json
import shlex
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.halting import Deadline
from tacker_cnf.mgmt_drivers.cluster import haproxy
from tacker_cnf.mgmt_drivers.remote import Host

ADMIN: Final = "/etc/kubernetes/admin.conf"
#: seconds between two looks, the last again and again
PAUSES: Final = (0.1, 0.2, 0.5, 1.0)
#: seconds that are granted to the way to the node, beyond a command's own
SLACK: Final = 10.0
#: seconds after which nobody waits for a pod whose node does not end it
LOST: Final = 20
#: of a node and of a pod, what is looked at, a line each: all of them would
#: be more than is read of a command
NODES: Final = (
    '{range .items[*]}{.metadata.name}{"\\t"}'
    '{.status.addresses[?(@.type=="InternalIP")].address}{"\\t"}'
    '{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}'
)
PODS: Final = (
    '{range .items[*]}{.metadata.namespace}{"\\t"}{.metadata.name}{"\\t"}'
    '{.metadata.ownerReferences[?(@.controller==true)].kind}{"\\t"}'
    '{.metadata.ownerReferences[?(@.controller==true)].uid}{"\\t"}'
    '{.spec.nodeName}{"\\t"}'
    '{.status.conditions[?(@.type=="Ready")].status}{"\\t"}'
    '{.metadata.deletionTimestamp}{"\\n"}{end}'
)
#: kinds whose pods belong to their node
STAYING: Final = frozenset({"DaemonSet", "Node"})

ACCOUNT: Final = "tacker-cnf"
NAMESPACE: Final = "kube-system"


class NodeState(msgspec.Struct, frozen=True, kw_only=True):
    """A Node object."""

    name: str
    address: str
    ready: bool


class Pod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that a controller has made, and makes anew."""

    namespace: str
    name: str
    #: uid of the controller
    owner: str
    #: empty: it is on none yet
    node: str
    ready: bool
    #: whether it was told to go
    goes: bool


class Kubectl:
    """Runs kubectl on one master, and asks the API server there.

    :param address: of this master
    :param timeout: seconds for a command that waits for nothing
    """

    def __init__(self, host: Host, address: str, timeout: float) -> None:
        self._host = host
        self._server = _url(address, haproxy.API_PORT)
        self._timeout = timeout

    def nodes(self) -> dict[str, NodeState]:
        """List the nodes: address -> state."""
        found = (_node(line) for line in self._listed(NODES, "nodes"))
        return {node.address: node for nodes in found for node in nodes}

    def node(self, address: str) -> NodeState | None:
        """Find the node of an address; None: there is none."""
        return self.nodes().get(address)

    def cordon(self, name: str) -> None:
        """Let no more pods come to a node."""
        self._run("cordon", name)

    def drain(self, name: str, deadline: Deadline, *, force: bool) -> None:
        """Have the pods of a node go; those of DaemonSets stay.

        :param force: whether they go though a budget forbids it
        :raises InfraError: they did not go in time
        """
        seconds = _whole(deadline)
        self._run(
            "drain",
            name,
            "--ignore-daemonsets",
            "--delete-emptydir-data",
            "--force",
            f"--timeout={seconds}s",
            f"--skip-wait-for-delete-timeout={LOST}",
            *(["--disable-eviction"] if force else []),
            timeout=seconds + SLACK,
        )

    def running_with_those_on(self, names: Collection[str]) -> dict[str, int]:
        """Tell of each controller that has pods on some nodes how many of its
        pods run, wherever: uid -> number.
        """
        pods = self._pods()
        owners = {pod.owner for pod in pods if pod.node in names}
        return dict(
            Counter(p.owner for p in pods if p.owner in owners and p.ready)
        )

    def await_elsewhere(
        self,
        wanted: Mapping[str, int],
        names: Collection[str],
        deadline: Deadline,
    ) -> None:
        """Wait until as many pods of each controller run on other nodes.

        A pod that was told to go and does not, for its node is lost, goes
        with its Node: its controller is not waited for.

        :param wanted: uid of a controller -> number; one that has gone, or has
            fewer pods by now, is waited for no more
        :raises InfraError: they did not, in time
        """
        waited = 0
        while True:
            pods = [pod for pod in self._pods() if pod.owner in wanted]
            there = Counter(pod.owner for pod in pods)
            run = Counter(
                pod.owner
                for pod in pods
                if pod.ready and pod.node not in names
            )
            held = {p.owner for p in pods if p.goes and p.node in names}
            late = [
                owner
                for owner in wanted.keys() - held
                if run[owner] < min(wanted[owner], there[owner])
            ]
            if not late:
                return
            if deadline.passed:
                _complain(pods, late)
            _pause(waited, deadline)
            waited += 1

    def delete_node(self, name: str) -> None:
        """Take a node out; if it has gone, that is well."""
        self._run("delete", "node", name, "--ignore-not-found", "--wait=false")

    def await_ready(
        self, addresses: Collection[str], deadline: Deadline
    ) -> None:
        """Wait until there is a node of each address, and it is ready.

        :raises InfraError: one was not, in time
        """
        waited = 0
        while True:
            nodes = self.nodes()
            missing = [a for a in addresses if a not in nodes]
            late = [
                nodes[a].name
                for a in addresses
                if a in nodes and not nodes[a].ready
            ]
            if not (missing or late):
                return
            if deadline.passed:
                told = [f"there is none of {a}" for a in missing]
                told += [f"{name} is not ready" for name in late]
                raise errors.InfraError(
                    f"Not all nodes were ready in time: {', '.join(told)}."
                )
            if late and not missing:
                self._await_condition(late, deadline)
            else:
                _pause(waited, deadline)
            waited += 1

    def await_api(
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
        waited = 0
        while True:
            answer = self._host.run(
                command, as_root=True, timeout=self._timeout
            )
            if answer.exit_code == 0:
                return
            if deadline.passed:
                raise errors.InfraError(
                    f"{self._host}: the API server at {_url(address, port)} does not "
                    f"answer: {answer.stderr.decode(errors='replace').strip()}"
                )
            _pause(waited, deadline)
            waited += 1

    def admin_token(self, deadline: Deadline) -> str:
        """Make an account that may do everything, and give its token, which
        does not expire.

        :raises InfraError: the cluster gave none in time
        """
        documents = "\n".join(map(json.dumps, _ACCOUNT))
        self._run("apply", "-f", "-", stdin=documents.encode())
        waited = 0
        while True:
            told = self._run(
                "get", "secret", ACCOUNT, "-n", NAMESPACE, "-o", "json"
            )
            data = msgspec.json.decode(told).get("data") or {}
            if token := data.get("token"):
                return str(_decoded(token))
            if deadline.passed:
                raise errors.InfraError(
                    f"Secret {NAMESPACE}/{ACCOUNT} got no token in time."
                )
            _pause(waited, deadline)
            waited += 1

    def _await_condition(
        self, names: Iterable[str], deadline: Deadline
    ) -> None:
        seconds = _whole(deadline)
        self._host.run(
            self._command(
                "wait",
                "--for=condition=Ready",
                f"--timeout={seconds}s",
                *(f"node/{name}" for name in names),
            ),
            as_root=True,
            timeout=seconds + SLACK,
        )

    def _pods(self) -> list[Pod]:
        found = (_pod(line) for line in self._listed(PODS, "pods", "-A"))
        return [pod for pod in found if pod is not None]

    def _listed(self, attributes: str, *what: str) -> list[list[str]]:
        told = self._run("get", *what, "-o", f"jsonpath={attributes}")
        return [line.split("\t") for line in told.decode().splitlines()]

    def _run(
        self, *words: str, stdin: bytes = b"", timeout: float | None = None
    ) -> bytes:
        return self._host.check(
            self._command(*words),
            stdin=stdin,
            as_root=True,
            timeout=timeout or self._timeout,
        ).stdout

    def _command(self, *words: str) -> str:
        # where a flag comes twice, the last counts
        return shlex.join(
            (
                "kubectl",
                f"--kubeconfig={ADMIN}",
                f"--server={self._server}",
                *words,
            )
        )


def _url(address: str, port: int) -> str:
    return f"https://{haproxy.bracketed(address)}:{port}"


def _whole(deadline: Deadline) -> int:
    """Tell for how many seconds kubectl may wait, to have a word left."""
    return max(int(deadline.remaining - SLACK), 1)


def _node(line: Sequence[str]) -> list[NodeState]:
    name, addresses, ready = line
    return [
        NodeState(name=name, address=address, ready=ready == "True")
        for address in addresses.split()
    ]


def _pod(line: Sequence[str]) -> Pod | None:
    namespace, name, kind, owner, node, ready, deleted = line
    if not owner or kind in STAYING:
        return None
    return Pod(
        namespace=namespace,
        name=name,
        owner=owner,
        node=node,
        ready=ready == "True" and not deleted,
        goes=bool(deleted),
    )


def _complain(pods: Iterable[Pod], late: Collection[str]) -> None:
    names = [
        f"{pod.namespace}/{pod.name}"
        for pod in pods
        if pod.owner in late and not pod.ready
    ]
    raise errors.InfraError(
        "The pods of the node do not run elsewhere in time: "
        f"{', '.join(names) or 'no others were made'}."
    )


def _pause(waited: int, deadline: Deadline) -> None:
    seconds = PAUSES[min(waited, len(PAUSES) - 1)]
    time.sleep(min(seconds, deadline.remaining))


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()


#: an account that may do everything, and its token
_ACCOUNT: Final[tuple[Mapping[str, Any], ...]] = (
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
