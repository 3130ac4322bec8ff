"""What the isolation of scripts costs.

Runs a script that does nothing, with and without isolation in turns, and prints
the median times of one run.

    .venv/bin/python bench/scripts.py [--runs N] [--files N]
"""

import argparse
import dataclasses
import json
import statistics
import tempfile
import time
from pathlib import Path

from tacker_cnf import conf as configuration
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.scripts import runner
from tacker_cnf.scripts.isolation import Isolation
from tacker_cnf.scripts.limits import RunPolicy, ScriptLimits, limits_of
from tacker_cnf.scripts.package_code import PackageCode
from tacker_cnf.scripts.runner import ScriptCallbacks, ScriptRun
from tacker_cnf.scripts.workdir import Workspace
from tacker_cnf.vnfd import tree_digest


def build_run(workspace: Workspace) -> ScriptRun[bytes]:
    return ScriptRun(
        name="script.py",
        operation="bench",
        command=(str(workspace.package_dirs[0] / "script.py"),),
        input=b"{}",
        read=lambda output: output,
        masker=SecretMasker(()),
    )


def measure(package: PackageCode, limits: ScriptLimits) -> float:
    """Run the script once; return the time in ms."""
    begin = time.perf_counter()
    runner.execute(
        [package], build_run, limits, CancelToken(), ScriptCallbacks()
    )
    return (time.perf_counter() - begin) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument(
        "--files", type=int, default=20, help="files of the package"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        (tree / "script.py").touch()
        for number in range(arguments.files - 1):
            (tree / f"{number}.yaml").write_bytes(bytes(10_000))
        package = PackageCode(
            tree=tree,
            vnfd_id="bench",
            content_id="bench",
            digest=tree_digest.compute(tree),
        )
        conf = configuration.load([])
        conf.set_override("state_path", folder)
        limits = {
            isolation: dataclasses.replace(
                limits_of(conf), run=RunPolicy.ALL, isolation=isolation
            )
            for isolation in Isolation
        }
        times: dict[str, list[float]] = {name: [] for name in Isolation}
        for _ in range(arguments.runs):
            for isolation in Isolation:
                times[isolation].append(measure(package, limits[isolation]))
    medians = {
        f"{name}_ms": round(statistics.median(found), 1)
        for name, found in times.items()
    }
    fastest = {
        f"{name}_fastest_ms": round(min(found), 1)
        for name, found in times.items()
    }
    print(json.dumps(medians | fastest, indent=2))


if __name__ == "__main__":
    main()
