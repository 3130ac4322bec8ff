"""Runs the package's script, which makes a node of a VM."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from tacker_cnf.mgmt_drivers.cluster.memory import Node
from tacker_cnf.mgmt_drivers.cluster.parameters import Parameters
from tacker_cnf.mgmt_drivers.remote import Host

#: on a node
FOLDER: Final = "/var/lib/kubernetes-node"
SCRIPT: Final = f"{FOLDER}/install"
#: how long the secrets are valid by which nodes join
VALID: Final = "1h"
_CA_HASH: Final = (
    "openssl x509 -pubkey -noout -in /etc/kubernetes/pki/ca.crt"
    " | openssl pkey -pubin -outform der"
    " | openssl dgst -sha256 -r"
)


class Join(msgspec.Struct, frozen=True, kw_only=True):
    """What a VM has to show to become a node."""

    token: str
    #: "sha256:..." of the cluster's CA, by which the VM knows the cluster
    ca_cert_hash: str
    #: decrypts the certificates that the masters share; None: for a worker
    certificate_key: str | None = None

    @property
    def environment(self) -> dict[str, str]:
        told = {
            "KUBEADM_TOKEN": self.token,
            "KUBEADM_CA_CERT_HASH": self.ca_cert_hash,
            "KUBEADM_CERTIFICATE_KEY": self.certificate_key,
        }
        return {name: value for name, value in told.items() if value}


def join(master: Host, timeout: float, *, as_master: bool) -> Join:
    """Have a master make what a VM joins by.

    :raises InfraError: it could not
    """

    def last_line(command: str) -> str:
        told = master.check(command, as_root=True, timeout=timeout).stdout
        lines = told.decode().split("\n")
        return next((line for line in reversed(lines) if line.strip()), "")

    key = None
    if as_master:
        key = last_line("kubeadm init phase upload-certs --upload-certs")
    digest, _, _ = last_line(f"set -o pipefail; {_CA_HASH}").partition(" ")
    return Join(
        token=last_line(f"kubeadm token create --ttl {VALID}").strip(),
        ca_cert_hash=f"sha256:{digest}",
        certificate_key=key and key.strip(),
    )


class Installation:
    """Installs nodes of one cluster.

    :param script: of the package
    :param address: of the cluster
    :param outside: by which it is reached from outside, if that is another
    """

    def __init__(
        self,
        script: bytes,
        parameters: Parameters,
        address: str,
        outside: str,
    ) -> None:
        self._script = script
        self._parameters = parameters
        self.address = address
        self.outside = outside

    def install(
        self,
        host: Host,
        node: Node,
        masters: Iterable[Node],
        joining: Join | None,
    ) -> None:
        """Make a master of a VM, the first one if it joins nobody.

        :param masters: all that the cluster is to have
        :raises InfraError: the script did not end well
        """
        group = self._parameters.master_node
        words = [
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
        if self.outside != self.address:
            words += ["-e", self.outside]
        self._run(host, words, joining)

    def install_worker(self, host: Host, node: Node, joining: Join) -> None:
        """Make a worker of a VM.

        :raises InfraError: the script did not end well
        """
        self._run(host, ["-w", node.address, "-i", self.address], joining)

    def _run(self, host: Host, words: list[str], joining: Join | None) -> None:
        host.check(f"install -d -m 700 {FOLDER}", as_root=True)
        host.put(self._script, SCRIPT, mode=0o700, as_root=True)
        secret = joining.environment if joining else {}
        environment: Mapping[str, str] = {
            **self._parameters.proxy.environment,
            **secret,
        }
        host.check(
            shlex.join((SCRIPT, *words)),
            environment=environment,
            as_root=True,
            timeout=self._parameters.install_timeout,
        )
