"""Runs one script of a package, on copies of all that it may touch."""

import contextlib
import dataclasses
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from tacker_cnf import errors
from tacker_cnf.halting import Halt
from tacker_cnf.lcm import veil
from tacker_cnf.lcm.veil import Veil
from tacker_cnf.scripts import protocol, stand_ins
from tacker_cnf.scripts.process import TAIL, Bounds, Child
from tacker_cnf.scripts.protocol import ScriptInput, ScriptOutput

Said = TypeVar("Said")

#: those that have a name; of the real-time ones only two do
_SIGNALS: Final = {known.value: known.name for known in signal.Signals}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Talk(Generic[Said]):
    """One run of a script: what is started, and how one talks to it."""

    #: its path in the package, and what it is run for
    name: str
    operation: str
    #: what scripts.child is to become
    command: Sequence[str]
    input: bytes
    #: reads what it says
    read: Callable[[bytes], Said]
    #: what it is told as a secret
    veil: Veil
    #: what of an answer outlives the script's failure
    kept: Callable[[Said], dict[str, Any] | None] = lambda _: None


def run(
    packages: Sequence[Path],
    name: str,
    told: ScriptInput,
    bounds: Bounds,
    halt: Halt,
    keep_log: Callable[[str], None] = lambda _: None,
) -> ScriptOutput:
    """Run a management script of a package and give what it said.

    :param packages: the unpacked package, and the new one if there is one
    :param name: the script's path in the package
    :param halt: kills it when the work is called off at once
    :param keep_log: is given what it wrote on stderr, however it ended
    :raises ScriptFailed: it failed, took too long or said something wrong
    """
    return talk(
        packages,
        lambda trees: _management(name, trees, told),
        bounds,
        halt,
        keep_log,
    )


def talk(
    packages: Sequence[Path],
    make: Callable[[Sequence[Path]], Talk[Said]],
    bounds: Bounds,
    halt: Halt,
    keep_log: Callable[[str], None] = lambda _: None,
) -> Said:
    """Run what is made for copies of packages, and give what it said.

    :raises ScriptFailed: it failed, took too long or said something wrong
    """
    with _workplace(packages) as (home, trees):
        script = make(trees)
        child = Child(script.command, home, bounds, script.veil)
        try:
            with halt.wakes(child.kill):
                code = child.talk(script.input)
        finally:
            heard = _plain(child.log(), trees)
            if heard:
                keep_log(f"{script.operation}, {script.name}:\n{heard}\n")
    said, problem = None, _problem(code, bounds)
    try:
        said = script.read(child.said())
    except errors.ScriptFailed as error:
        problem = problem or script.veil(str(error))
    if problem or said is None:
        end = heard[-TAIL:]
        raise errors.ScriptFailed(
            f"Script {script.name} ({script.operation}): {problem}"
            + (f": {end}" if end else "."),
            None if said is None else script.kept(said),
        )
    return said


def _management(
    name: str, trees: Sequence[Path], told: ScriptInput
) -> Talk[ScriptOutput]:
    path = trees[0] / name
    module = stand_ins.module(name)
    told = msgspec.structs.replace(
        told,
        package_dir=str(trees[0]),
        new_package_dir=str(trees[1]) if trees[1:] else None,
    )
    pickled = module is None and protocol.speaks_pickle(path)
    give = protocol.pickle_input if pickled else protocol.json_input
    return Talk(
        name=name,
        operation=told.operation,
        command=("-m", module) if module else (str(path),),
        input=give(told),
        read=protocol.pickle_output if pickled else protocol.json_output,
        veil=Veil(veil.secrets_of(msgspec.to_builtins(told))),
        kept=lambda said: said.user_script_err_handling_data,
    )


def _plain(text: str, trees: Sequence[Path]) -> str:
    """Leave out where a script's files happened to be."""
    for tree in trees:
        text = text.replace(f"{tree}/", "")
    return text


def _problem(code: int | None, bounds: Bounds) -> str | None:
    if code is None:
        return f"it did not end within {bounds.timeout:g} s"
    if code < 0:
        return f"it was killed by {_SIGNALS.get(-code, f'signal {-code}')}"
    return f"it ended with exit code {code}" if code else None


@contextlib.contextmanager
def _workplace(
    packages: Sequence[Path],
) -> Iterator[tuple[Path, Sequence[Path]]]:
    """Give a home directory, and each package in a tree of its own: whatever
    the script does to them, ours stay.
    """
    with tempfile.TemporaryDirectory(
        prefix="tacker-cnf-script-", ignore_cleanup_errors=True
    ) as folder:
        home = Path(folder) / "home"
        home.mkdir()
        trees = []
        for number, package in enumerate(packages):
            trees.append(Path(folder) / f"package{number}")
            shutil.copytree(package, trees[-1], copy_function=_copy)
        yield home, trees


def _copy(source: str, target: str) -> None:
    """Copy small files; link large ones, such as images, where possible."""
    if os.path.getsize(source) > 1024 * 1024:  # noqa: PTH202
        with contextlib.suppress(OSError):
            os.link(source, target)
            return
    shutil.copyfile(source, target)
