"""SSH to new nodes: their host keys are verified before the login."""

import json
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.mgmt_drivers.cluster import vim_clients
from tacker_cnf.mgmt_drivers.cluster.host_keys import (
    METADATA_KEY,
    HostKeyPolicy,
    HostKeys,
)
from tacker_cnf.mgmt_drivers.cluster.installation_parameters import (
    InstallationParameters,
)
from tacker_cnf.mgmt_drivers.cluster.memory import WORKER, Memory, Node
from tacker_cnf.mgmt_drivers.cluster.ssh_pool import SshPool
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.sol.common import VimConnectionInfo
from tests.factories import an_instance
from tests.fixtures import keystone
from tests.fixtures.http_receiver import (
    HttpReceiver,
    ReceivedRequest,
    Response,
)
from tests.fixtures.ssh_hosts import USER, Host
from tests.services.test_ssh_hosts import HostCase

SERVER: Final = "6f1c2f3e-0000-4000-8000-000000000001"
REQUIRED: Final = HostKeyPolicy.REQUIRED
PRINTED: Final = (
    "-----BEGIN SSH HOST KEY KEYS-----\r\n{} root@node\r\n"
    "-----END SSH HOST KEY KEYS-----\r\n"
)


class TestNewNodes(HostCase):
    def setUp(self) -> None:
        super().setUp()
        self.nova = self.useFixture(HttpReceiver())
        self.nova.responder = self.respond
        self.keystone = self.useFixture(HttpReceiver())
        self.keystone.responder = keystone.with_service(
            "compute", self.nova.url
        )
        #: what Nova reports of the server
        self.consoles: list[str] = []
        self.metadata: dict[str, str] = {}
        self.memory = Memory()
        self.node = Node(
            vnfc=SERVER,
            role=WORKER,
            ssh=self.address(2),
            address=self.address(2),
        )

    def respond(self, request: ReceivedRequest) -> Response:
        self.assertIn(f"/servers/{SERVER}", request.path)
        body: Any = {
            "server": {
                "id": SERVER,
                "status": "ACTIVE",
                "OS-EXT-STS:task_state": None,
                "metadata": self.metadata,
            }
        }
        if request.method == "POST":
            self.assertEqual({"os-getConsoleOutput": {}}, request.json)
            if not self.consoles:
                return 409, {}, b"{}"
            body = {"output": self.consoles[0]}
            if len(self.consoles) > 1:
                del self.consoles[0]
        kind = {"Content-Type": "application/json"}
        return 200, kind, json.dumps(body).encode()

    def pool(self, policy: HostKeyPolicy, boot_timeout: float) -> SshPool:
        group = {
            "vdu_id": "worker",
            "ssh_cp_name": "cp",
            "nic_cp_name": "cp",
            "username": USER,
            "password": self.hosts.password,
        }
        parameters = msgspec.convert(
            {
                "script_path": "x",
                "master_node": {**group, "cluster_cp_name": "vip"},
                "worker_node": group,
                "boot_timeout": boot_timeout,
            },
            InstallationParameters,
        )
        connection = VimConnectionInfo(
            vim_type="ETSINFV.OPENSTACK_KEYSTONE.V_3",
            interface_info={"endpoint": f"{self.keystone.url}/v3"},
            access_info=keystone.ACCESS_INFO,
        )
        instance = an_instance(vim_connection_info={"vim1": connection})
        deadline = Deadline.within(120.0)
        host_keys = HostKeys(
            policy, lambda: vim_clients.nova(instance, deadline), deadline
        )
        pool = SshPool(parameters, self.memory, host_keys, deadline)
        self.addCleanup(pool.close)
        return pool

    def connect(
        self,
        policy: HostKeyPolicy = REQUIRED,
        boot_timeout: float = 30.0,
    ) -> str:
        """Connect to the node; return the name of the machine."""
        host = self.pool(policy, boot_timeout).host(self.node)
        return host.check("hostname").stdout.decode().strip()

    def refused(
        self, kind: type[errors.RemoteFailed], boot_timeout: float = 30.0
    ) -> str:
        error = self.assertRaises(
            kind, self.connect, boot_timeout=boot_timeout
        )
        self.assertEqual({}, self.memory.host_keys)
        return str(error)

    def node_and_man_in_the_middle(self) -> tuple[str, Host]:
        """Return the key of the node, and the machine at its address."""
        key = self.hosts.make("node", self.address(2)).host_key
        return key, self.hosts.make("other", self.address(2))

    def test_a_key_that_cloud_init_prints(self) -> None:
        """The server boots: its console has no key yet."""
        node = self.hosts.make("node", self.address(2))
        self.consoles = ["booting", PRINTED.format(node.host_key)]
        self.assertEqual("node", self.connect())
        self.assertEqual({SERVER: node.host_key}, self.memory.host_keys)

    def test_a_key_in_the_metadata(self) -> None:
        node = self.hosts.make("node", self.address(2))
        self.metadata = {METADATA_KEY: node.host_key}
        self.assertEqual("node", self.connect())

    def test_a_man_in_the_middle(self) -> None:
        key, other = self.node_and_man_in_the_middle()
        for self.consoles, self.metadata in (
            ([PRINTED.format(key)], {}),
            ([], {METADATA_KEY: key}),
            ([PRINTED.format(other.host_key)], {METADATA_KEY: key}),
        ):
            message = self.refused(errors.HostKeyChanged)
            self.assertIn("but the known key is", message)
            self.assertIn("No login and no command was sent", message)

    def test_a_man_in_the_middle_of_trust_on_first_use(self) -> None:
        key, other = self.node_and_man_in_the_middle()
        self.metadata = {METADATA_KEY: key}
        name = self.connect(HostKeyPolicy.TRUST_ON_FIRST_USE)
        self.assertEqual("other", name)
        self.assertEqual({SERVER: other.host_key}, self.memory.host_keys)
        self.assertEqual([], self.nova.requests)

    def test_a_server_without_a_reported_key(self) -> None:
        self.hosts.make("node", self.address(2))
        for self.consoles in ([], ["login: "]):
            message = self.refused(errors.HostKeyUnknown, boot_timeout=1.0)
            self.assertIn("neither its metadata 'ssh_host_key'", message)
            self.assertIn("[openstack] ssh_host_keys", message)

    def test_the_key_of_the_first_contact_is_required_later(self) -> None:
        key, other = self.node_and_man_in_the_middle()
        self.memory.host_keys[SERVER] = key
        self.metadata = {METADATA_KEY: other.host_key}
        for policy in HostKeyPolicy:
            self.assertRaises(errors.HostKeyChanged, self.connect, policy)
        self.assertEqual({SERVER: key}, self.memory.host_keys)
