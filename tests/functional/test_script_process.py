"""The child process of a script, and its supervisor."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import fixtures
import testtools

from tacker_cnf import errors
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.runtime.clock import SYSTEM_CLOCK
from tacker_cnf.runtime.lease import Lease
from tacker_cnf.scripts.limits import ScriptLimits
from tacker_cnf.scripts.process import ScriptProcess
from tacker_cnf.scripts.workdir import Workspace
from tests.fixtures import waiting
from tests.fixtures.processes import children, is_running

SLEEPING = """\
import os, pathlib, time
pathlib.Path("new").write_text(str(os.getpid()))
pathlib.Path("new").rename("pid")
time.sleep(600)
"""
#: pickled integers that share a hash: each new key is compared to all others
COLLIDING: Final = (
    b"\x8a\x0a" + (n * (2**61 - 1)).to_bytes(10, "little")
    for n in range(60_000)
)
SLOW: Final = b"}(" + b"N".join(COLLIDING) + b"Nu."


def start(
    script: Path, *options: str, lease: int | None = None
) -> ScriptProcess:
    limits = ScriptLimits(
        timeout=600.0,
        max_memory_bytes=512 * 1024**2,
        max_file_bytes=0,
        max_output_bytes=1024**2,
        max_log_bytes=1000,
        vim_credentials=False,
        temporary_directories=None,  # type: ignore[arg-type]
        state=script.parent,
    )
    return ScriptProcess(
        (*options, str(script)),
        Workspace(package_dirs=(), home=script.parent),
        limits,
        SecretMasker(()),
        lease,
    )


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
                *(str(parent), "0", "", str(self.script)),
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
        self.script.write_text(SLEEPING)
        return start(self.script, lease=lease)

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


class TestPickledOutput(testtools.TestCase):
    """The child process of a script converts its pickle to JSON."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)

    def script(self, data: bytes, then: str = "") -> Path:
        """Write a script that writes data on stdout."""
        (self.folder / "data").write_bytes(data)
        script = self.folder / "script.py"
        script.write_text(
            "import os, sys, time\n"
            "sys.stdout.buffer.write(open('data', 'rb').read())\n"
            f"sys.stdout.flush()\n{then}\n"
        )
        return script

    def run_script(self, data: bytes, then: str = "") -> tuple[Any, Any]:
        """Return the exit code and the output."""
        with start(self.script(data, then), "--pickled") as child:
            code = child.execute(b"", lambda: None)
            self.assertEqual("", child.log())
            return code, child.output() and json.loads(child.output())

    def test_the_script_keeps_its_exit_code(self) -> None:
        texts = ["x" * 300_000, "y" * 300_000]  # longer than a pipe
        data = pickle.dumps({"user_script_err_handling_data": texts})
        expected = {"userScriptErrHandlingData": texts}
        for code, end in (
            (0, ""),
            (3, "os._exit(3)"),
            (-9, "os.kill(os.getpid(), 9)"),
        ):
            self.assertEqual((code, expected), self.run_script(data, end))

    def test_processes_that_keep_stdout_open(self) -> None:
        forks = "if not os.fork():\n os.setsid()\n time.sleep(600)"
        self.assertEqual((0, {}), self.run_script(b"", forks))

    def test_too_much_output_or_memory(self) -> None:
        text = b"V" + b"a" * 100_000 + b"\n"
        for data, message in (
            (b"]" * 5_000_000, "more than 1048576 bytes"),
            (b"\x96" + (2**31).to_bytes(8, "little"), "too much memory"),
            (b"}Vvnf_instance\n(" + text + b"2" * 20 + b"ls.", "as JSON"),
        ):
            code, output = self.run_script(data)
            self.assertEqual(0, code)
            self.assertIn(message, output["error"])

    def test_a_crash(self) -> None:
        """The key is hashed by a recursion without limit."""
        data = b"})" + b"\x85" * 1_000_000 + b"Ns."
        self.assertEqual((0, b""), self.run_script(data))

    def test_a_conversion_is_killed_in_time(self) -> None:
        start_child = (
            "from tacker_cnf.scripts import child, pickled_output\n"
            "pickled_output.CONVERSION_TIMEOUT_S = 1\n"
            "child.main()"
        )
        limits = (str(os.getpid()), "1000000", "")
        command = (*limits, "--pickled", str(self.script(SLOW)))
        output = subprocess.check_output(
            [sys.executable, "-c", start_child, *command], cwd=self.folder
        )
        self.assertEqual(b"", output)

    def test_a_conversion_ends_with_its_supervisor(self) -> None:
        script = self.script(SLOW, "sys.stdin.read()")
        lease = Lease.new(margin=0.0)
        for ends_by_lease in (False, True):
            lease.renew(SYSTEM_CLOCK.boottime() + 600.0)
            with (
                lease.shared() as fd,
                start(script, "--pickled", lease=fd) as child,
            ):
                converter = self.wait_converter(child._process)
                if ends_by_lease:
                    lease.renew(SYSTEM_CLOCK.boottime())
                else:
                    child._process.terminate()
                self.assertEqual(128 + 15, child._process.wait(60))
                self.assertFalse(is_running(converter))

    def wait_converter(self, child: subprocess.Popen[bytes]) -> int:
        """Let the script end, and wait for the process that converts."""
        script = waiting.until(lambda: children(child.pid), "the script")
        assert child.stdin
        child.stdin.close()
        (converter,) = waiting.until(
            lambda: {*children(child.pid)} - {*script}, "the conversion"
        )
        return converter
