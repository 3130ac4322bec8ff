"""A backup and a restore by the commands of doc/source/admin/backup.rst."""

import os
import re
import shutil
import subprocess
import textwrap
from typing import Final

import sqlalchemy as sa
import testtools

from tests.fixtures import waiting
from tests.operation_kinds import OUT
from tests.services import openstack_command
from tests.services.backends import MARIADB, POSTGRESQL, skip_or_fail
from tests.services.client import INSTANCES, Response, instantiation
from tests.services.cluster import Cluster
from tests.services.deployment import Api, Conductor, Deployment
from tests.services.openstack_command import ROOT

PAGE: Final = ROOT / "doc" / "source" / "admin" / "backup.rst"
BLOCK: Final = re.compile(
    r"^\.\. code-block:: bash\n\n((?:   .*\n|\n)+)", re.MULTILINE
)
FORCEFUL: Final = {"terminationType": "FORCEFUL"}
SMALL = "configmap secret deployment"
#: seconds that a pod takes to start, unless start_pods() is called
START_DELAY_S = 3600.0


class TestBackup(testtools.TestCase):
    server = POSTGRESQL
    #: the programs of the page for this server
    tools: tuple[str, ...] = ("pg_dump", "pg_restore")

    def setUp(self) -> None:
        super().setUp()
        for tool in self.tools:
            if shutil.which(tool.split()[0]) is None:
                skip_or_fail(self, f"{tool} is not installed")
        self.deployment = self.useFixture(Deployment(self, self.server))
        self.folder = self.deployment.folder
        (self.folder / "etc").mkdir()
        self.conf = self.folder / "etc" / "tacker_cnf.conf"
        shutil.copy(self.deployment.conf, self.conf)
        self.cluster = self.useFixture(Cluster())
        self.start()
        self.api.client.register(self.cluster.vim)
        self.vnfd_id = self.api.client.onboard_sample()

    def start(self) -> None:
        self.api: Api = self.deployment.api(self.conf)
        self.client = self.api.client
        self.conductor: Conductor = self.deployment.conductor(self.conf)

    def test_the_service_continues_from_the_backup(self) -> None:
        scaled, terminated = self.create(), self.create()
        for instance_id in (scaled, terminated):
            self.instantiate(instance_id)
        interrupted = self.begin(), self.begin()
        forgotten = self.create()
        self.run_blocks("export BACKUP", *self.tools[:1], "tar --create")
        self.cluster.start_pods()
        for op_occ_id in interrupted:
            self.client.wait_operation(op_occ_id)
        self.client.run(scaled, "scale", OUT)
        self.client.run(terminated, "terminate", FORCEFUL)
        unknown = self.create()
        for instance_id in (forgotten, unknown):
            self.instantiate(instance_id)
        self.destroy()
        self.run_blocks(self.tools[-1], "tar --extract")
        self.start()
        self.deployment.expire_leases(self.lost_pids)
        self.check_interrupted(*interrupted)
        self.check_synchronized(scaled)
        self.client.run(terminated, "terminate", FORCEFUL)
        self.instantiate(forgotten)
        self.assertEqual(404, self.get(unknown).status)
        self.assertNotEqual({}, self.cluster.pods(unknown))
        self.assertIn("0 errors", self.deployment.manage("doctor", self.conf))

    def get(self, instance_id: str) -> Response:
        return self.client.call("GET", f"{INSTANCES}/{instance_id}")

    def create(self) -> str:
        """Create an instance, and its namespace."""
        instance_id = self.client.create(self.vnfd_id)
        return self.cluster.add_namespace(instance_id)

    def instantiate(self, instance_id: str) -> None:
        request = instantiation(SMALL, instance_id)
        self.client.run(instance_id, "instantiate", request)

    def begin(self) -> str:
        """Begin to instantiate a VNF whose pods do not start; return the
        operation.
        """
        self.cluster.sandbox.set_pod_start_delay(START_DELAY_S)
        instance_id = self.create()
        request = instantiation(SMALL, instance_id)
        op_occ_id = self.client.start_operation(
            instance_id, "instantiate", request
        )
        waiting.until(
            lambda: self.cluster.pods(instance_id), "a pod", timeout=60.0
        )
        return op_occ_id

    def run_blocks(self, *names: str) -> None:
        """Run the commands of the page that contain these names."""
        blocks = [textwrap.dedent(b) for b in BLOCK.findall(PAGE.read_text())]
        chosen = [blocks[0]]
        for name in names:
            (block,) = [b for b in blocks if name in b]
            chosen.append(block)
        script = "\n".join(dict.fromkeys(chosen))
        for ours, theirs in (
            ("/var/backups/tacker_cnf/$(date +%F-%H%M)", "$HOME/backup"),
            ("/var/backups/tacker_cnf-keys", "$HOME/keys"),
            ("/var/lib/tacker_cnf", str(self.folder / "state")),
            ("/etc/tacker_cnf", str(self.folder / "etc")),
        ):
            self.assertIn("tacker_cnf", ours)
            script = script.replace(ours, theirs)
        script = re.sub(
            r"(?<![/\w])tacker_cnf\b", self.deployment.database.name, script
        )
        self.run_script(script)

    def run_script(self, script: str) -> None:
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            env=openstack_command.inherited_environ() | self.environ(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        self.assertEqual(0, done.returncode, script + done.stderr)

    def environ(self) -> dict[str, str]:
        """Return the environment in which the page's programs find the
        database.
        """
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        url = sa.make_url(self.server)
        password = url.password or ""
        (home / ".my.cnf").write_text(
            f"[client]\nhost={url.host}\nport={url.port or 3306}\n"
            f"user={url.username}\npassword={password}\n"
        )
        return {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "PGHOST": url.host or "",
            "PGPORT": str(url.port or 5432),
            "PGUSER": url.username or "",
            "PGPASSWORD": password,
        }

    def destroy(self) -> None:
        """Lose all processes, the database and all files."""
        self.lost_pids = [*self.conductor.pids(), *self.api.pids()]
        for program in (self.conductor, self.api):
            program.kill()
        self.deployment.database.recreate()
        for name in ("state", "etc"):
            shutil.rmtree(self.folder / name)

    def check_interrupted(self, retried: str, rolled_back: str) -> None:
        for op_occ_id, decision, state in (
            (retried, "retry", "COMPLETED"),
            (rolled_back, "rollback", "ROLLED_BACK"),
        ):
            failed = self.client.wait_operation(op_occ_id)
            self.assertEqual("FAILED_TEMP", failed["operationState"])
            ended = self.client.decide(op_occ_id, decision)
            self.assertEqual(state, ended["operationState"], str(ended))

    def check_synchronized(self, instance_id: str) -> None:
        """Check that a synchronization records what happened since."""
        path = f"{INSTANCES}/{instance_id}/sync"
        self.client.call_expecting("POST", path, None, 202)
        waiting.until(
            lambda: len(self.client.pods(instance_id)) == 2, "two VNFCs", 60.0
        )
        pods = set(self.cluster.pods(instance_id))
        self.assertEqual(pods, self.client.pods(instance_id))


class TestBackupOnMariadb(TestBackup):
    server = MARIADB
    tools = ("mariadb-dump", "mariadb tacker_cnf")
