"""The program: ``python -m tests.storm``; ``tools/storm`` runs it."""

import argparse
import random
import shutil
import sys
import time
from pathlib import Path

import testtools

from tests.services.backends import MARIADB, POSTGRESQL
from tests.storm import history
from tests.storm.run import Report, Storm
from tests.storm.service import Service

SERVERS = {"postgresql": POSTGRESQL, "mariadb": MARIADB}
#: problems that are shown for each check
MAX_SHOWN_PROBLEMS = 20


class Case(testtools.TestCase):
    """The test case that fixtures require."""

    def runTest(self) -> None:
        """Do nothing: main() runs the storm."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tools/storm",
        description="Kill, freeze and cut off a service at work, then check "
        "that nothing was lost.",
    )
    parser.add_argument("--vnfs", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, help="default: any")
    parser.add_argument(
        "--database", choices=sorted(SERVERS), default="postgresql"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIRECTORY",
        help="where to copy the logs of all processes, and of the writes",
    )
    return parser


def _log(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%X')} {text}\n")
    sys.stdout.flush()


def _show(report: Report) -> None:
    for name, counts in (
        ("operations", report.operations),
        ("states", report.states),
        ("responses", report.response_counts),
        ("faults", report.faults),
    ):
        parts = ", ".join(f"{what} {n}" for what, n in sorted(counts.items()))
        _log(f"{name}: {sum(counts.values())} ({parts})")
    _log(f"writes to the cluster: {report.writes}")
    for what, found in report.found.items():
        for problem in found[:MAX_SHOWN_PROBLEMS]:
            _log(f"{what}: {problem}")
    width = max(map(len, report.found))
    for what, found in report.found.items():
        sys.stdout.write(f"{what:<{width}} {len(found):6}\n")


def _save_logs(service: Service, storm: Storm, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in ("*.log", "*.jsonl"):
        for path in service.folder.glob(pattern):
            shutil.copy(path, folder)
    versions = map(str, history.read(service.engine))
    logs = {
        "faults.log": storm.faults.log,
        "history.log": versions,
        "cleanups.log": map(str, history.read_cleanups(service.engine)),
    }
    for name, lines in logs.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))


def main() -> int:
    """Run a storm; return 0 if its checks found no problem."""
    arguments = _parser().parse_args()
    seed = arguments.seed
    if seed is None:
        seed = random.SystemRandom().randrange(1_000_000)
    _log(f"seed {seed}, {arguments.database}")
    with Service(Case(), SERVERS[arguments.database]) as service:
        storm = Storm(service, seed, _log)
        try:
            report = storm.run(arguments.vnfs, arguments.seconds)
        finally:
            if arguments.keep:
                _save_logs(service, storm, arguments.keep)
    _show(report)
    return int(any(report.found.values()))


if __name__ == "__main__":
    sys.exit(main())
