"""The image of etc/container, built and run without a container engine."""

import os
import shutil
import subprocess
import textwrap
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import fixtures
import testtools

from tests.fixtures import waiting
from tests.fixtures.container_build import Build, Stage, run
from tests.fixtures.ports import ReservedPort
from tests.services.backends import skip_or_fail
from tests.services.deployment import START_TIMEOUT_S
from tests.services.installed_program import InstalledProgram
from tests.services.openstack_command import ROOT

CONTAINERFILE: Final = ROOT / "etc" / "container" / "Containerfile"
#: a root file system that is read-only, but for /tmp and the volume; arguments:
#: root, volume, user, group, program ...
RUN: Final = """\
set -e
mount --make-rprivate /
mount --bind "$0" "$0"
mount --bind "$1" "$0/var/lib/tacker_cnf"
mount --bind "$2" "$0/etc/tacker_cnf"
mount --rbind /proc "$0/proc"
mount -t tmpfs tmpfs "$0/tmp"
mount --rbind /dev "$0/dev"
cd "$0"
pivot_root . mnt
umount -l /mnt
mount -o remount,bind,ro /
shift 2
exec setpriv --reuid "$1" --regid "$2" --clear-groups --no-new-privs \\
    --bounding-set=-all -- "${@:3}"
"""
CONFIGURATION: Final = """\
    [api]
    auth_strategy = noauth
    port = {api}
    [metrics]
    conductor_port = {conductor}
    """


class TestImage(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        if os.geteuid() != 0:
            skip_or_fail(self, "running the steps of an image needs root")
        if shutil.which("debootstrap") is None:
            skip_or_fail(self, "debootstrap is not installed")
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        # in memory: it takes minutes to delete this many files from some disks
        run(
            "mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(self.folder)
        )
        self.addCleanup(run, "umount", "--lazy", str(self.folder))
        self.ports = {
            name: self.useFixture(ReservedPort()).port
            for name in ("api", "conductor")
        }
        self.configuration = self.folder / "configuration"
        self.configuration.mkdir()
        text = textwrap.dedent(CONFIGURATION).format(**self.ports)
        (self.configuration / "tacker_cnf.conf").write_text(text)

    def build(self) -> Stage:
        arguments = {"VERSION": "1.2.3", "REVISION": "0123abc"}
        stage = Build(ROOT, self.folder, arguments).run(CONTAINERFILE)
        (stage.root / "etc" / "tacker_cnf").mkdir()
        (volume,) = stage.volumes
        self.volume = self.folder / "volume"
        shutil.copytree(stage.root / volume.lstrip("/"), self.volume)
        user, _, group = stage.user.partition(":")
        os.chown(self.volume, int(user), int(group))
        return stage

    def command(self, stage: Stage, *arguments: str) -> Sequence[str]:
        """Return the command that runs a program as a container."""
        return [
            *("unshare", "--mount", "bash", "-c", RUN, str(stage.root)),
            *(str(self.volume), str(self.configuration)),
            *stage.user.split(":"),
            *("env", "-i", f"--chdir={stage.workdir}"),
            *(f"{name}={value}" for name, value in stage.environ.items()),
            *stage.entrypoint,
            *(arguments or stage.cmd),
        ]

    def run_once(self, stage: Stage, *arguments: str) -> str:
        done = subprocess.run(
            self.command(stage, *arguments),
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def start(self, stage: Stage, port: int, *arguments: str) -> None:
        """Start a server, and wait until it answers."""
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        command = self.command(stage, *arguments)
        self.useFixture(InstalledProgram(self, command, folder))

        def is_healthy() -> bool:
            url = f"http://127.0.0.1:{port}/healthz"
            try:
                with urllib.request.urlopen(url, timeout=10) as answer:
                    return bool(answer.status == 200)
            except urllib.error.URLError:
                return False

        waiting.until(is_healthy, f"the server {port}", START_TIMEOUT_S)

    def test_all_programs_run_with_a_read_only_root(self) -> None:
        stage = self.build()
        version = "org.opencontainers.image.version"
        self.assertEqual("1.2.3", stage.labels[version])
        shown = self.run_once(stage, "tacker-cnf-api", "--version")
        self.assertEqual("1.2.3", shown.strip())
        self.check_rights(stage)
        self.run_once(stage, "tacker-cnf-manage", "keys", "create")
        self.run_once(stage, "tacker-cnf-manage", "db", "upgrade")
        self.start(stage, self.ports["api"])
        self.start(stage, self.ports["conductor"], "tacker-cnf-conductor")

    def check_rights(self, stage: Stage) -> None:
        """It writes to the volume and to /tmp alone, as no user of the
        machine, and can isolate scripts.
        """
        touched = self.run_once(
            stage,
            *("sh", "-c"),
            "id --user; for place in / /etc /opt/tacker_cnf /tmp .; do"
            " touch $place/new 2>/dev/null && echo $place; done; true",
        )
        self.assertEqual("10001\n/tmp\n.\n", touched)
        self.run_once(
            stage,
            *("python", "-c"),
            "from tacker_cnf.scripts import isolation;"
            "isolation.check_available()",
        )
