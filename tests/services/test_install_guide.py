"""The commands of the installation guide, typed as the page shows them."""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import textwrap
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import fixtures
import testtools
import yaml
from keystoneauth1 import session
from keystoneauth1.identity import v3
from testtools.content import text_content

from tests.fixtures.openstack import TIER, read_settings
from tests.services import openstack_command
from tests.services.backends import skip_or_fail
from tests.services.cluster import Cluster
from tests.services.openstack_command import ROOT, OpenstackCommand

PAGE: Final = ROOT / "doc" / "source" / "admin" / "install.rst"
BLOCK: Final = re.compile(
    r"^\.\. code-block:: bash\n\n((?:   .*\n|\n)+)", re.MULTILINE
)
#: the beginnings of blocks that are not executed, and why
NOT_EXECUTED: Final = {
    "apt-get update": "the servers are installed already, and are running",
    "python3 -m venv /opt/openstackclient": (
        "tools/cli-venv has installed the same lock"
    ),
    "systemctl daemon-reload": (
        "systemd does not run here; the page has other commands for this, and"
        " test_systemd_units checks the units"
    ),
}
#: configuration that is not on the page: here, the cluster of the VIM is on the
#: loopback interface
ADDITION: Final = "[vims]\nallow_loopback = true\n"
#: the sources that the commands read
SOURCES: Final = (
    *("LICENSE", "README.rst", "etc", "locks", "pyproject.toml"),
    *("requirements.txt", "samples", "setup.cfg", "tacker_cnf"),
    *("doc-requirements.txt", "lint-requirements.txt"),
    "test-requirements.txt",
)
#: the directories to which the commands write: each is a copy-on-write view
#: of that of this machine. Argument: an empty directory
VIEW: Final = """\
mount --make-rprivate /
mount -t tmpfs -o mode=755 view "$1"
resolver=$(cat /etc/resolv.conf)
for name in etc opt root var/lib var/log; do
    mkdir -p "$1/$name" "$1/work/$name"
    options=lowerdir=/$name,upperdir=$1/$name,workdir=$1/work/$name
    mount -t overlay -o "$options" view "/$name"
done
echo "$resolver" >/etc/resolv.conf
mkdir -p /etc/tacker_cnf/tacker_cnf.conf.d
echo "$2" >/etc/tacker_cnf/tacker_cnf.conf.d/test.conf
"""
PROGRAMS: Final = ("bwrap", "curl", "kubectl", "psql", "rabbitmqctl")
MARK: Final = "==== "


def blocks() -> list[str]:
    """Return the blocks of commands of the page."""
    return [textwrap.dedent(one) for one in BLOCK.findall(PAGE.read_text())]


def run(*command: str) -> str:
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


class Region(fixtures.Fixture):
    """A region of Keystone for one test, and what the commands create in
    Keystone.
    """

    def __init__(self, environ: dict[str, str]) -> None:
        super().__init__()
        self.name = f"test-{uuid.uuid4().hex[:12]}"
        self._url = environ["OS_AUTH_URL"]
        self._session = session.Session(
            v3.Password(
                self._url,
                username=environ["OS_USERNAME"],
                password=environ["OS_PASSWORD"],
                user_domain_name="Default",
                project_name=environ["OS_PROJECT_NAME"],
                project_domain_name="Default",
            )
        )

    def _setUp(self) -> None:
        self.delete_created()
        (identity,) = self.find("services", "type=identity")
        self._call("POST", "/regions", region={"id": self.name})
        self.addCleanup(self._call, "DELETE", f"/regions/{self.name}")
        for interface in ("public", "internal", "admin"):
            endpoint = {
                "service_id": identity["id"],
                "interface": interface,
                "region_id": self.name,
                "url": self._url,
            }
            self._call("POST", "/endpoints", endpoint=endpoint)
        self.addCleanup(self._delete, "endpoints", f"region_id={self.name}")
        self.addCleanup(self.delete_created)

    def delete_created(self) -> None:
        """Delete the user and the service that the page names."""
        for kind in ("users", "services"):
            self._delete(kind, "name=tacker_cnf")

    def _delete(self, kind: str, query: str) -> None:
        for one in self.find(kind, query):
            self._call("DELETE", f"/{kind}/{one['id']}")

    def find(self, kind: str, query: str) -> list[Any]:
        found: list[Any] = self._call("GET", f"/{kind}?{query}").json()[kind]
        return found

    def _call(self, method: str, path: str, **body: Any) -> Any:
        return self._session.request(
            self._url + path, method, json=body or None
        )


class TestInstallGuide(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        if os.geteuid() != 0:
            skip_or_fail(self, "the commands of the page need root")
        for program in PROGRAMS:
            if shutil.which(program) is None:
                skip_or_fail(self, f"{program} is not installed")
        self.environ = read_settings(self)
        self.command = self.useFixture(OpenstackCommand(self)).folder
        self.cluster = self.useFixture(Cluster())
        self.region = self.useFixture(Region(self.environ))
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.folder.chmod(0o755)
        self.require_unused_names()
        self.addCleanup(self.delete_names)

    def require_unused_names(self) -> None:
        """Fail before the test uses what belongs to a service here."""
        with contextlib.suppress(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", 9890)).close()
            self.fail("port 9890 is in use")
        roles = "SELECT rolname FROM pg_roles WHERE rolname = 'tacker_cnf'"
        self.assertEqual("", self.psql(roles), "the role exists")
        for kind in ("list_users", "list_vhosts"):
            names = run("rabbitmqctl", "--quiet", kind).split()
            self.assertNotIn("tacker_cnf", names, kind)

    def psql(self, statement: str) -> str:
        options = ("--quiet", "--tuples-only", "--command", statement)
        return run("runuser", "-u", "postgres", "--", "psql", *options)

    def delete_names(self) -> None:
        self.psql("DROP DATABASE IF EXISTS tacker_cnf WITH (FORCE)")
        self.psql("DROP ROLE IF EXISTS tacker_cnf")
        expression = (
            'rabbit_vhost:delete(<<"tacker_cnf">>, <<"tests">>),'
            'rabbit_auth_backend_internal:delete_user(<<"tacker_cnf">>,'
            ' <<"tests">>).'
        )
        run("rabbitmqctl", "--quiet", "eval", expression)

    def source(self) -> Path:
        """Return a source tree with the files of its reader."""
        tree = self.folder / "source"
        tree.mkdir()
        ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
        for name in SOURCES:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, tree / name, ignore=ignore)
            else:
                shutil.copy(ROOT / name, tree)
        settings = self.environ | {"OS_REGION_NAME": self.region.name}
        settings.pop(TIER)
        (tree / "admin-openrc").write_text(
            "".join(
                f"export {name}={value}\n"
                for name, value in settings.items()
                if name.startswith("OS_")
            )
        )
        (self.folder / "kubeconfig").write_text(
            yaml.safe_dump(self.cluster.sandbox.kubeconfig())
        )
        return tree

    def typed(self) -> Iterator[str]:
        """Yield the commands to execute."""
        unexecuted = set(NOT_EXECUTED)
        for number, block in enumerate(blocks()):
            found = {one for one in unexecuted if block.startswith(one)}
            unexecuted -= found
            if not found:
                yield f"echo '{MARK}{number}'\n{block}"
        self.assertEqual(set(), unexecuted)

    def run_guide(self) -> list[str]:
        """Type the commands in one shell; return the output of each block."""
        tree = self.source()
        (self.folder / "view").mkdir()
        script = "\n".join(["set -e -o pipefail", *self.typed()])
        view = f'set -e\n{VIEW}exec bash -c "$3"'
        arguments = ("bash", str(self.folder / "view"), ADDITION, script)
        environ = openstack_command.inherited_environ()
        environ["PATH"] = f"{self.command}:{environ['PATH']}"
        # most modules are not imported; 0 is "no compilation" to pip
        environ["PIP_NO_COMPILE"] = "0"
        environ["KUBECONFIG"] = str(self.folder / "kubeconfig")
        output = self.folder / "output"
        with output.open("w") as file:
            # before the folder is deleted
            self.addCleanup(
                lambda: self.addDetail(
                    "output", text_content(output.read_text())
                )
            )
            done = subprocess.run(
                [
                    *("unshare", "--mount", "--pid", "--fork", "--mount-proc"),
                    *("--kill-child=KILL", "bash", "-c", view, *arguments),
                ],
                check=False,
                cwd=tree,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=900,
            )
        self.assertEqual(0, done.returncode)
        return output.read_text().split(MARK)

    def test_the_commands_end_with_a_completed_heal(self) -> None:
        *_, instantiated, healed = self.run_guide()
        first = "COMPLETED INSTANTIATE\n"
        self.assertIn(f"{first}NAME", instantiated)
        self.assertIn(f"{first}COMPLETED HEAL\n", healed)
        before, after = map(self.pods, (instantiated, healed))
        self.assertEqual(set(self.cluster.pods("vnf-a")), after)
        self.assertEqual((6, 6), (len(before), len(after)))

    def pods(self, output: str) -> set[str]:
        """Return the names of the pods in the table of kubectl."""
        _, _, table = output.partition("NAME")
        return {line.split()[0] for line in table.splitlines()[1:]}
