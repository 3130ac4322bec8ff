"""The openstack command, as its users have it, but started faster.

Most of what the command does, it does before it does anything: it takes
most of a second to load. Here one process has it loaded, and each call is a
fork of that: the same program, with arguments, an environment and standard
streams of its own.
"""

import os
import subprocess
from pathlib import Path
from typing import Final

import fixtures
import testtools

from tests.fixtures import waiting
from tests.services.backends import skip_or_fail
from tests.services.deployment import START_TIMEOUT_S

ROOT: Final = Path(__file__).parent.parent.parent
VENV: Final = ROOT / os.environ.get("TACKER_CNF_CLI_VENV", ".venv-cli")
#: the command as it was installed
INSTALLED: Final = VENV / "bin" / "openstack"
CALLER: Final = Path(__file__).parent / "command" / "openstack"
SERVER: Final = Path(__file__).parent / "command" / "serve.py"


class OpenstackCommand(fixtures.Fixture):
    """A folder with the command in it, to be put in front of a PATH."""

    def __init__(self, case: testtools.TestCase) -> None:
        super().__init__()
        self._case = case

    def _setUp(self) -> None:
        if not INSTALLED.exists():
            reason = f"{INSTALLED} is not there; tools/cli-venv makes it"
            skip_or_fail(self._case, reason)
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.path = self.folder / "openstack"
        self.path.symlink_to(CALLER)
        place = self.folder / "socket"
        log = self.folder / "log"
        with log.open("wb") as log_file:
            self._server = subprocess.Popen(
                [str(VENV / "bin" / "python"), str(SERVER), str(place)],
                stdin=subprocess.PIPE,
                stdout=log_file,
                stderr=log_file,
            )
        self.addCleanup(self._end)

        def serves() -> bool:
            if self._server.poll() is not None:
                raise AssertionError(f"it cannot be loaded: {log.read_text()}")
            return place.exists()

        waiting.until(serves, "the openstack command", START_TIMEOUT_S)

    def _end(self) -> None:
        self._server.communicate(timeout=START_TIMEOUT_S)
