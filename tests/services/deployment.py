"""The service as it is deployed: each program is a process."""

import contextlib
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import fixtures
import testtools
from testtools.content import text_content

from tacker_cnf import conf as configuration
from tacker_cnf.db import keys, schema, session
from tests.fixtures import processes, waiting
from tests.services import programs
from tests.services.backends import Broker, Database
from tests.services.client import Client

PROGRAMS = Path(sys.executable).parent
LISTENING = re.compile(r"Listening at: (https?://\S+)")
CONDUCTOR_UP = re.compile(r"Conductor started: owner=(\S+)")
#: seconds to start a program on a busy machine
START_TIMEOUT_S = 60.0
EXIT_TIMEOUT_S = 120.0


class Program(fixtures.Fixture):
    """A running program; its output is shown when a test fails."""

    def __init__(
        self,
        case: testtools.TestCase,
        program: Path,
        conf: Path,
        log: Path,
        *,
        preloaded: bool,
    ) -> None:
        super().__init__()
        self._case = case
        self._program = program
        self._arguments = [f"--config-file={conf}"]
        self._log = log
        self._preloaded = preloaded

    def _setUp(self) -> None:
        self._log.touch()
        self.process = programs.start(
            self._program,
            self._arguments,
            self._log,
            preloaded=self._preloaded,
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
        assert self.process.pid is not None
        return self.process.pid

    @property
    def is_running(self) -> bool:
        return self.process.exitcode is None

    def wait_for_output(self, pattern: re.Pattern[str]) -> str:
        """Wait until its output matches; return the match's first group."""

        def match_output() -> re.Match[str] | None:
            if not self.is_running:
                raise AssertionError(f"{self._log.name} ended: {self.output}")
            return pattern.search(self.output)

        return waiting.until(
            match_output, pattern.pattern, START_TIMEOUT_S
        ).group(1)

    def signal(self, number: signal.Signals) -> None:
        if self.is_running:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, as by a loss of power."""
        os.killpg(self.pid, signal.SIGKILL)
        self._wait(START_TIMEOUT_S)

    def _wait(self, timeout: float) -> int:
        """Wait until it ends; return the exit code."""
        self.process.join(timeout)
        code = self.process.exitcode
        assert code is not None, f"{self._log.name} has not ended"
        return code

    def stop(self, timeout: float = 120.0) -> int:
        """Send SIGTERM and wait until it ends; return the exit code."""
        self.signal(signal.SIGTERM)
        return self._wait(timeout)

    def pids(self) -> list[int]:
        """Return the pids of it and of each child."""
        return [self.pid, *processes.children(self.pid)]

    def memory(self) -> Mapping[int, float]:
        """Return the resident MiB of it and of each child: pid -> MiB."""
        return {pid: _resident(pid) for pid in self.pids()}

    def _end(self) -> None:
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        self.process.join(60)
        if self.is_running:
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
    #: whether API servers and conductors have their modules imported
    preloaded = True

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
            # the subscribers and VIMs of tests are on loopback
            "notification": {"loopback_callbacks": True},
            "vims": {"allow_loopback": True, "schemes": "https,http"},
            # scripts of tests write what they see to files outside a sandbox
            "scripts": {"isolation": "none", "run": "all"},
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

    def manage(self, command: str, conf: Path | None = None) -> str:
        """Run tacker-cnf-manage; return its output."""
        code, output = self.run("tacker-cnf-manage", conf, *command.split())
        assert code == 0, output
        return output

    def run(
        self, program: str, conf: Path | None = None, *arguments: str
    ) -> tuple[int | None, str]:
        """Run a program until it exits; return its exit code and output."""
        log = self._log(program)
        process = programs.start(
            self.programs / program,
            [f"--config-file={conf or self.conf}", *arguments],
            log,
            preloaded=self.preloaded,
        )
        process.join(EXIT_TIMEOUT_S)
        code = process.exitcode
        process.kill()
        return code, log.read_text()

    def api(self, conf: Path | None = None) -> Api:
        """Start an API server."""
        return self.useFixture(
            Api(
                self._case,
                self.programs / "tacker-cnf-api",
                conf or self.conf,
                self._log("api"),
                preloaded=self.preloaded,
            )
        )

    def conductor(self, conf: Path | None = None) -> Conductor:
        """Start a conductor."""
        return self.useFixture(
            Conductor(
                self._case,
                self.programs / "tacker-cnf-conductor",
                conf or self.conf,
                self._log("conductor"),
                preloaded=self.preloaded,
            )
        )

    def _log(self, name: str) -> Path:
        self._started += 1
        return self.folder / f"{name}-{self._started}.log"

    def kill(self, conductor: Conductor) -> None:
        """Kill a conductor and let its leases expire."""
        pids = conductor.pids()
        conductor.kill()
        self.expire_leases(pids)

    @contextlib.contextmanager
    def frozen(self, conductor: Conductor) -> Iterator[None]:
        """Freeze a conductor and its dispatcher while they hold no locks, for
        which others would wait; continue them afterwards.
        """

        def freeze() -> bool:
            os.killpg(conductor.pid, signal.SIGSTOP)
            if self.database.has_no_transaction():
                return True
            os.killpg(conductor.pid, signal.SIGCONT)
            return False

        try:
            waiting.until(freeze, "a conductor that holds no locks")
            yield
        finally:
            os.killpg(conductor.pid, signal.SIGCONT)

    @contextlib.contextmanager
    def stalled(self, conductor: Conductor) -> Iterator[None]:
        """Freeze a conductor until its leases have expired."""
        with self.frozen(conductor):
            self.expire_leases(conductor.pids())
            yield

    def expire_leases(self, pids: list[int]) -> None:
        """Let the leases of processes expire."""
        for table in ("conductors", "leases", "vnf_lcm_op_occs"):
            for pid in pids:
                self.database.execute(
                    f"UPDATE {table} SET lease_until = 0"  # noqa: S608
                    " WHERE owner LIKE :owner",
                    owner=f"%:{pid}:%",
                )

    def claim_row(self, op_occ_id: str) -> dict[str, Any]:
        """Read the claim of an operation from the database."""
        return self.database.fetch_row(
            "SELECT operation_state, owner, fence, step, lease_until"
            " FROM vnf_lcm_op_occs WHERE id = :id",
            id=op_occ_id,
        )
