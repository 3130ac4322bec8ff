"""The test hosts, and the Kubernetes cluster installed on them.

The tests run the installation script of the sample package over SSH.
"""

import base64
import contextlib
import json
import shlex
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import paramiko
import testtools

from samples import build
from tests.fixtures import waiting
from tests.fixtures.kubernetes_hosts import KubernetesHosts
from tests.fixtures.openstack import Project
from tests.fixtures.ssh_hosts import (
    USER,
    Host,
    Hosts,
    Hypervisor,
    require_hosts,
)

SCRIPT: Final = (
    Path(build.__file__).parent
    / "kubernetes-cluster"
    / "Scripts"
    / "install_k8s_node.sh"
).read_text()
ADMIN: Final = "kubectl --kubeconfig /etc/kubernetes/admin.conf"
PKI: Final = "/etc/kubernetes/pki/etcd"
ETCDCTL: Final = (
    "ETCDCTL_API=3 etcdctl --endpoints=https://127.0.0.1:2379"
    f" --cacert={PKI}/ca.crt --cert={PKI}/server.crt --key={PKI}/server.key"
)
#: creates two hosts, and then waits until it is killed
MAKER: Final = """
import sys, testtools
from tests.fixtures.ssh_hosts import Hosts

class Maker(testtools.TestCase):
    def runTest(self):
        hosts = self.useFixture(Hosts(self))
        for number in (2, 3):
            hosts.make("host", str(hosts.network.cidr[number]))
        print(hosts.network.address, flush=True)
        sys.stdin.read()

Maker().run()
"""
WEB: Final = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
"""
TOKEN: Final = """\
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: admin-token
  namespace: kube-system
  annotations: {kubernetes.io/service-account.name: admin}
"""


def ssh_responds(address: str, port: int = 22) -> bool:
    try:
        with socket.create_connection((address, port), 5) as found:
            return found.recv(4).startswith(b"SSH-")
    except OSError:
        return False


def wait_for_ssh(address: str) -> None:
    waiting.until(lambda: ssh_responds(address), f"SSH of {address}")


def links() -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir()}


class HostCase(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.hosts = self.useFixture(self.make_hosts())

    def make_hosts(self) -> Hosts:
        return Hosts(self)

    def address(self, number: int) -> str:
        return str(self.hosts.network.cidr[number])

    def ssh(
        self, host: Host, script: str, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a script as root; log in by key and verify the host key."""
        known_hosts = self.hosts.key_file.with_name(f"known-{host.address}")
        known_hosts.write_text(f"{host.address} {host.host_key}\n")
        options = (
            "StrictHostKeyChecking=yes",
            f"UserKnownHostsFile={known_hosts}",
        )
        return subprocess.run(
            [
                *("ssh", "-q", "-F", "none", "-i", str(self.hosts.key_file)),
                *(word for option in options for word in ("-o", option)),
                f"{USER}@{host.address}",
                f"sudo -n bash -c {shlex.quote(script)}",
            ],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )

    def run_script(self, host: Host, script: str, stdin: str = "") -> str:
        """Run a script that has to exit with 0, and return its stdout."""
        done = self.ssh(host, script, stdin)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout


class TestHosts(HostCase):
    def test_hosts_have_their_own_keys_files_and_addresses(self) -> None:
        one = self.hosts.make("one", self.address(2))
        two = self.hosts.make("two", self.address(3))
        self.assertNotEqual(one.host_key, two.host_key)
        self.assertEqual("one", self.run_script(one, "hostname").strip())
        self.run_script(one, "echo mine >/etc/only; echo mine >/tmp/only")
        for path in ("/etc/only", "/tmp/only"):  # noqa: S108
            self.assertFalse(Path(path).exists())
            self.assertNotEqual(0, self.ssh(two, f"cat {path}").returncode)
        read_banner = f"exec 3<>/dev/tcp/{two.address}/22; head -c4 <&3"
        self.assertEqual("SSH-", self.run_script(one, read_banner))

    def test_login_by_password(self) -> None:
        host = self.hosts.make("one", self.address(2))
        kind, key = host.host_key.split()
        with paramiko.SSHClient() as client:
            host_key = paramiko.Ed25519Key(data=base64.b64decode(key))
            client.get_host_keys().add(host.address, kind, host_key)
            login: dict[str, Any] = {"allow_agent": False}
            login |= {"look_for_keys": False, "username": USER}
            self.assertRaises(
                paramiko.AuthenticationException,
                client.connect,
                host.address,
                password="wrong",
                **login,
            )
            client.connect(host.address, password=self.hosts.password, **login)
            _, out, _ = client.exec_command("sudo -n id -un")
            self.assertEqual(b"root\n", out.read())

    def test_a_host_can_be_paused_disconnected_and_powered_off(self) -> None:
        host = self.hosts.make("one", self.address(2))
        for begin, end in (
            (host.pause, host.resume),
            (host.disconnect, host.reconnect),
        ):
            begin()
            self.assertFalse(ssh_responds(host.address))
            end()
            wait_for_ssh(host.address)
        host.power_off()
        self.assertFalse(host.is_on)
        self.assertFalse(ssh_responds(host.address))

    def test_concurrent_power_off(self) -> None:
        host = self.hosts.make("one", self.address(2))
        with ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(host.power_off) for _ in range(4)]:
                done.result()
        self.assertFalse(host.is_on)

    def test_a_new_host_replaces_that_of_the_same_address(self) -> None:
        first = self.hosts.make("one", self.address(2))
        key = first.host_key
        second = self.hosts.make("two", self.address(2))
        self.assertFalse(first.is_on)
        self.assertEqual("two", self.run_script(second, "hostname").strip())
        self.assertNotEqual(key, second.host_key)


class TestCleanup(testtools.TestCase):
    def test_hosts_and_network_end_with_the_process_that_made_them(
        self,
    ) -> None:
        require_hosts(self)
        before = links()
        maker = subprocess.Popen(
            [sys.executable, "-c", MAKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with maker:
            assert maker.stdout is not None
            network = maker.stdout.readline().strip()
            host = network.rpartition(".")[0] + ".2"
            wait_for_ssh(host)
            self.assertEqual(1, len(links() - before))
            maker.send_signal(signal.SIGKILL)
        waiting.until(lambda: links() <= before, "the end of the link")
        self.assertFalse(ssh_responds(host))
        mounts = Path("/proc/self/mountinfo").read_text()
        self.assertNotIn("upperdir=/mnt/upper", mounts)


class ClusterCase(HostCase):
    hosts: KubernetesHosts

    def setUp(self) -> None:
        super().setUp()
        self.cluster = self.address(200)
        self.masters = [self.address(n) for n in (11, 12, 13)]

    def make_hosts(self) -> Hosts:
        return KubernetesHosts(self)

    def install(
        self, host: Host, arguments: str, *secrets: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the script as the management driver does."""
        self.run_script(host, "cat >/root/install.sh", SCRIPT)
        read = 'while read -r line; do export "${line?}"; done; '
        return self.ssh(
            host,
            f"{read} exec bash /root/install.sh {arguments} 2>&1",
            "".join(f"{line}\n" for line in secrets),
        )

    def run_as_master(self, host: Host) -> str:
        return (
            f"-m {','.join(self.masters)} -n {host.address} -i {self.cluster}"
            " -p 10.244.0.0/16 -a 10.96.0.0/12"
        )

    def create_join_secrets(self, master: Host) -> tuple[str, str, str]:
        """Create the environment variables of the script with which a node
        joins: token, CA hash, certificate key.
        """
        token = self.run_script(
            master, "kubeadm token create --ttl 1h"
        ).strip()
        ca = "/etc/kubernetes/pki/ca.crt"
        digest = self.run_script(
            master,
            f"openssl x509 -pubkey -noout -in {ca}"
            " | openssl pkey -pubin -outform der"
            " | openssl dgst -sha256 -r | cut -d' ' -f1",
        ).strip()
        upload = "kubeadm init phase upload-certs --upload-certs"
        key = self.run_script(master, upload).splitlines()[-1]
        return (
            f"KUBEADM_TOKEN={token}",
            f"KUBEADM_CA_CERT_HASH=sha256:{digest}",
            f"KUBEADM_CERTIFICATE_KEY={key}",
        )

    def create_first_master(self) -> Host:
        """Install the first master on a new host."""
        host = self.hosts.make("one", self.masters[0])
        self.assert_success(self.install(host, self.run_as_master(host)))
        return host

    def assert_success(self, done: subprocess.CompletedProcess[str]) -> None:
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def create_master(self, name: str, address: str, via: Host) -> Host:
        """Install another master on a new host."""
        host = self.hosts.make(name, address)
        secrets = self.create_join_secrets(via)
        self.assert_success(
            self.install(host, self.run_as_master(host), *secrets)
        )
        return host

    def create_worker(self, number: int, via: Host) -> Host:
        """Install a worker on a new host."""
        host = self.hosts.make(f"worker-{number}", self.address(number))
        token, digest, _ = self.create_join_secrets(via)
        arguments = f"-w {host.address} -i {self.cluster}"
        self.assert_success(self.install(host, arguments, token, digest))
        return host

    def kubectl(self, host: Host, command: str, stdin: str = "") -> str:
        return self.run_script(host, f"{ADMIN} {command}", stdin)

    def members(self, host: Host) -> dict[str, str]:
        """Return the members of etcd: address -> id."""
        output = self.run_script(host, f"{ETCDCTL} member list -w json")
        return {
            member["peerURLs"][0].split("/")[-1].split(":")[0]: (
                f"{member['ID']:x}"
            )
            for member in json.loads(output)["members"]
        }

    @contextlib.contextmanager
    def poll_api(self) -> Iterator[list[str]]:
        """Poll the API at the cluster's address; yield the list of errors."""
        ca = self.hosts.cluster.ca_pem
        tls = ssl.create_default_context(cadata=ca)
        url = f"https://{self.cluster}:16443/healthz"
        errors: list[str] = []
        stopped = threading.Event()

        def poll() -> None:
            while not stopped.wait(0.05):
                try:
                    with urllib.request.urlopen(
                        url, timeout=60, context=tls
                    ) as response:
                        response.read()
                except OSError as error:
                    errors.append(f"{time.monotonic()}: {error}")

        thread = threading.Thread(target=poll)
        thread.start()
        try:
            yield errors
        finally:
            stopped.set()
            thread.join()


class TestCluster(ClusterCase):
    def test_cluster_life_cycle(self) -> None:
        one = self.create_first_master()
        self.assert_success(
            self.install(one, self.run_as_master(one))
        )  # a second run changes nothing
        two = self.create_master("two", self.masters[1], one)
        three = self.create_master("three", self.masters[2], two)
        workers = [self.create_worker(number, one) for number in (21, 22)]
        all_addresses = {*self.masters, *(host.address for host in workers)}
        self.assertEqual(all_addresses, self.hosts.ready())
        self.assertEqual(set(self.masters), set(self.members(three)))
        self.run_script(two, f"{ETCDCTL} endpoint health --cluster")
        self.drain(one, workers[0])
        self.tokens(two)
        self.reload_haproxy([one, two, three])
        self.replace(one, [two, three])

    def drain(self, master: Host, worker: Host) -> None:
        """Move all pods to the other worker, and delete this one."""
        self.kubectl(master, "apply -f -", WEB)
        wait = "wait --for=condition=Available deployment/web --timeout=60s"
        self.kubectl(master, wait)
        node = f"worker-{worker.address.replace('.', '-')}"
        self.kubectl(master, f"cordon {node}")
        options = "--ignore-daemonsets --timeout=60s"
        self.kubectl(master, f"drain {node} {options}")
        self.kubectl(master, wait)
        output = self.kubectl(master, "get pods -l app=web -o json")
        node_names = {
            pod["spec"]["nodeName"] for pod in json.loads(output)["items"]
        }
        self.assertNotIn(node, node_names)
        self.kubectl(master, f"delete node {node}")
        self.assertNotIn(worker.address, self.hosts.nodes())
        self.hosts.remove(worker)

    def tokens(self, master: Host) -> None:
        """Create an admin token as for the registration of a VIM."""
        self.kubectl(master, "create serviceaccount admin -n kube-system")
        self.kubectl(
            master,
            "create clusterrolebinding admin --clusterrole=cluster-admin"
            " --serviceaccount=kube-system:admin",
        )
        self.kubectl(master, "apply -f -", TOKEN)
        field = "-o jsonpath={.data.token}"
        read_token = f"get secret admin-token -n kube-system {field}"
        token = base64.b64decode(self.kubectl(master, read_token)).decode()
        url = f"https://{self.cluster}:16443/api/v1/nodes"
        request = urllib.request.Request(url)
        request.add_header("Authorization", f"Bearer {token}")
        tls = ssl.create_default_context(cadata=self.hosts.cluster.ca_pem)
        with urllib.request.urlopen(  # noqa: S310
            request, timeout=10, context=tls
        ) as response:
            self.assertEqual(4, len(json.loads(response.read())["items"]))

    def reload_haproxy(self, masters: list[Host]) -> None:
        """Reload every HAProxy, without an error of a client."""
        with self.poll_api() as errors:
            for _ in range(5):
                for master in masters:
                    self.run_script(master, "service haproxy reload")
        self.assertEqual([], errors)

    def replace(self, lost: Host, left: list[Host]) -> None:
        """Power a master off, and replace it with another one."""
        lost.power_off()
        self.assertNotIn(lost.address, self.hosts.ready())
        one = left[0]
        waiting.until(
            lambda: not self.ssh(one, f"{ADMIN} get nodes").returncode,
            "the API at the cluster's address",
        )
        new = self.hosts.make("new", self.address(14))
        self.masters[0] = new.address
        secrets = self.create_join_secrets(one)
        rejected = self.install(new, self.run_as_master(new), *secrets)
        self.assertNotEqual(0, rejected.returncode)
        self.assertIn("etcd cluster is not healthy", rejected.stdout)
        member = self.members(one)[lost.address]
        self.run_script(one, f"{ETCDCTL} member remove {member}")
        node = f"master-{lost.address.replace('.', '-')}"
        self.kubectl(one, f"delete node {node}")
        self.assert_success(
            self.install(new, self.run_as_master(new), *secrets)
        )
        self.assertEqual(set(self.masters), set(self.members(new)))
        self.run_script(new, f"{ETCDCTL} endpoint health --cluster")
        self.assertLess(set(self.masters), self.hosts.ready())

    def test_a_rejected_join_names_the_reason(self) -> None:
        one = self.create_first_master()
        token, digest, key = self.create_join_secrets(one)
        wrong = digest.partition(":")[0] + ":" + "0" * 64
        two = self.hosts.make("two", self.masters[1])
        for secrets, message in (
            (("KUBEADM_TOKEN=abcdef.0123456789abcdef", digest, key), "JWS"),
            ((token, wrong, key), "not pinned"),
            (
                (token, digest, f"KUBEADM_CERTIFICATE_KEY={'0' * 64}"),
                "certificate key is wrong",
            ),
        ):
            done = self.install(two, self.run_as_master(two), *secrets)
            self.assertNotEqual(0, done.returncode)
            self.assertIn(message, done.stdout)
        self.assertEqual({one.address}, set(self.members(one)))
        # fail after the member has been added, before it runs
        two.write("/etc/kubeadm-fails", "1 etcd")
        again = self.run_as_master(two)
        failed = self.install(two, again, token, digest, key)
        self.assertNotEqual(0, failed.returncode)
        self.assertIn("asked to fail", failed.stdout)
        self.assert_success(self.install(two, again, token, digest, key))
        self.assertEqual(set(self.masters[:2]), set(self.members(two)))
        self.assertEqual(set(self.masters[:2]), self.hosts.ready())


class TestHypervisor(testtools.TestCase):
    def test_each_server_has_a_host(self) -> None:
        hosts = self.useFixture(Hosts(self))
        project = self.useFixture(Project(self))
        hypervisor = self.useFixture(Hypervisor(hosts, project))
        port = {"type": "OS::Neutron::Port", "properties": {"network": "net"}}
        server = {
            "name": "one",
            "flavor": "f",
            "image": "i",
            "networks": [{"port": {"get_resource": "port"}}],
        }
        resources = {
            "port": port,
            "server": {"type": "OS::Nova::Server", "properties": server},
        }
        template = {
            "heat_template_version": "2021-04-16",
            "resources": resources,
        }
        body = {"stack_name": "one", "template": template}
        project.heat("POST", "/stacks", body)
        waiting.until(lambda: hypervisor.servers, "the host")
        ((server_id, host),) = hypervisor.servers.items()
        self.assertIn(server_id, project.servers("one"))
        (seen,) = project.visible("ports").values()
        self.assertEqual(host.address, seen["fixed_ips"][0]["ip_address"])
        wait_for_ssh(host.address)
        project.heat("DELETE", f"/stacks/one/{project.stacks()['one']['id']}")
        waiting.until(lambda: not hypervisor.servers, "the end of the host")
        waiting.until(lambda: not ssh_responds(host.address), "the end of SSH")
        self.assertEqual([], hypervisor.faults)
