"""Operations of a VNF whose VMs are the nodes of a Kubernetes cluster."""

import base64
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import testtools
from testtools import content

from tests.fixtures import waiting
from tests.fixtures.kill_points import Choose
from tests.fixtures.kubernetes_vnf import (
    PARAMETERS,
    VIM,
    KubernetesVnf,
    Poller,
)
from tests.fixtures.ssh_hosts import Host

DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS: Final = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#: host key of sshd on a host, and the command that creates another one
KEY: Final = "/etc/ssh/ssh_host_ed25519_key"
NEW_KEY: Final = f"ssh-keygen -q -t ed25519 -N '' -f {KEY} <<<y >/dev/null"
OUT: Final = {"type": "SCALE_OUT", "aspectId": "worker_instance"}
IN: Final = {"type": "SCALE_IN", "aspectId": "worker_instance"}


def a_deployment(replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "web"}]},
            },
        },
    }


#: number of kill points from one kill to the next; 0: skip these tests
EVERY: Final = int(os.environ.get("TACKER_CNF_TEST_KILLS", "0"))
#: the points of ``kubeadm join`` on a master
JOINING: Final = ("member added", "member promoted", "kubelet started")
#: the documented restore, with a second etcd on the master
RESTORE: Final = """\
cd /root
ETCDCTL_API=3 etcdctl snapshot restore copy.db --data-dir=restored >&2
etcd --data-dir=restored --listen-client-urls=http://127.0.0.1:3379 \
    --advertise-client-urls=http://127.0.0.1:3379 \
    --listen-peer-urls=http://127.0.0.1:3380 >/dev/null 2>&1 &
trap 'kill %1; rm -rf restored copy.db' EXIT
for _ in $(seq 100); do
    ETCDCTL_API=3 etcdctl --endpoints=http://127.0.0.1:3379 get mark \
        --print-value-only 2>/dev/null && exit
    sleep 0.1
done
exit 1
"""


def _number(wanted: int) -> Choose:
    return lambda _, number: number == wanted


def _begins_with(name: str) -> Choose:
    return lambda point, _: point.startswith(name)


class NodeCase(testtools.TestCase):
    """Checks of a cluster that every operation has to pass."""

    #: instantiation level
    level = "available"
    #: whether the test can kill the management script at each point
    reports = False

    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.useFixture(
            KubernetesVnf(self, self.level, reports=self.reports)
        )
        self.vnf.start()

    def assert_cluster_state(self) -> None:
        """Check that etcd, HAProxy and the Nodes are those of the VNF."""
        vnf = self.vnf
        masters = vnf.addresses(*vnf.masters)
        all_addresses = masters | vnf.addresses(*vnf.workers)
        for master in vnf.masters:
            self.assertEqual(masters, vnf.list_members(master))
            self.assertEqual(masters, vnf.list_healthy_members(master))
            self.assertEqual(masters, vnf.list_haproxy_backends(master))
        self.assertEqual(all_addresses, set(vnf.hosts.nodes()))
        self.assertEqual(all_addresses, vnf.hosts.ready())

    def running(self) -> int:
        """Return the number of ready pods of the Deployment."""
        found = self.vnf.hosts.call("GET", f"{DEPLOYMENTS}/web")
        return int(found["status"].get("readyReplicas", 0))

    def until_running(self) -> None:
        waiting.until(lambda: self.running() == 4, "the ready pods")

    def assert_served(self, poller: Poller) -> None:
        """Check that a client was served at each point of an operation."""
        poller.stop()
        self.addDetail("polled", content.text_content(f"{poller}"))
        self.assertEqual([], poller.unserved)
        self.assertNotEqual([], poller.served)

    def poll_api(self, address: str) -> Poller:
        """Poll an API server until the end of the test."""
        poller = self.useFixture(Poller(f"https://{address}:16443"))
        self.vnf.hosts.observers.append(poller.observe)
        return poller


class HealCase(NodeCase):
    """A test runs several operations on one cluster, because creating a
    cluster is slow.
    """

    def setUp(self) -> None:
        super().setUp()
        self.vnf.hosts.call("POST", DEPLOYMENTS, a_deployment(4))
        self.until_running()

    def assert_vim_registered(self) -> None:
        vnf = self.vnf
        vim = vnf.vim()
        self.assertEqual(
            f"https://{vnf.cluster_address}:16443", vim["auth_url"]
        )
        vim_connections = vnf.instance(vnf.id)["vimConnectionInfo"]
        self.assertEqual({"default", VIM}, set(vim_connections))
        self.assertEqual(vim["id"], vim_connections[VIM]["vimId"])

    def heal_a_worker(self) -> None:
        vnf = self.vnf
        before = vnf.servers_of("workerNode")
        broken = vnf.workers[0]
        vnf.heal(broken)
        after = vnf.servers_of("workerNode")
        self.assertEqual(1, len(before - after))
        self.assert_cluster_state()
        self.assertEqual(4, self.running())

    def terminate(self) -> None:
        vnf = self.vnf
        vnf.run_operation("terminate", {"terminationType": "FORCEFUL"})
        self.assertIsNone(vnf.vim())
        vim_connections = vnf.instance(vnf.id).get("vimConnectionInfo", {})
        self.assertEqual({}, vim_connections)


class TestHeal(HealCase):
    """Operations that .ci/run checks; TestChanges has the others."""

    def test_the_cluster_serves_while_its_nodes_are_healed(self) -> None:
        vnf = self.vnf
        self.assert_cluster_state()
        self.assert_vim_registered()
        vnf.etcdctl(vnf.masters[0], "put", "mark", "kept")
        self.heal_a_master()
        self.heal_a_worker()
        self.terminate()

    def heal_a_master(self) -> None:
        """Heal the master with the cluster's address and etcd's leader."""
        vnf = self.vnf
        before = vnf.servers_of("masterNode")
        (broken,) = (m for m in vnf.masters if vnf.holds_cluster_address(m))
        others = [m for m in vnf.masters if m is not broken]
        vnf.move_etcd_leader(broken)
        pollers = [self.poll_api(master.address) for master in others]
        cluster_poller = self.poll_api(vnf.cluster_address)
        backends: list[set[str]] = []

        def observe_haproxy(point: str) -> None:
            if point == "member added":
                backends.extend(map(vnf.list_haproxy_backends, others))

        vnf.hosts.observers.append(observe_haproxy)
        healed = vnf.heal(broken)
        # no request is sent to a master that is being installed
        self.assertEqual([vnf.addresses(*others)] * 2, backends)
        self.assertIn("Leader of etcd moved", healed["scriptLog"])
        for poller in (*pollers, cluster_poller):
            self.assert_served(poller)
        after = vnf.servers_of("masterNode")
        self.assertEqual(1, len(before - after))
        self.assertEqual(1, len(after - before))
        vnf.hosts.observers.clear()
        self.assert_cluster_state()
        snapshots = [
            m.run("ls /var/backups/etcd 2>/dev/null || true")
            for m in vnf.masters
        ]
        self.assertEqual(f"{healed['id']}.db", "".join(snapshots).strip())
        self.restore_snapshot(healed)

    def restore_snapshot(self, healed: Any) -> None:
        """Restore the conductor's copy by the documented procedure."""
        vnf = self.vnf
        folder = Path(vnf.state_path, "vnf", vnf.id, "etcd")
        (copy,) = folder.iterdir()
        self.assertEqual(f"{healed['id']}.db", copy.name)
        self.assertIn(str(copy), healed["scriptLog"])
        self.assertEqual(0o600, stat.S_IMODE(copy.stat().st_mode))
        self.assertEqual(0o700, stat.S_IMODE(folder.stat().st_mode))
        master = vnf.masters[0]
        encoded = base64.b64encode(copy.read_bytes()).decode()
        master.run("base64 -d >/root/copy.db", stdin=encoded)
        self.assertEqual("kept", master.run(RESTORE).strip())


class TestChanges(HealCase):
    def test_the_cluster_serves_while_its_nodes_change(self) -> None:
        self.kill_the_script_while_a_master_joins()
        poller = self.poll_api(self.vnf.cluster_address)
        self.heal_a_worker()
        self.scale_out_workers()
        self.heal_two_workers()
        self.scale_in_workers()
        self.assert_served(poller)
        self.vnf.hosts.observers.clear()
        self.heal_the_whole_vnf()
        self.terminate()

    def kill_the_script_while_a_master_joins(self) -> None:
        """Kill the script, and the script of each retry at a later point."""
        vnf = self.vnf
        servers = vnf.servers_of("masterNode")
        op_occ: Any = None
        for number, name in enumerate(JOINING):
            vnf.hosts.kill_points.kill_at(_begins_with(name))
            if number:
                op_occ = vnf.run_decision(op_occ, "retry", "FAILED_TEMP")
            else:
                op_occ = vnf.heal(vnf.masters[0], end="FAILED_TEMP")
            self.assertIn("SIGKILL", op_occ["error"]["detail"])
        vnf.run_decision(op_occ, "retry", "COMPLETED")
        self.assertEqual(1, len(servers - vnf.servers_of("masterNode")))
        self.assert_cluster_state()

    def scale_out_workers(self) -> None:
        self.vnf.run_operation("scale", OUT)
        self.assertEqual(3, len(self.vnf.workers))
        self.assert_cluster_state()

    def heal_two_workers(self) -> None:
        vnf = self.vnf
        before = vnf.servers_of("workerNode")
        vnf.heal(*vnf.workers[:2])
        after = vnf.servers_of("workerNode")
        self.assertEqual(2, len(before - after))
        self.assert_cluster_state()
        self.assertEqual(4, self.running())

    def scale_in_workers(self) -> None:
        self.vnf.run_operation("scale", IN)
        self.assertEqual(2, len(self.vnf.workers))
        self.assert_cluster_state()
        self.assertEqual(4, self.running())

    def heal_the_whole_vnf(self) -> None:
        vnf = self.vnf
        before = vnf.vim()
        servers = set(vnf.hypervisor.servers)
        vnf.heal()
        self.assertEqual(set(), servers & set(vnf.hypervisor.servers))
        self.assert_cluster_state()
        after = vnf.vim()
        self.assertNotEqual(before["id"], after["id"])
        self.assert_vim_registered()


class TestFailures(NodeCase):
    """Operations that fail; a retry continues at the failed step."""

    def test_failures_change_nothing_and_retries_continue(self) -> None:
        self.heal_too_many_masters()
        self.heal_a_master_with_many_retries()
        self.heal_a_powered_off_worker()
        self.fail_to_evict_pods()
        self.delete_pods_without_eviction()

    def assert_failed(self, op_occ: Any, *words: str) -> None:
        """Check that the operation failed, with these words in its error."""
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        for word in words:
            self.assertIn(word, op_occ["error"]["detail"])
        self.assertNotIn(self.vnf.hosts.password, str(op_occ))

    def heal_too_many_masters(self) -> None:
        vnf = self.vnf
        failed = vnf.heal(*vnf.masters, end="FAILED_TEMP")
        self.assert_failed(
            failed, "No master would stay", "without vnfcInstanceId"
        )
        vnf.run_decision(failed, "fail", "FAILED")
        # one master would stay, and etcd would not tolerate its loss
        failed = vnf.heal(*vnf.masters[:2], end="FAILED_TEMP")
        self.assert_failed(
            failed, "one after the other", "Nothing was changed"
        )
        vnf.run_decision(failed, "fail", "FAILED")
        self.assert_cluster_state()

    def heal_a_master_with_many_retries(self) -> None:
        vnf = self.vnf
        broken, other, third = vnf.masters
        servers = vnf.servers_of("masterNode")

        def retry(op_occ: Any, *words: str) -> Any:
            retried = vnf.run_decision(op_occ, "retry", "FAILED_TEMP")
            self.assert_failed(retried, *words)
            self.assertEqual(servers, vnf.servers_of("masterNode"))
            return retried

        # etcd has lost a member already
        other.run("pkill -STOP -x etcd")
        op_occ = vnf.heal(broken, end="FAILED_TEMP", command_timeout=10.0)
        self.assert_failed(
            op_occ, "etcd would have no quorum", f"{other.address} does not"
        )
        other.run("pkill -CONT -x etcd")
        all_addresses = vnf.addresses(*vnf.masters)
        waiting.until(
            lambda: vnf.list_healthy_members(third) == all_addresses,
            "etcd's health",
        )

        # a command hangs
        for master in vnf.masters:
            master.write("/usr/local/bin/etcdctl", "#!/bin/sh\nsleep 600\n")
            master.run("chmod 755 /usr/local/bin/etcdctl")
        op_occ = retry(
            op_occ, "check the quorum of etcd", "not end within 10 s"
        )
        for master in vnf.masters:
            self.assertEqual("", master.run("pgrep -x sleep || true"))
            master.run("rm /usr/local/bin/etcdctl")

        # the SSH server does not run
        third.run("pkill -o -x sshd")
        op_occ = retry(
            op_occ, "connect to", third.address, "the connection is refused"
        )

        # the host key has changed
        third.run(f"mv {KEY} /root; {NEW_KEY}; /usr/sbin/sshd")
        op_occ = retry(op_occ, third.address, "presents the host key")
        third.run(f"pkill -o -x sshd; mv /root/*_key {KEY}; /usr/sbin/sshd")

        # the new configuration of HAProxy is not valid
        path = "/etc/haproxy/haproxy.cfg"
        before = third.read(path)
        third.write(path, before + "nonsense\n")
        op_occ = retry(op_occ, "HAProxy rejects its new configuration", "kept")
        self.assertEqual(before + "nonsense\n", third.read(path))
        third.write(path, before)
        self.assertEqual(3, len(vnf.list_members(other)))

        # the new VM cannot join
        vnf.hosts.files["/etc/kubeadm-fails"] = "2 etcd\n"
        failed = vnf.run_decision(op_occ, "retry", "FAILED_TEMP")
        self.assert_failed(
            failed, f"install the master: master {broken.address}"
        )
        del vnf.hosts.files["/etc/kubeadm-fails"]
        data = failed["error"]["userScriptErrHandlingData"]
        self.assertEqual(
            [f"install the master: master {broken.address}"], data["failed"]
        )
        self.assertEqual("heal_end", data["hook"])
        done = vnf.run_decision(failed, "retry", "COMPLETED")
        self.assertIn("from HAProxy", done["scriptLog"])
        self.assertIn("already done", done["scriptLog"])
        self.assertEqual(1, len(servers - vnf.servers_of("masterNode")))
        self.assert_cluster_state()

    def heal_a_powered_off_worker(self) -> None:
        """Heal a worker whose pods a PodDisruptionBudget protects, and for
        which the other worker has no capacity.
        """
        vnf = self.vnf
        vnf.hosts.call("POST", DEPLOYMENTS, a_deployment(4))
        self.until_running()
        wanted = {"matchLabels": {"app": "web"}}
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web"},
            "spec": {"minAvailable": 4, "selector": wanted},
        }
        vnf.hosts.call("POST", BUDGETS, budget)
        broken, other = vnf.workers
        name = vnf.hosts.nodes()[other.address]["metadata"]["name"]
        vnf.hosts.cluster.set_node_capacity(name, pods=4)
        broken.power_off()
        healed = vnf.heal(broken, drain={"timeout": 1.0})
        self.assertIn(
            f"without a drain: worker {broken.address}", healed["scriptLog"]
        )
        self.assertNotIn("Warning", healed["scriptLog"])
        self.assert_cluster_state()
        self.until_running()
        vnf.hosts.cluster.set_node_capacity(name, pods=110)

    def fail_to_evict_pods(self) -> None:
        vnf = self.vnf
        drain_params = {PARAMETERS: {"drain": {"timeout": 3.0}}}
        failed = vnf.run_operation(
            "scale", {**IN, "additionalParams": drain_params}, "FAILED_TEMP"
        )
        self.assert_failed(failed, "drain the node", "disruption budget")
        (cordoned,) = (
            address
            for address, node in vnf.hosts.nodes().items()
            if node["spec"].get("unschedulable")
        )
        self.assertIn(cordoned, vnf.addresses(*vnf.workers))
        vnf.run_decision(failed, "fail", "FAILED")
        (broken,) = (w for w in vnf.workers if w.address == cordoned)
        healed = vnf.heal(broken, drain={"timeout": 3.0})
        self.assertIn("Warning: drain the node", healed["scriptLog"])
        self.assertIn("disruption budget", healed["scriptLog"])
        self.assert_cluster_state()
        self.until_running()

    def delete_pods_without_eviction(self) -> None:
        vnf = self.vnf
        broken = vnf.workers[0]
        healed = vnf.heal(broken, drain={"disable_eviction": True})
        self.assertNotIn("Warning", healed["scriptLog"])
        self.assert_cluster_state()
        self.until_running()


class TestKills(NodeCase):
    """Kills of the management script, one in each heal: before each remote
    command, before each write to the API, and inside of kubeadm.
    """

    reports = True

    def setUp(self) -> None:
        if not EVERY:
            self.skipTest("slow; set TACKER_CNF_TEST_KILLS to run it")
        super().setUp()

    def test_heal_of_a_master_completes_after_a_kill_at_any_point(
        self,
    ) -> None:
        self.kill_at_each_point(lambda: self.vnf.masters[0])

    def test_heal_of_a_worker_completes_after_a_kill_at_any_point(
        self,
    ) -> None:
        self.vnf.hosts.call("POST", DEPLOYMENTS, a_deployment(4))
        self.until_running()
        self.kill_at_each_point(lambda: self.vnf.workers[0])

    def kill_at_each_point(self, broken: Callable[[], Host]) -> None:
        kill_points = self.vnf.hosts.kill_points
        number = 0
        while True:
            kill_points.kill_at(_number(number))
            op_occ = self.vnf.heal(broken(), end=None)
            if not kill_points.was_killed:
                break
            point = f"{number}: {kill_points.passed[number]}"
            self.addDetail(f"kill {number}", content.text_content(point))
            self.assertIn("SIGKILL", op_occ["error"]["detail"], point)
            self.vnf.run_decision(op_occ, "retry", "COMPLETED")
            self.assert_cluster_state()
            number += EVERY
        self.assertEqual("COMPLETED", op_occ["operationState"])
        self.assertLess(5, len(kill_points.passed), kill_points.passed)
