"""A program that is installed on this machine, as a child process."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import fixtures
import testtools
from testtools.content import text_content


class InstalledProgram(fixtures.Fixture):
    """Runs a program until the test ends; shows its output if the test fails.

    :param folder: where its output is written
    """

    def __init__(
        self, case: testtools.TestCase, command: Sequence[str], folder: Path
    ) -> None:
        super().__init__()
        self._case = case
        self._command = command
        self._log = folder / "log"

    def _setUp(self) -> None:
        with self._log.open("wb") as output:
            process = subprocess.Popen(
                self._command, stdout=output, stderr=output
            )
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self._case.addOnException(
            lambda _: self._case.addDetail(
                Path(self._command[0]).name,
                text_content(self._log.read_text()),
            )
        )
