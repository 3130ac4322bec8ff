"""A Prometheus, and the checks of its promtool (Debian's prometheus)."""

import json
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import fixtures
import testtools

from tests.fixtures import waiting
from tests.fixtures.ports import ReservedPort
from tests.services.backends import skip_or_fail
from tests.services.installed_program import InstalledProgram

RULES: Final = (
    Path(__file__).parents[2] / "etc/prometheus/tacker_cnf.rules.yaml"
)
#: seconds to start on a busy machine
START_TIMEOUT_S: Final = 60.0


class Prometheus(fixtures.Fixture):
    """Scrapes programs of the service, and has its alert rules.

    :param targets: addresses with port
    """

    def __init__(
        self, case: testtools.TestCase, targets: Sequence[str]
    ) -> None:
        super().__init__()
        self._case = case
        self._targets = targets

    def _setUp(self) -> None:
        require(self._case)
        folder = Path(self.useFixture(fixtures.TempDir()).path)
        jobs = {
            "job_name": "tacker_cnf",
            "static_configs": [
                {"targets": self._targets, "labels": {"program": "test"}}
            ],
        }
        # YAML contains JSON
        (folder / "prometheus.yml").write_text(
            json.dumps(
                {
                    "global": {
                        "scrape_interval": "1s",
                        "scrape_timeout": "1s",
                        "evaluation_interval": "1s",
                    },
                    "scrape_configs": [jobs],
                    "rule_files": [str(RULES)],
                }
            )
        )
        port = self.useFixture(ReservedPort()).port
        self._url = f"http://127.0.0.1:{port}"
        command = [
            "prometheus",
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        self.useFixture(InstalledProgram(self._case, command, folder))
        waiting.until(self._is_scraping, "scrapes", START_TIMEOUT_S)

    def _is_scraping(self) -> bool:
        try:
            found = self.query("up == 1")
        except OSError:
            return False
        return len(found) == len(self._targets)

    def wait_scraped(self) -> None:
        """Wait until values of now were scraped from each target; a scrape
        may fail on a busy machine.
        """
        scraped = f"(timestamp(up) > {time.time()}) and up == 1"
        waiting.until(
            lambda: len(self.query(scraped)) == len(self._targets),
            "the next scrape",
        )

    def query(self, expression: str) -> list[Any]:
        """Evaluate an expression; return its series."""
        return list(self._get("query", query=expression)["result"])

    def alerts(self) -> list[Any]:
        """Return the alert rules, with their health."""
        (group,) = self._get("rules", type="alert")["groups"]
        return list(group["rules"])

    def _get(self, path: str, **parameters: str) -> Any:
        query = urllib.parse.urlencode(parameters)
        url = f"{self._url}/api/v1/{path}?{query}"
        with urllib.request.urlopen(url, timeout=30) as response:  # noqa: S310
            body = json.load(response)
        assert body["status"] == "success", body
        return body["data"]


def require(case: testtools.TestCase) -> None:
    """Skip a test without Prometheus; fail if services are required."""
    if not shutil.which("promtool"):
        skip_or_fail(case, "prometheus is not installed")


def promtool(*arguments: str, stdin: bytes = b"") -> str:
    """Run promtool; return its output.

    :raises AssertionError: it found an error
    """
    done = subprocess.run(
        ["promtool", *arguments],
        input=stdin,
        check=False,
        capture_output=True,
    )
    output = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, output
    return output
