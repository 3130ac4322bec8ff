"""Run the package's installation script, which turns a VM into a node."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from tacker_cnf.mgmt_drivers.cluster.installation_parameters import (
    InstallationParameters,
)
from tacker_cnf.mgmt_drivers.cluster.memory import Node
from tacker_cnf.mgmt_drivers.remote import Host

#: directory and path of the script on a node
NODE_DIR: Final = "/var/lib/kubernetes-node"
SCRIPT_PATH: Final = f"{NODE_DIR}/install"
#: time to live of the bootstrap tokens of kubeadm
JOIN_VALIDITY: Final = "1h"
_CA_HASH: Final = (
    "openssl x509 -pubkey -noout -in /etc/kubernetes/pki/ca.crt"
    " | openssl pkey -pubin -outform der"
    " | openssl dgst -sha256 -r"
)


class JoinCredentials(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of ``kubeadm join``."""

    token: str
    #: "sha256:..." of the cluster's CA, by which the VM verifies the cluster
    ca_cert_hash: str
    #: decrypts the certificates that the masters share; None for a worker
    certificate_key: str | None = None

    @property
    def environment(self) -> dict[str, str]:
        variables = {
            "KUBEADM_TOKEN": self.token,
            "KUBEADM_CA_CERT_HASH": self.ca_cert_hash,
            "KUBEADM_CERTIFICATE_KEY": self.certificate_key,
        }
        return {name: value for name, value in variables.items() if value}


def create_join_credentials(
    master: Host, timeout: float, *, as_master: bool
) -> JoinCredentials:
    """Create credentials on a master with which a VM joins the cluster.

    :param timeout: seconds for each command
    :raises InfraError: kubeadm or openssl failed on the master
    """

    def last_line(command: str) -> str:
        stdout = master.check(command, as_root=True, timeout=timeout).stdout
        lines = stdout.decode().split("\n")
        return next((line for line in reversed(lines) if line.strip()), "")

    key = None
    if as_master:
        key = last_line("kubeadm init phase upload-certs --upload-certs")
    digest, _, _ = last_line(f"set -o pipefail; {_CA_HASH}").partition(" ")
    return JoinCredentials(
        token=last_line(f"kubeadm token create --ttl {JOIN_VALIDITY}").strip(),
        ca_cert_hash=f"sha256:{digest}",
        certificate_key=key and key.strip(),
    )


class NodeInstaller:
    """Installs nodes of one cluster.

    :param script: content of the package's installation script
    :param address: the cluster's virtual IP address
    :param external_address: the address for clients outside of the network;
        may be the same
    """

    def __init__(
        self,
        script: bytes,
        parameters: InstallationParameters,
        address: str,
        external_address: str,
    ) -> None:
        self._script = script
        self._parameters = parameters
        self.address = address
        self.external_address = external_address

    def install(
        self,
        host: Host,
        node: Node,
        masters: Iterable[Node],
        credentials: JoinCredentials | None,
    ) -> None:
        """Install a master on a VM.

        :param masters: all masters that the cluster is to have
        :param credentials: None: it is the first master and joins no cluster
        :raises InfraError: the script failed
        """
        group = self._parameters.master_node
        arguments = [
            "-m",
            ",".join(master.address for master in masters),
            "-n",
            node.address,
            "-i",
            self.address,
            "-p",
            group.pod_cidr,
            "-a",
            group.cluster_cidr,
        ]
        if self.external_address != self.address:
            arguments += ["-e", self.external_address]
        self._run(host, arguments, credentials)

    def install_worker(
        self, host: Host, node: Node, credentials: JoinCredentials
    ) -> None:
        """Turn a VM into a worker.

        :raises InfraError: the script failed
        """
        self._run(host, ["-w", node.address, "-i", self.address], credentials)

    def _run(
        self,
        host: Host,
        arguments: list[str],
        credentials: JoinCredentials | None,
    ) -> None:
        host.check(f"install -d -m 700 {NODE_DIR}", as_root=True)
        host.put(self._script, SCRIPT_PATH, mode=0o700, as_root=True)
        secret = credentials.environment if credentials else {}
        environment: Mapping[str, str] = {
            **self._parameters.proxy.environment,
            **secret,
        }
        host.check(
            shlex.join((SCRIPT_PATH, *arguments)),
            environment=environment,
            as_root=True,
            timeout=self._parameters.install_timeout,
        )
