"""The start of servers."""

import subprocess
import sys

import testtools

SCRIPT = """\
import ctypes, os, subprocess, sys
from pathlib import Path
from tacker_cnf.cmd import start

if os.getuid() == 0:  # root may read every process
    os.setgroups([])
    os.setresgid(12345, 12345, 12345)
    os.setresuid(12345, 12345, 12345)
ctypes.CDLL(None).prctl(start.PR_SET_DUMPABLE, 1, 0, 0, 0)

def is_readable():
    other = os.fork()
    if other:
        return os.waitpid(other, 0)[1] == 0
    try:
        Path(f"/proc/{os.getppid()}/environ").read_bytes()
    except PermissionError:
        os._exit(1)
    os._exit(0)

print(is_readable())
start.disable_ptrace()
print(is_readable())
# child processes can still be started
print(subprocess.run(["true"], stdin=subprocess.PIPE).returncode)
"""


class TestDisablePtrace(testtools.TestCase):
    def test_other_processes_of_the_user_cannot_read_the_process(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual("True\nFalse\n0\n", done.stdout, done.stderr)
