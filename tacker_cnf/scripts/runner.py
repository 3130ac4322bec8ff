"""Runs one script of a package, on copies of all that it may touch."""

import contextlib
import dataclasses
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.halting import Halt
from tacker_cnf.lcm import veil
from tacker_cnf.lcm.veil import Veil
from tacker_cnf.scripts import causes, protocol, stand_ins, workplace
from tacker_cnf.scripts.process import Bounds, Child
from tacker_cnf.scripts.protocol import ScriptInput, ScriptOutput, Tongue

LOG = log.getLogger(__name__)

Said = TypeVar("Said")

#: those that have a name; of the real-time ones only two do
_SIGNALS: Final = {known.value: known.name for known in signal.Signals}
#: seconds between two times that the log of a running script is shown
SHOWN: Final = 2.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ears:
    """Who is told what a script writes on stderr, and what it remembers."""

    #: all of it so far, as it grows
    show: Callable[[str], None] = lambda _: None
    #: all of it that is kept, however it ended
    keep: Callable[[str], None] = lambda _: None
    #: what it says that is to be remembered, if that is something new,
    #: however it ended
    remember: Callable[[dict[str, Any] | None], None] = lambda _: None


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
    #: what of an answer outlives the script's failure: what stands in its
    #: error, and what is kept at once; this raises ScriptFailed if it cannot
    kept: Callable[[Said], dict[str, Any] | None] = lambda _: None
    keep: Callable[[Said], None] = lambda _: None


def run(
    packages: Sequence[Path],
    name: str,
    told: ScriptInput,
    bounds: Bounds,
    halt: Halt,
    ears: Ears,
) -> ScriptOutput:
    """Run a management script of a package and give what it said.

    :param packages: the unpacked package, and the new one if there is one
    :param name: the script's path in the package
    :param halt: kills it when the work is called off at once
    :raises ScriptFailed: it failed, took too long or said something wrong
    """
    return talk(
        packages,
        lambda trees: _management(name, trees, told, ears, bounds),
        bounds,
        halt,
        ears,
    )


def talk(
    packages: Sequence[Path],
    make: Callable[[Sequence[Path]], Talk[Said]],
    bounds: Bounds,
    halt: Halt,
    ears: Ears,
) -> Said:
    """Run what is made for copies of packages, and give what it said.

    :raises ScriptFailed: it failed, took too long or said something wrong
    """
    with workplace.prepared(bounds.scratch, packages, halt) as (home, trees):
        script = make(trees)
        head = f"{script.operation}, {script.name}"
        with _child(script, home, bounds, halt) as child:
            log = _Log(head, lambda: _plain(child.log(), trees), ears)
            try:
                with halt.wakes(child.kill):
                    code = child.talk(script.input, log.pulse)
            finally:
                heard = log.keep()
    said, problem = None, _problem(code, bounds)
    try:
        said = script.read(child.said())
        script.keep(said)
    except errors.ScriptFailed as error:
        problem = problem or script.veil(str(error))
    if problem or said is None:
        raise errors.ScriptFailed(
            f"Script {script.name} ({script.operation}): "
            + causes.told(str(problem), heard),
            None if said is None else script.kept(said),
        )
    return said


@contextlib.contextmanager
def _child(
    script: Talk[Said], home: Path, bounds: Bounds, halt: Halt
) -> Iterator[Child]:
    """Start a script, if it may still change anything.

    :raises VnfmError: the work was called off, or its lease has ended
    """
    halt.check()
    with contextlib.ExitStack() as stack:
        lease = (
            stack.enter_context(halt.lease.shared()) if halt.lease else None
        )
        child = Child(script.command, home, bounds, script.veil, lease)
        yield stack.enter_context(child)


def _management(
    name: str,
    trees: Sequence[Path],
    told: ScriptInput,
    ears: Ears,
    bounds: Bounds,
) -> Talk[ScriptOutput]:
    def keep(said: ScriptOutput) -> None:
        if protocol.to_remember(told, said):
            ears.remember(said.memory or None)

    path = trees[0] / name
    module = stand_ins.module(path) if bounds.replaces_reference else None
    if module:
        LOG.info(
            "Reference script replaced: script=%s replaced_by=%s operation=%s",
            name,
            module,
            told.operation,
        )
        ears.keep(f"{told.operation}, {name}: replaced by {module}\n")
    told = msgspec.structs.replace(
        told,
        package_dir=str(trees[0]),
        new_package_dir=str(trees[1]) if trees[1:] else None,
    )
    tongue = Tongue.DRIVER if module else protocol.tongue_of(path)
    return Talk(
        name=name,
        operation=told.operation,
        command=("-m", module) if module else (str(path),),
        input=protocol.GIVE[tongue](told),
        read=protocol.READ[tongue],
        veil=Veil(veil.secrets_of(msgspec.to_builtins(told))),
        kept=lambda said: said.user_script_err_handling_data,
        keep=keep,
    )


def _plain(text: str, trees: Sequence[Path]) -> str:
    """Leave out where a script's files happened to be."""
    for tree in trees:
        text = text.replace(f"{tree}/", "")
    return text


class _Log:
    """What a script has written, told from time to time and at its end."""

    def __init__(self, head: str, hear: Callable[[], str], ears: Ears) -> None:
        self._head = head
        self._hear = hear
        self._ears = ears
        self._shown = ""
        self._due = time.monotonic() + SHOWN

    def pulse(self) -> None:
        """Show what is new, if it is time."""
        if time.monotonic() < self._due:
            return
        heard = self._hear()
        if heard != self._shown:
            self._ears.show(self._under_head(heard))
            self._shown = heard
        self._due = time.monotonic() + SHOWN

    def keep(self) -> str:
        """Keep what there is, and give it."""
        heard = self._hear()
        if heard:
            self._ears.keep(self._under_head(heard))
        return heard

    def _under_head(self, heard: str) -> str:
        return f"{self._head}:\n{heard}\n"


def _problem(code: int | None, bounds: Bounds) -> str | None:
    if code is None:
        return f"it did not end within {bounds.timeout:g} s"
    if code < 0:
        return f"it was killed by {_SIGNALS.get(-code, f'signal {-code}')}"
    return f"it ended with exit code {code}" if code else None
