"""The start of servers."""

import os
import signal
import subprocess
import sys

import testtools

from tacker_cnf.cmd import start

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


class TestSignals(testtools.TestCase):
    def test_a_signal_that_arrives_before_the_read_is_read(self) -> None:
        number = signal.SIGUSR1
        self.addCleanup(signal.signal, number, signal.getsignal(number))
        signals = start.open_signal_pipe(number)
        self.addCleanup(signal.set_wakeup_fd, -1)
        signal.raise_signal(number)
        self.assertEqual(bytes([number]), os.read(signals, 1))
