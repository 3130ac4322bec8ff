"""The SSH connections to the nodes during one hook."""

import contextlib
import threading
from typing import Final

from tacker_cnf.mgmt_drivers.cluster.host_keys import HostKeys
from tacker_cnf.mgmt_drivers.cluster.installation_parameters import (
    InstallationParameters,
)
from tacker_cnf.mgmt_drivers.cluster.memory import MASTER, Memory, Node
from tacker_cnf.mgmt_drivers.remote import Host
from tacker_cnf.runtime.cancellation import Deadline

#: seconds to connect to a node that may be broken, and for a command on it
PROBE_TIMEOUT_S: Final = 5.0


class SshPool:
    """Connects to each node once, and stores its host key at the first
    contact.

    :param host_keys: finds the host keys of nodes without a stored one
    """

    def __init__(
        self,
        parameters: InstallationParameters,
        memory: Memory,
        host_keys: HostKeys,
        deadline: Deadline,
    ) -> None:
        self._host_keys = host_keys
        self._parameters = parameters
        self._memory = memory
        self._deadline = deadline
        self._stack = contextlib.ExitStack()
        self._lock = threading.Lock()
        self._hosts: dict[str, Host] = {}

    def close(self) -> None:
        self._stack.close()

    def run_if_reachable(self, node: Node, command: str) -> None:
        """Run a command on a node that may be broken; wait only briefly.

        :raises RemoteFailed: the node is not reachable, or the command failed
        """
        with self._build_host(node, PROBE_TIMEOUT_S) as host:
            host.check(command, as_root=True, timeout=PROBE_TIMEOUT_S)

    def host(self, node: Node) -> Host:
        """Return the connection to a node; connect at the first call.

        :raises RemoteFailed: the node is not reachable, rejects the login, or
            presents another host key than at the first contact, or at the
            first contact than Nova reports
        """
        with self._lock:
            connected = self._hosts.get(node.vnfc)
        if connected:
            return connected
        settings = self._parameters
        is_new = node.vnfc not in self._memory.nodes
        host = self._build_host(
            node,
            settings.boot_timeout if is_new else settings.command_timeout,
            fresh=is_new,
        )
        host.__enter__()
        with self._lock:
            self._stack.push(host)
            self._hosts[node.vnfc] = host
            if host.key:
                self._memory.host_keys[node.vnfc] = host.key
        return host

    def _build_host(
        self, node: Node, connect_timeout: float, *, fresh: bool = False
    ) -> Host:
        is_master = node.role == MASTER
        settings = self._parameters
        group = settings.master_node if is_master else settings.worker_node
        return Host(
            node.ssh,
            group.login,
            self._deadline,
            known_key=self._memory.host_keys.get(node.vnfc)
            or self._host_keys.find(node.vnfc, connect_timeout),
            connect_timeout=connect_timeout,
            fresh=fresh,
        )
