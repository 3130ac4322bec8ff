"""The installed openstack command, started with preloaded modules.

The command takes most of a second to import its modules. A server imports
them once, and each call is a fork of it, with its own arguments, environment
and standard streams.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import fixtures
import testtools

from tests.fixtures import waiting
from tests.services.backends import skip_or_fail
from tests.services.deployment import START_TIMEOUT_S

ROOT: Final = Path(__file__).parent.parent.parent
VENV: Final = ROOT / os.environ.get("TACKER_CNF_CLI_VENV", ".venv-cli")
#: the installed command
INSTALLED: Final = VENV / "bin" / "openstack"
CALLER: Final = Path(__file__).parent / "command" / "openstack"
SERVER: Final = Path(__file__).parent / "command" / "serve.py"


def inherited_environ() -> dict[str, str]:
    """Return the environment without options of the command."""
    return {n: v for n, v in os.environ.items() if not n.startswith("OS_")}


def run(
    command: Sequence[str],
    environ: Mapping[str, str],
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end.

    :param environ: added to the environment, which has no other options of
        the command
    :param folder: the working directory
    """
    return subprocess.run(
        command,
        check=False,
        cwd=folder,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**inherited_environ(), **environ},
        timeout=120,
    )


class OpenstackCommand(fixtures.Fixture):
    """A directory with the command, to prepend to PATH."""

    def __init__(self, case: testtools.TestCase) -> None:
        super().__init__()
        self._case = case

    def _setUp(self) -> None:
        if not INSTALLED.exists():
            reason = f"{INSTALLED} does not exist; run tools/cli-venv"
            skip_or_fail(self._case, reason)
        self.folder = Path(self.useFixture(fixtures.TempDir()).path)
        self.path = self.folder / "openstack"
        self.path.symlink_to(CALLER)
        socket_path = self.folder / "socket"
        log = self.folder / "log"
        with log.open("wb") as log_file:
            self._server = subprocess.Popen(
                [str(VENV / "bin" / "python"), str(SERVER), str(socket_path)],
                stdin=subprocess.PIPE,
                stdout=log_file,
                stderr=log_file,
            )
        self.addCleanup(self._end)

        def is_listening() -> bool:
            if self._server.poll() is not None:
                raise AssertionError(f"server exited: {log.read_text()}")
            return socket_path.exists()

        waiting.until(is_listening, "the openstack command", START_TIMEOUT_S)

    def _end(self) -> None:
        self._server.communicate(timeout=START_TIMEOUT_S)
