"""The processes of the demo: an API server, a cluster, two conductors."""

import contextlib
import json
import re
import shlex
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tools.lifecycle_demo.rest import DemoFailed

ROOT: Final = Path(__file__).resolve().parents[2]
CONDUCTOR: Final = str(Path(sys.executable).parent / "tacker-cnf-conductor")
CONDUCTORS: Final = 2
#: seconds without a heartbeat after which a conductor loses its operations
LEASE_S: Final = 4.0
START_TIMEOUT_S: Final = 60.0
STOP_TIMEOUT_S: Final = 40.0
#: Without a broker, conductors find operations by their sweep, and objects that
#: a failed instantiation has left by their periodic synchronization.
CONFIGURATION: Final = f"""\
[api]
web_page = {{web_page}}

[conductor]
lease = {LEASE_S}
sweep_interval = 0.2
resume_infra = true
sync_interval = 2

[kubernetes]
failure_grace = {{failure_grace}}
"""


class Claim(NamedTuple):
    """The claim of an operation."""

    pid: int
    #: counts the claims
    number: int
    #: seconds until another conductor may claim it
    lease_left: float


class Service:
    """The service: its addresses, its conductors and its database.

    :param state: its directory
    """

    def __init__(self, state: Path, facts: dict[str, str]) -> None:
        self.api = facts["api"]
        self.cluster = facts["cluster"]
        self.vim = Path(facts["vim"])
        self.kubeconfig = Path(facts["kubeconfig"])
        self._options = shlex.split(facts["configuration"])
        self._log = state / "sandbox.log"
        self._database = state / "tacker_cnf.sqlite"
        self._conductors: dict[int, subprocess.Popen[bytes]] = {}

    def start_conductors(self, number: int) -> None:
        """Start conductors, and wait until they have registered themselves.

        :raises DemoFailed: one has not, in time
        """
        for _ in range(number):
            process = start(CONDUCTOR, *self._options)
            self._conductors[process.pid] = process
        until = time.monotonic() + START_TIMEOUT_S
        for process in self._conductors.values():
            while not self._is_registered(process.pid):
                if process.poll() is not None or time.monotonic() > until:
                    raise DemoFailed("tacker-cnf-conductor did not start")
                time.sleep(0.05)

    def _is_registered(self, pid: int) -> bool:
        query = "SELECT 1 FROM conductors WHERE owner LIKE ?"
        return self._row(query, f"%:{pid}:%") is not None

    @property
    def pids(self) -> tuple[int, ...]:
        """The processes of the conductors."""
        return tuple(self._conductors)

    def claim(self, op_occ_id: str) -> Claim | None:
        """Read which conductor has claimed an operation."""
        row = self._row(
            "SELECT owner, fence, lease_until FROM vnf_lcm_op_occs"
            " WHERE id = ? AND owner IS NOT NULL",
            op_occ_id,
        )
        if row is None:
            return None
        owner, fence, until = row
        _, pid, _ = owner.rsplit(":", 2)
        return Claim(int(pid), fence, max(0.0, until - time.time()))

    def claims(self, op_occ_id: str) -> list[int]:
        """Return the conductors that started to work on an operation."""
        started = re.compile(
            rf" (\d+) INFO .*Operation started: .*={op_occ_id} "
        )
        return [int(pid) for pid in started.findall(self._log.read_text())]

    def kill(self, pid: int) -> None:
        """Kill a conductor by SIGKILL."""
        process = self._conductors[pid]
        process.kill()
        process.wait()
        del self._conductors[pid]

    def stop_conductors(self) -> None:
        """Stop all conductors."""
        for process in self._conductors.values():
            process.terminate()
        for process in self._conductors.values():
            process.wait(STOP_TIMEOUT_S)

    def _row(self, query: str, *values: str) -> Any:
        uri = f"{self._database.as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as database:
            return database.execute(query, values).fetchone()


@contextlib.contextmanager
def run(
    state: Path,
    options: Sequence[str],
    *,
    failure_grace: float,
    web_page: bool,
) -> Iterator[Service]:
    """Run the service.

    :param options: of ``tools/sandbox``
    :param failure_grace: seconds for which a pod may report a fault
    """
    folder = state / "conf.d"
    folder.mkdir()
    (folder / "demo.conf").write_text(
        CONFIGURATION.format(web_page=web_page, failure_grace=failure_grace)
    )
    program = ROOT / "tools" / "sandbox.py"
    server = start(
        str(program),
        f"--state={state}",
        "--port=0",
        "--no-conductor",
        *options,
        stdout=subprocess.DEVNULL,
    )
    with contextlib.ExitStack() as stack:
        stack.callback(server.wait, STOP_TIMEOUT_S)
        stack.callback(server.terminate)
        service = Service(state, _facts(state / "sandbox.json", server))
        stack.callback(service.stop_conductors)
        service.start_conductors(CONDUCTORS)
        yield service


def start(*arguments: str, **streams: Any) -> subprocess.Popen[bytes]:
    """Start a program of Python that Ctrl-C in a terminal does not end: it is
    needed to delete what the demo has created.
    """
    command = [sys.executable, *arguments]
    return subprocess.Popen(command, start_new_session=True, **streams)


def _facts(ready: Path, server: subprocess.Popen[bytes]) -> dict[str, str]:
    """Wait for the addresses of the sandbox."""
    while not ready.exists():
        if server.poll() is not None:
            raise DemoFailed("tools/sandbox did not start")
        time.sleep(0.05)
    return dict(json.loads(ready.read_text()))
