"""The service as it is deployed: each program is a process."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fixtures
import testtools
from testtools.content import text_content

from tacker_cnf import conf as configuration
from tacker_cnf.db import keys, schema, session
from tests.fixtures import waiting
from tests.services.backends import Broker, Database
from tests.services.client import Client

PROGRAMS = Path(sys.executable).parent
LISTENING = re.compile(r"Listening at: (http://\S+)")
CONDUCTOR_UP = re.compile(r"Conductor started: owner=(\S+)")
#: seconds to start a program on a busy machine
START_TIMEOUT_S = 60.0


def environ() -> dict[str, str]:
    """Return this process's environment without what would let a program
    import from elsewhere than where it is installed.
    """
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


class Program(fixtures.Fixture):
    """A running program; its output is shown when a test fails."""

    def __init__(
        self, case: testtools.TestCase, program: Path, conf: Path, log: Path
    ) -> None:
        super().__init__()
        self._case = case
        self._command = [str(program), f"--config-file={conf}"]
        self._log = log

    def _setUp(self) -> None:
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._log.parent,
                env=environ(),
                start_new_session=True,
            )
        self.addCleanup(self._end)
        self._case.addOnException(self._show)

    def _show(self, _: object) -> None:
        self._case.addDetail(self._log.name, text_content(self.output))

    @property
    def output(self) -> str:
        return self._log.read_text()

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_for_output(self, pattern: re.Pattern[str]) -> str:
        """Wait until its output matches; return the match's first group."""

        def match_output() -> re.Match[str] | None:
            if self.process.poll() is not None:
                raise AssertionError(f"{self._log.name} ended: {self.output}")
            return pattern.search(self.output)

        return waiting.until(
            match_output, pattern.pattern, START_TIMEOUT_S
        ).group(1)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """Kill it, as by a loss of power."""
        os.killpg(self.pid, signal.SIGKILL)
        self.process.wait(START_TIMEOUT_S)

    def stop(self, timeout: float = 60.0) -> tuple[int, float]:
        """Send SIGTERM; return the exit code and the seconds until its end."""
        start = time.monotonic()
        self.signal(signal.SIGTERM)
        code = self.process.wait(timeout)
        return code, time.monotonic() - start

    def memory(self) -> Mapping[int, float]:
        """Return the resident MiB of it and of each child: pid -> MiB."""
        threads = Path(f"/proc/{self.pid}/task")
        pids = [self.pid]
        for children in threads.glob("*/children"):
            pids += map(int, children.read_text().split())
        return {pid: _resident(pid) for pid in pids}

    def _end(self) -> None:
        if self.process.poll() is not None:
            return
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


class Api(Program):
    """An API server, and a client of it."""

    def _setUp(self) -> None:
        super()._setUp()
        self.client = self.useFixture(Client(self.wait_for_output(LISTENING)))
        waiting.until(self._healthy, "a healthy API", START_TIMEOUT_S)

    def _healthy(self) -> bool:
        return self.client.call("GET", "/healthcheck").status == 200


class Conductor(Program):
    """A conductor, and the owner name by which it claims operations."""

    def _setUp(self) -> None:
        super()._setUp()
        self.owner = self.wait_for_output(CONDUCTOR_UP)


class Deployment(fixtures.Fixture):
    """A database, a queue and a configuration that programs share.

    :param options: configuration, as {group: {option: value}}
    """

    #: where the programs are installed
    programs = PROGRAMS

    def __init__(
        self,
        case: testtools.TestCase,
        server: str,
        **options: dict[str, Any],
    ) -> None:
        super().__init__()
        self._case = case
        self._server = server
        self.options: dict[str, dict[str, Any]] = {
            "DEFAULT": {},
            "api": {"auth_strategy": "noauth", "port": 0},
            "conductor": {"sweep_interval": 0.3},
            "database": {},
            # the subscribers of tests are on loopback
            "notification": {"loopback_callbacks": True},
        }
        for group, values in options.items():
            self.options.setdefault(group, {}).update(values)
        self._started = 0

    def _setUp(self) -> None:
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.database = self.useFixture(Database(self._case, self._server))
        self.broker = self.useFixture(Broker(self._case))
        self.options["DEFAULT"] |= {
            "state_path": self.folder / "state",
            "transport_url": self.broker.url,
        }
        self.options["database"]["connection"] = self.database.url
        self.conf = self.configure("service.conf")
        self._prepare()

    def _prepare(self) -> None:
        """Set up the database as tacker-cnf-manage does, without the time to
        start it; its own tests are elsewhere.
        """
        conf = configuration.load([f"--config-file={self.conf}"])
        keys.create(keys.key_file_path(conf))
        store = session.open_store(conf, limited=False)
        schema.upgrade(store)
        store.close()

    def configure(self, name: str, **changed: dict[str, Any]) -> Path:
        """Write a configuration file with these changes."""
        path = self.folder / name
        with path.open("w") as file:
            for group in {**self.options, **changed}:
                options = self.options.get(group, {})
                file.write(f"[{group}]\n")
                for key, value in (options | changed.get(group, {})).items():
                    file.write(f"{key} = {value}\n")
        return path

    def manage(
        self, command: str, conf: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run tacker-cnf-manage to its end."""
        return self.run("tacker-cnf-manage", conf, *command.split())

    def run(
        self, program: str, conf: Path | None = None, *arguments: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program until it exits."""
        config_option = f"--config-file={conf or self.conf}"
        return subprocess.run(
            [str(self.programs / program), config_option, *arguments],
            check=False,
            capture_output=True,
            cwd=self.folder,
            env=environ(),
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=120,
        )

    def api(self, conf: Path | None = None) -> Api:
        """Start an API server."""
        program = self.programs / "tacker-cnf-api"
        log = self._log("api")
        return self.useFixture(
            Api(self._case, program, conf or self.conf, log)
        )

    def conductor(self, conf: Path | None = None) -> Conductor:
        """Start a conductor."""
        program = self.programs / "tacker-cnf-conductor"
        log = self._log("conductor")
        return self.useFixture(
            Conductor(self._case, program, conf or self.conf, log)
        )

    def _log(self, name: str) -> Path:
        self._started += 1
        return self.folder / f"{name}-{self._started}.log"

    def claim_row(self, op_occ_id: str) -> dict[str, Any]:
        """Read the claim of an operation from the database."""
        return self.database.fetch_row(
            "SELECT operation_state, owner, fence, step, lease_until"
            " FROM vnf_lcm_op_occs WHERE id = :id",
            id=op_occ_id,
        )
