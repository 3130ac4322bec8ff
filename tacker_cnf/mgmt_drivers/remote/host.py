"""One machine of a VNF."""

import dataclasses
import shlex
from collections.abc import Callable, Collection, Mapping
from pathlib import PurePosixPath
from typing import Any, Final, Self, TypedDict, Unpack

from tacker_cnf import errors
from tacker_cnf.halting import Deadline
from tacker_cnf.lcm.veil import Veil
from tacker_cnf.mgmt_drivers.remote import commands, connecting
from tacker_cnf.mgmt_drivers.remote.commands import Answer, Command
from tacker_cnf.mgmt_drivers.remote.connecting import Target
from tacker_cnf.mgmt_drivers.remote.keys import HostKey, Login

#: seconds for which a machine that does not answer is waited for
PATIENCE: Final = 300.0
#: bytes of a command, and lines of what it wrote, that an error tells
MAX_NAME: Final = 100
MAX_LINES: Final = 5
MAX_SAID: Final = 1000
#: shorter values of the environment are no secrets
MIN_SECRET: Final = 4

#: writes stdin to a file that takes its name when it is whole
PUT: Final = """\
set -e
made=$(mktemp {folder}/.{name}.XXXXXX)
trap 'rm -f "$made"' EXIT
cat >"$made"
[ "$(stat -c %s "$made")" = {size} ] || {{ echo "a part is missing" >&2; false; }}
chmod {mode:o} "$made"
sync "$made"
mv -fT "$made" {path}
"""

#: of a command that has no answer
NOTHING: Final = Answer(-1, b"", b"")


class How(TypedDict, total=False):
    """How to run a command."""

    #: what it reads
    stdin: bytes
    #: its values are secrets, and stand in no list of processes
    environment: Mapping[str, str]
    #: seconds after which it is ended, there as well; else the deadline
    timeout: float
    #: by ``sudo -n``, unless the user is root
    as_root: bool
    #: what errors have to hide of it, and of what it writes
    secrets: Collection[str]
    #: takes stdout as it comes, which may be of any length then
    sink: Callable[[bytes], object]


class Host:
    """A machine, connected for the time of a ``with``.

    Neither an SSH agent nor files of the home directory are looked at.

    :param deadline: by which all that is asked of it has ended
    :param known_key: the key that the machine has to show, as OpenSSH writes
        it; None: it is met for the first time
    :param patience: seconds for which it is waited for while it boots
    :param fresh: it was made just now: a login that is refused is tried
        again as well, as its user may not have the password yet
    """

    def __init__(
        self,
        address: str,
        login: Login,
        deadline: Deadline,
        *,
        known_key: str | None = None,
        port: int = 22,
        patience: float = PATIENCE,
        fresh: bool = False,
    ) -> None:
        self.address = address
        known = HostKey.read(known_key) if known_key else None
        self._target = Target(address, login, known, port, fresh)
        self._deadline = deadline
        self._patience = patience
        self._transport: Any = None

    def __str__(self) -> str:
        return str(self._target)

    def __enter__(self) -> Self:
        """Connect and log in.

        :raises RemoteUnreachable: nobody answers as an SSH server does
        :raises HostKeyChanged: it is not the machine that is known
        :raises LoginRefused: it does not let the user in
        """
        patience = min(self._patience, self._deadline.remaining)
        end = Deadline.within(patience)
        self._transport = connecting.connect(self._target, end)
        shown = HostKey.of(self._transport.get_remote_server_key())
        self._target = dataclasses.replace(self._target, known_key=shown)
        return self

    def __exit__(self, *_: object) -> None:
        connecting.close(self._transport)

    @property
    def key(self) -> str | None:
        """The key that it is known by, to be kept for the next time."""
        known = self._target.known_key
        return str(known) if known else None

    def run(self, command: str, **how: Unpack[How]) -> Answer:
        """Run lines of bash, and give how they ended, be it well or not.

        :raises RemoteFailed: it took too long, wrote more than 4 MiB to
            stdout, or the connection was lost
        """
        made = self._made(command, how)
        left = self._deadline.remaining - commands.SPARE
        seconds = min(left, how.get("timeout", left))
        try:
            return commands.run(self._transport, made, seconds)
        except commands.Broken as broken:
            raise self._failed(made, how, str(broken)) from broken

    def check(self, command: str, **how: Unpack[How]) -> Answer:
        """Run lines of bash that have to end with 0.

        :raises RemoteFailed: they did not; it tells the last of stderr
        """
        answer = self.run(command, **how)
        if answer.exit_code:
            made = self._made(command, how)
            why = f"it ended with {answer.exit_code}"
            raise self._failed(made, how, why, answer)
        return answer

    def put(
        self,
        content: bytes,
        path: str,
        *,
        mode: int = 0o600,
        as_root: bool = False,
    ) -> None:
        """Write a file; it takes the place of another when it is whole.

        :raises RemoteFailed: it could not be written
        """
        where = PurePosixPath(path)
        self.check(
            f"# write {path}\n"
            + PUT.format(
                folder=shlex.quote(str(where.parent)),
                name=shlex.quote(where.name),
                size=len(content),
                mode=mode,
                path=shlex.quote(path),
            ),
            stdin=content,
            as_root=as_root,
        )

    def get(self, path: str, *, as_root: bool = False) -> bytes:
        """Read a file of 4 MiB at most.

        :raises RemoteFailed: it could not be read
        """
        command = f"cat -- {shlex.quote(path)}"
        return self.check(command, as_root=as_root).stdout

    def _made(self, command: str, how: "How") -> Command:
        as_root = how.get("as_root", False)
        return Command(
            text=command,
            stdin=how.get("stdin", b""),
            environment=how.get("environment", {}),
            sudo=as_root and self._target.login.username != "root",
            sink=how.get("sink"),
        )

    def _failed(
        self, command: Command, how: "How", why: str, answer: Answer = NOTHING
    ) -> errors.RemoteFailed:
        values = command.environment.values()
        veil = Veil(
            (
                *how.get("secrets", ()),
                *(value for value in values if len(value) >= MIN_SECRET),
                *self._target.login.secrets,
            )
        )
        name = veil(command.text).strip().partition("\n")[0][:MAX_NAME]
        said = veil((answer.stderr or answer.stdout).decode(errors="replace"))
        last = "\n".join(said.strip().splitlines()[-MAX_LINES:])[-MAX_SAID:]
        told = f": {last}" if last else ""
        return errors.RemoteFailed(f"{self}: {name!r}: {why}{told}")
