"""What the child process does before the script begins."""

import os
import subprocess
import sys
from pathlib import Path

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm.veil import Veil
from tacker_cnf.scripts import process
from tacker_cnf.scripts.process import Child
from tests.fixtures.processes import is_there


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

    def test_a_script_whose_conductor_has_died_does_not_begin(self) -> None:
        self.assertFalse(self.ran(parent=1))
        self.assertTrue(self.ran(parent=os.getpid()))

    def test_a_script_that_nobody_talks_to_leaves_nothing(self) -> None:
        bounds = process.Bounds(
            timeout=600.0,
            max_memory=0,
            max_file=0,
            max_output=1000,
            max_log=1000,
            vim_credentials=False,
            scratch=None,  # type: ignore[arg-type]
        )
        self.script.write_text("import time; time.sleep(600)")
        child = Child((str(self.script),), self.folder, bounds, Veil(()))

        def cancelled() -> None:
            with child:
                raise errors.Cancelled

        self.assertRaises(errors.Cancelled, cancelled)
        self.assertFalse(is_there(child._process.pid))
        for pipe in (child._process.stdin, child._process.stdout):
            self.assertTrue(pipe and pipe.closed)
