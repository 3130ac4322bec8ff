"""The notification dispatcher as a process beside the service."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import fixtures
import testtools
import urllib3

from tacker_cnf.cmd import manage
from tacker_cnf.cmd.dispatcher_supervisor import DispatcherSupervisor
from tests.fixtures import waiting
from tests.fixtures.http_receiver import HttpReceiver
from tests.fixtures.processes import children, is_running
from tests.fixtures.vnfm import Csar, Vnfm

ROOT = Path(__file__).parents[2]
PATH = "/vnflcm/v2/subscriptions"
CONFIGURATION = """\
[DEFAULT]
state_path = {state}
log_file = {state}/service.log
[notification]
lease = 3.0
poll_interval = 3600
loopback_callbacks = true
"""


class TestDispatcherProcess(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.receiver = self.useFixture(HttpReceiver())
        self.vnfm = self.useFixture(Vnfm())
        self.vnfm.dispatcher.stop()
        state = self.vnfm.state_path
        self.log = Path(state, "service.log")
        file = Path(state, "service.conf")
        file.write_text(CONFIGURATION.format(state=state))
        self.supervisor = DispatcherSupervisor(
            self.vnfm.parts.store, ["--config-file", str(file)]
        )
        self.supervisor.start()
        self.vnfm.dispatcher = self.supervisor  # type: ignore[assignment]
        self.vnfm.call("POST", PATH, {"callbackUri": self.receiver.url})
        self.vnfd_id = self.vnfm.onboard()
        waiting.until(
            lambda: self.log_contains("lease acquired", 1), "the lease"
        )

    def log_contains(self, text: str, times: int) -> bool:
        return self.log.exists() and self.log.read_text().count(text) >= times

    def process(self) -> Any:
        return self.supervisor._process

    def test_events_of_another_process_are_sent_at_once(self) -> None:
        self.vnfm.create(self.vnfd_id)
        self.receiver.wait(1)

    def test_a_crashed_dispatcher_is_restarted(self) -> None:
        first = self.process()
        first.kill()
        self.vnfm.create(self.vnfd_id)
        self.receiver.wait(1)
        self.assertNotEqual(first.pid, self.process().pid)
        self.assertTrue(self.log_contains("lease acquired", 2))

    def test_a_stopped_dispatcher_releases_its_lease(self) -> None:
        first = self.process()
        first.terminate()
        self.assertEqual(0, first.wait(60))
        self.vnfm.create(self.vnfd_id)
        self.receiver.wait(1)

    def test_it_ends_with_its_parent(self) -> None:
        process = self.process()
        self.supervisor.stop()
        self.assertEqual(0, process.returncode)
        self.supervisor.wake()  # a late wake-up does no harm
        self.supervisor = DispatcherSupervisor(
            self.vnfm.parts.store, ["--config-file=x"]
        )
        self.supervisor.start()
        self.vnfm.dispatcher = self.supervisor  # type: ignore[assignment]

    def test_a_dispatcher_that_hangs_is_killed_and_blocks_no_other(
        self,
    ) -> None:
        name = "tacker_cnf.cmd.dispatcher_supervisor.STOP_TIMEOUT_S"
        self.useFixture(fixtures.MonkeyPatch(name, 0.2))
        process = self.process()
        process.send_signal(signal.SIGSTOP)
        for _ in range(100_000):  # more than the buffer of a pipe
            self.supervisor.wake()
        self.supervisor.stop()
        self.assertEqual(-signal.SIGKILL, process.returncode)
        self.supervisor = DispatcherSupervisor(
            self.vnfm.parts.store, ["--config-file=x"]
        )
        self.supervisor.start()
        self.vnfm.dispatcher = self.supervisor  # type: ignore[assignment]


class TestSandbox(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.state = Path(self.useFixture(fixtures.TempDir()).path)
        self.sandbox = subprocess.Popen(
            [
                sys.executable,
                str(ROOT / "tools" / "sandbox.py"),
                "--port=0",
                f"--state={self.state}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        self.addCleanup(self.sandbox.wait)
        self.addCleanup(self.sandbox.kill)
        ready = self.state / "sandbox.json"
        waiting.until(ready.exists, "the file")
        self.facts = json.loads(ready.read_text())
        self.api = self.facts["api"]
        log = self.state / "sandbox.log"
        waiting.until(lambda: "lease acquired" in log.read_text(), "the lease")
        (self.child,) = children(self.sandbox.pid)

    def call(self, method: str, path: str, status: int, **options: Any) -> Any:
        version = {"Version": "2.0.0"}
        headers = version | options.pop("headers", {})
        response = urllib3.request(
            method, self.api + path, headers=headers, **options
        )
        self.assertEqual(status, response.status, response.data.decode())
        return response

    def test_its_dispatcher_notifies_subscribers(self) -> None:
        receiver = self.useFixture(HttpReceiver())
        self.call("POST", PATH, 201, json={"callbackUri": receiver.url})
        csar = self.useFixture(Csar())
        path = "/vnfpkgm/v1/vnf_packages"
        created = self.call("POST", path, 201, json={}).json()
        path = f"{path}/{created['id']}/package_content"
        zipped = {"Content-Type": "application/zip"}
        self.call("PUT", path, 202, body=csar.read(), headers=zipped)
        create_request = {"vnfdId": csar.vnfd_id}
        self.call("POST", "/vnflcm/v2/vnf_instances", 201, json=create_request)
        receiver.wait(1)

    def test_its_dispatcher_ends_with_it(self) -> None:
        self.sandbox.terminate()
        self.assertEqual(0, self.sandbox.wait(60))
        self.assertFalse(is_running(self.child))
        self.check_manage_commands()

    def check_manage_commands(self) -> None:
        """The commands use the printed options, whatever is in conf.d."""
        other = "[DEFAULT]\nstate_path = /nowhere\n"
        (self.state / "conf.d" / "own.conf").write_text(other)
        stdout = self.useFixture(fixtures.StringStream("stdout")).stream
        command = shlex.split(self.facts["configuration"])
        with fixtures.MonkeyPatch("sys.stdout", stdout):
            code = manage.main([*command, "notifications", "list"])
        stdout.seek(0)
        self.assertEqual(
            (0, "No notification is parked.\n"), (code, stdout.read())
        )

    def test_its_dispatcher_does_not_outlive_it(self) -> None:
        os.kill(self.sandbox.pid, signal.SIGKILL)
        waiting.until(
            lambda: not is_running(self.child), "the end of the child"
        )


class TestSandboxGuide(testtools.TestCase):
    def start(self, *options: str) -> str:
        """Start the sandbox; return what it prints until it is ready."""
        command = (sys.executable, str(ROOT / "tools" / "sandbox.py"))
        with subprocess.Popen(
            [*command, "--port=0", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        ) as sandbox:
            assert sandbox.stdout is not None
            lines = []
            for line in sandbox.stdout:
                lines.append(line)
                if line.startswith("Stop it"):
                    sandbox.terminate()
        return "".join(lines)

    def test_a_temporary_directory_takes_no_options(self) -> None:
        printed = self.start()
        self.assertIn("Its files are deleted when it stops", printed)
        self.assertNotIn("Set options in", printed)
        program = Path(sys.executable).with_name("tacker-cnf-manage")
        self.assertIn(f"\n  {program} --config-dir ", printed)

    def test_options_are_set_in_a_directory_that_stays(self) -> None:
        state = self.useFixture(fixtures.TempDir()).path
        printed = self.start(f"--state={state}")
        self.assertIn(f"\nSet options in {state}/conf.d/", printed)
