"""Programs of the service, started with preloaded modules.

A program takes most of a second to import its modules. A fork server imports
them once, and each program is a fork of it, with its own arguments, working
directory and standard streams.
"""

import multiprocessing
import os
import runpy
import sys
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

#: modules that the programs import
PRELOADED: Final = (
    "kubernetes_sandbox.cluster",
    "tacker_cnf.api.app",
    "tacker_cnf.cmd.api",
    "tacker_cnf.cmd.conductor",
    "tacker_cnf.cmd.manage",
    "tacker_cnf.drivers.kubernetes.driver",
)
#: starts a program without the packages that only tests install, and that
#: libraries import where they find them
_AS_INSTALLED: Final = """\
import runpy, sys
sys.modules.update(dict.fromkeys(("click", "jinja2", "pygments", "rich")))
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
CONTEXT: Final = multiprocessing.get_context("forkserver")
# multiprocessing runs the main module of the parent, the test runner, again
CONTEXT.set_forkserver_preload([*PRELOADED, "stestr.subunit_runner.program"])


def start(
    program: Path, arguments: Sequence[str], log: Path, *, preloaded: bool
) -> BaseProcess:
    """Start a program as the leader of a session.

    :param log: file for its output; its directory is the working directory
    :param preloaded: whether to run it with the imported modules, or as it is
        installed, without those of tests
    """
    process = CONTEXT.Process(
        target=_run_preloaded if preloaded else _run_file,
        args=(program, arguments, log),
    )
    process.start()
    return process


def _run_preloaded(program: Path, arguments: Sequence[str], log: Path) -> None:
    _prepare(program, log)
    sys.argv = [str(program), *arguments]
    runpy.run_path(str(program), run_name="__main__")


def _run_file(program: Path, arguments: Sequence[str], log: Path) -> None:
    _prepare(program, log)
    command = [str(program), *arguments]
    python = program.parent / "python"
    if python.exists():  # not where only the packages are installed
        command = [str(python), "-c", _AS_INSTALLED, *command]
    os.execv(command[0], command)  # noqa: S606


def _prepare(program: Path, log: Path) -> None:
    os.setsid()
    os.chdir(log.parent)
    # as the kernel names the process of a script
    Path("/proc/self/comm").write_text(program.name)
    # modules are imported only from where they are installed
    os.environ.pop("PYTHONPATH", None)
    with Path(os.devnull).open("rb") as stdin, log.open("wb") as output:
        os.dup2(stdin.fileno(), 0)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
