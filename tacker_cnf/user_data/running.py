"""Runs a package's user data in a process of its own."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from tacker_cnf.halting import Halt
from tacker_cnf.lcm import veil
from tacker_cnf.lcm.veil import Veil
from tacker_cnf.scripts import runner
from tacker_cnf.scripts.process import Bounds
from tacker_cnf.scripts.runner import Ears
from tacker_cnf.sol import base
from tacker_cnf.user_data import protocol
from tacker_cnf.user_data.protocol import Said, Told


def ask(
    package: Path,
    told: Told,
    bounds: Bounds,
    halt: Halt,
    keep_log: Callable[[str], None] = lambda _: None,
) -> Said:
    """Ask user data of an unpacked package.

    :param halt: kills it when the work is called off at once
    :param keep_log: is given what it wrote, however it ended
    :raises ScriptFailed: it failed, took too long or said something wrong
    """
    return runner.talk(
        [package],
        lambda trees: _talk(told, trees),
        bounds,
        halt,
        Ears(keep=keep_log),
    )


def _talk(told: Told, trees: Sequence[Path]) -> runner.Talk[Said]:
    told = msgspec.structs.replace(told, package_dir=str(trees[0]))
    secrets = veil.secrets_of(msgspec.to_builtins(told))
    return runner.Talk(
        name=f"{told.path}, {told.class_name}",
        operation=told.operation,
        command=("-m", "tacker_cnf.user_data.child"),
        input=base.encode(told),
        read=protocol.read,
        veil=Veil(secrets),
    )
