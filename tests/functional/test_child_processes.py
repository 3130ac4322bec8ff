"""Tests that run the product in child processes."""

import os
import subprocess
import sys
import textwrap

import testtools

from tacker_cnf.runtime.clock import SYSTEM_CLOCK
from tacker_cnf.runtime.lease import LEASE_FD, Lease

LONG_LEASE_S = 600.0
PROBE = (
    "from tacker_cnf.runtime.lease import Lease; input();"
    " print(Lease.inherited().allows_request)"
)


class TestLease(testtools.TestCase):
    def test_a_child_process_reads_the_renewal(self) -> None:
        lease = Lease.new(margin=LONG_LEASE_S)
        with lease.shared() as fd:
            child = subprocess.Popen(
                [sys.executable, "-c", PROBE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, LEASE_FD: str(fd)},
                pass_fds=(fd,),
            )
        lease.renew(SYSTEM_CLOCK.boottime() + 2 * LONG_LEASE_S)
        output, _ = child.communicate(b"\n")
        self.assertEqual(b"True\n", output)


class TestDriverOutput(testtools.TestCase):
    def test_a_driver_writes_its_output_also_after_sys_exit(self) -> None:
        self.assertEqual(
            (b'{"userScriptErrHandlingData":{"a":1},"memory":{}}', 3),
            self.run_driver(3),
        )
        self.assertEqual(0, self.run_driver(0)[1])

    def run_driver(self, code: int) -> tuple[bytes, int]:
        """Run a hook that calls sys.exit; return stdout and exit code."""
        script = f"""\
            import sys
            from tacker_cnf.mgmt_drivers.base import MgmtDriver

            class Driver(MgmtDriver):
                def heal_end(self, script_input):
                    self.user_script_err_handling_data = {{"a": 1}}
                    sys.exit({code})

            Driver.main()
        """
        stdin = (
            b'{"operation": "heal_end", "vnfLcmOpOccId": "1", "request": {},'
            b' "vnfInstance": {"id": "1", "vnfdId": "1", "vnfProvider": "a",'
            b' "vnfProductName": "a", "vnfSoftwareVersion": "1",'
            b' "vnfdVersion": "1", "instantiationState": "INSTANTIATED"},'
            b' "packageDir": "/", "stateDir": "/",'
            b' "vnfdId": "1", "timeout": 1}'
        )
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            input=stdin,
            capture_output=True,
            check=False,
        )
        return done.stdout, done.returncode
