"""The child process of a script, and its supervisor."""

import os
import subprocess
import sys
from pathlib import Path

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.runtime.clock import SYSTEM_CLOCK
from tacker_cnf.runtime.lease import Lease
from tacker_cnf.scripts import process
from tacker_cnf.scripts.process import ScriptProcess
from tests.fixtures import waiting
from tests.fixtures.processes import is_running

SLEEPING = """\
import os, pathlib, time
pathlib.Path("new").write_text(str(os.getpid()))
pathlib.Path("new").rename("pid")
time.sleep(600)
"""


class TestChild(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.script = self.folder / "script.py"
        self.script.write_text("open('ran', 'w').close()")

    def ran(self, parent: int) -> bool:
        subprocess.run(
            [
                sys.executable,
                "-m",
                "tacker_cnf.scripts.child",
                *(str(parent), "0", "0", str(self.script)),
            ],
            cwd=self.folder,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        return (self.folder / "ran").exists()

    def test_a_script_does_not_start_if_its_conductor_has_ended(self) -> None:
        self.assertFalse(self.ran(parent=1))
        self.assertTrue(self.ran(parent=os.getpid()))

    def sleeping(self, lease: int | None = None) -> ScriptProcess:
        limits = process.ScriptLimits(
            timeout=600.0,
            max_memory_bytes=0,
            max_file_bytes=0,
            max_output_bytes=1000,
            max_log_bytes=1000,
            vim_credentials=False,
            temporary_directories=None,  # type: ignore[arg-type]
            state=self.folder,
        )
        self.script.write_text(SLEEPING)
        script = (str(self.script),)
        return ScriptProcess(
            script, self.folder, limits, SecretMasker(()), lease
        )

    def test_a_script_is_killed_when_its_lease_expires(self) -> None:
        """Its conductor does nothing meanwhile, as if it were stopped."""
        lease = Lease.new(margin=0.0)
        lease.renew(SYSTEM_CLOCK.boottime() + 600.0)
        with lease.shared() as fd, self.sleeping(fd) as child:
            started = self.folder / "pid"
            waiting.until(started.exists, "the start of the script")
            script = int(started.read_text())
            lease.renew(SYSTEM_CLOCK.boottime() + 0.1)
            waiting.until(lambda: not is_running(script), "the script's end")
            self.assertEqual(128 + 15, child._process.wait(60))

    def test_a_cancelled_script_leaves_no_process_and_no_pipe(self) -> None:
        child = self.sleeping()

        def cancelled() -> None:
            with child:
                raise errors.Cancelled

        self.assertRaises(errors.Cancelled, cancelled)
        self.assertFalse(is_running(child._process.pid))
        for pipe in (child._process.stdin, child._process.stdout):
            self.assertTrue(pipe and pipe.closed)
