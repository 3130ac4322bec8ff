"""A Kubernetes cluster whose nodes are the VMs of a VNF, while they change."""

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
#: of sshd on a host, and how another one is made
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


#: how many points there are from one kill to the next; 0: none is killed
EVERY: Final = int(os.environ.get("TACKER_CNF_TEST_KILLS", "0"))
#: the points of ``kubeadm join`` on a master
JOINING: Final = ("member added", "member promoted", "kubelet started")
#: as administrators do it, with an etcd beside that of the master
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
    """Sees what is true of a cluster, whatever happened to it."""

    #: of instantiation
    level = "available"
    #: whether the management script can be killed anywhere
    reports = False

    def setUp(self) -> None:
        super().setUp()
        self.vnf = self.useFixture(
            KubernetesVnf(self, self.level, reports=self.reports)
        )
        self.vnf.start()

    def assert_cluster_state(self) -> None:
        """See that etcd, HAProxy and the nodes are those of the VNF."""
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
        """Tell how many pods of the deployment run."""
        found = self.vnf.hosts.call("GET", f"{DEPLOYMENTS}/web")
        return int(found["status"].get("readyReplicas", 0))

    def until_running(self) -> None:
        waiting.until(lambda: self.running() == 4, "the pods")

    def assert_served(self, poller: Poller) -> None:
        """See that a client was served throughout. The cluster's address moves
        in a moment, and an API server ends what it has begun when its etcd
        finds no leader for a while, as on a machine with much to do: that
        costs a request or two.
        """
        poller.stop()
        poller_summary = f"{poller}"
        self.addDetail(poller_summary, content.text_content(poller_summary))
        self.assertLess(len(poller.errors), 10, poller_summary)
        self.assertLess(20, poller.answer_count, poller_summary)

    def poll_api(self, address: str) -> Poller:
        """Let a client ask for the API again and again."""
        return self.useFixture(Poller(f"https://{address}:16443"))


class TestHeal(NodeCase):
    """Each is one operation on the cluster that the one before has left: it
    takes long to make one.
    """

    def test_it_lives_while_its_nodes_change(self) -> None:
        vnf = self.vnf
        self.assert_cluster_state()
        self.assert_vim_registered()
        vnf.hosts.call("POST", DEPLOYMENTS, a_deployment(4))
        self.until_running()
        vnf.etcdctl(vnf.masters[0], "put", "mark", "kept")
        self.a_master_is_healed()
        self.it_is_killed_while_a_master_joins()
        poller = self.poll_api(vnf.cluster_address)
        self.a_worker_is_healed()
        self.scale_out_workers()
        self.two_workers_are_healed()
        self.scale_in_workers()
        self.assert_served(poller)
        self.all_is_healed()
        self.terminate()

    def assert_vim_registered(self) -> None:
        vnf = self.vnf
        vim = vnf.vim()
        self.assertEqual(
            f"https://{vnf.cluster_address}:16443", vim["auth_url"]
        )
        vim_connections = vnf.instance(vnf.id)["vimConnectionInfo"]
        self.assertEqual({"default", VIM}, set(vim_connections))
        self.assertEqual(vim["id"], vim_connections[VIM]["vimId"])

    def a_master_is_healed(self) -> None:
        """Even the one that has the cluster's address."""
        vnf = self.vnf
        before = vnf.servers_of("masterNode")
        (broken,) = (m for m in vnf.masters if vnf.holds_cluster_address(m))
        others = [m for m in vnf.masters if m is not broken]
        vnf.move_etcd_leader(broken)
        pollers = [self.poll_api(master.address) for master in others]
        at_the_address = self.poll_api(vnf.cluster_address)
        healed = vnf.heal(broken)
        self.assertIn("leads etcd now", healed["scriptLog"])
        for poller in (*pollers, at_the_address):
            self.assert_served(poller)
        after = vnf.servers_of("masterNode")
        self.assertEqual(1, len(before - after))
        self.assertEqual(1, len(after - before))
        self.assert_cluster_state()
        snapshots = [
            m.run("ls /var/backups/etcd 2>/dev/null || true")
            for m in vnf.masters
        ]
        self.assertEqual(f"{healed['id']}.db", "".join(snapshots).strip())
        self.can_be_restored(healed)

    def can_be_restored(self, healed: Any) -> None:
        """Restore the copy on the conductor as the documentation says."""
        vnf = self.vnf
        folder = Path(vnf.state_path, "vnf", vnf.id, "etcd")
        (copy,) = folder.iterdir()
        self.assertEqual(f"{healed['id']}.db", copy.name)
        self.assertIn(str(copy), healed["scriptLog"])
        self.assertEqual(0o600, stat.S_IMODE(copy.stat().st_mode))
        self.assertEqual(0o700, stat.S_IMODE(folder.stat().st_mode))
        master = vnf.masters[0]
        encoded = base64.b64encode(copy.read_bytes()).decode()
        master.run("base64 -d >/root/copy.db", given=encoded)
        self.assertEqual("kept", master.run(RESTORE).strip())

    def it_is_killed_while_a_master_joins(self) -> None:
        """Each retry is killed as well, at a later point."""
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

    def a_worker_is_healed(self) -> None:
        vnf = self.vnf
        before = vnf.servers_of("workerNode")
        broken = vnf.workers[0]
        vnf.heal(broken)
        after = vnf.servers_of("workerNode")
        self.assertEqual(1, len(before - after))
        self.assert_cluster_state()
        self.assertEqual(4, self.running())

    def scale_out_workers(self) -> None:
        self.vnf.run_operation("scale", OUT)
        self.assertEqual(3, len(self.vnf.workers))
        self.assert_cluster_state()

    def two_workers_are_healed(self) -> None:
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

    def all_is_healed(self) -> None:
        vnf = self.vnf
        before = vnf.vim()
        servers = set(vnf.hypervisor.servers)
        vnf.heal()
        self.assertEqual(set(), servers & set(vnf.hypervisor.servers))
        self.assert_cluster_state()
        after = vnf.vim()
        self.assertNotEqual(before["id"], after["id"])
        self.assert_vim_registered()

    def terminate(self) -> None:
        vnf = self.vnf
        vnf.run_operation("terminate", {"terminationType": "FORCEFUL"})
        self.assertIsNone(vnf.vim())
        vim_connections = vnf.instance(vnf.id).get("vimConnectionInfo", {})
        self.assertEqual({}, vim_connections)


class TestFailures(NodeCase):
    """Each tries again what has failed before: a retry goes on there."""

    def test_what_fails_changes_nothing_and_goes_on(self) -> None:
        self.no_master_would_stay()
        self.a_master_is_healed_at_last()
        self.a_dead_worker_is_healed()
        self.a_budget_keeps_pods()
        self.a_budget_is_overruled()

    def assert_failed(self, op_occ: Any, *words: str) -> None:
        """See that an operation says why it failed, and where."""
        self.assertEqual("FAILED_TEMP", op_occ["operationState"])
        for word in words:
            self.assertIn(word, op_occ["error"]["detail"])
        self.assertNotIn(self.vnf.hosts.password, str(op_occ))

    def no_master_would_stay(self) -> None:
        vnf = self.vnf
        failed = vnf.heal(*vnf.masters, end="FAILED_TEMP")
        self.assert_failed(
            failed, "No master would stay", "without vnfcInstanceId"
        )
        vnf.run_decision(failed, "fail", "FAILED")
        # one would stay, and bear no loss
        failed = vnf.heal(*vnf.masters[:2], end="FAILED_TEMP")
        self.assert_failed(
            failed, "one after the other", "Nothing was changed"
        )
        vnf.run_decision(failed, "fail", "FAILED")
        self.assert_cluster_state()

    def a_master_is_healed_at_last(self) -> None:
        vnf = self.vnf
        broken, other, third = vnf.masters
        servers = vnf.servers_of("masterNode")

        def again(op_occ: Any, *words: str) -> Any:
            retried = vnf.run_decision(op_occ, "retry", "FAILED_TEMP")
            self.assert_failed(retried, *words)
            self.assertEqual(servers, vnf.servers_of("masterNode"))
            return retried

        # etcd has lost one already
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
        op_occ = again(op_occ, "etcd can do without", "not end within 10 s")
        for master in vnf.masters:
            self.assertEqual("", master.run("pgrep -x sleep || true"))
            master.run("rm /usr/local/bin/etcdctl")

        # nobody is let in
        third.run("pkill -o -x sshd")
        op_occ = again(
            op_occ, "connect to", third.address, "the connection is refused"
        )

        # somebody else answers
        third.run(f"mv {KEY} /root; {NEW_KEY}; /usr/sbin/sshd")
        op_occ = again(op_occ, third.address, "shows the host key")
        third.run(f"pkill -o -x sshd; mv /root/*_key {KEY}; /usr/sbin/sshd")

        # HAProxy would not take the new configuration
        path = "/etc/haproxy/haproxy.cfg"
        before = third.read(path)
        third.write(path, before + "nonsense\n")
        op_occ = again(op_occ, "HAProxy finds its new configuration", "kept")
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
        self.assertIn("leave", done["scriptLog"])
        self.assertIn("was done", done["scriptLog"])
        self.assertEqual(1, len(servers - vnf.servers_of("masterNode")))
        self.assert_cluster_state()

    def a_dead_worker_is_healed(self) -> None:
        """Though a budget and the room on the others would keep its pods."""
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
        self.assertIn(f"{broken.address} is lost", healed["scriptLog"])
        self.assertNotIn("Warning", healed["scriptLog"])
        self.assert_cluster_state()
        self.until_running()
        vnf.hosts.cluster.set_node_capacity(name, pods=110)

    def a_budget_keeps_pods(self) -> None:
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

    def a_budget_is_overruled(self) -> None:
        vnf = self.vnf
        broken = vnf.workers[0]
        healed = vnf.heal(broken, drain={"disable_eviction": True})
        self.assertNotIn("Warning", healed["scriptLog"])
        self.assert_cluster_state()
        self.until_running()


class TestKills(NodeCase):
    """The management script is killed once in each heal, before each remote
    command, before each change by the API, and inside of kubeadm.
    """

    reports = True

    def setUp(self) -> None:
        if not EVERY:
            self.skipTest("TACKER_CNF_TEST_KILLS is not set: it takes long")
        super().setUp()

    def test_a_master_is_healed_whenever_the_script_is_killed(self) -> None:
        self.kill_at_each_point(lambda: self.vnf.masters[0])

    def test_a_worker_is_healed_whenever_the_script_is_killed(self) -> None:
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
