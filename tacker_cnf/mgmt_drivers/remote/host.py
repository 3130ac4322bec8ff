"""One machine of a VNF."""

import dataclasses
import shlex
from collections.abc import Callable, Collection, Mapping
from pathlib import PurePosixPath
from typing import Any, Final, Self, TypedDict, Unpack

from tacker_cnf import errors
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.mgmt_drivers.remote import commands, ssh_transport
from tacker_cnf.mgmt_drivers.remote.commands import Command, CommandResult
from tacker_cnf.mgmt_drivers.remote.keys import HostKey, Login
from tacker_cnf.mgmt_drivers.remote.ssh_transport import SshTarget
from tacker_cnf.runtime.cancellation import Deadline

#: seconds to wait for a machine that does not respond
BOOT_TIMEOUT_S: Final = 300.0
#: how much of a command and of its output an error message quotes
MAX_COMMAND_CHARS: Final = 100
MAX_OUTPUT_LINES: Final = 5
MAX_OUTPUT_CHARS: Final = 1000
#: values of the environment that are shorter are not masked
MIN_SECRET_CHARS: Final = 4

#: writes stdin to a temporary file, and renames it when it is complete
PUT_SCRIPT: Final = """\
set -e
made=$(mktemp {folder}/.{name}.XXXXXX)
trap 'rm -f "$made"' EXIT
cat >"$made"
[ "$(stat -c %s "$made")" = {size} ] || {{ echo "a part is missing" >&2; false; }}
chmod {mode:o} "$made"
sync "$made"
mv -fT "$made" {path}
"""

#: stands for the result of a command that has none
NO_RESULT: Final = CommandResult(-1, b"", b"")


class CommandOptions(TypedDict, total=False):
    """Options of a command."""

    #: its input
    stdin: bytes
    #: its values are secret: errors and lists of processes do not show them
    environment: Mapping[str, str]
    #: seconds until it is killed, on the machine too; default: the deadline
    timeout: float
    #: whether to run it with ``sudo -n``, unless the user is root
    as_root: bool
    #: texts to mask in error messages
    secrets: Collection[str]
    #: receives stdout chunk by chunk, without a limit of its length
    sink: Callable[[bytes], object]


class Host:
    """A machine, connected within a ``with`` block.

    It uses neither an SSH agent nor files of the home directory.

    :param deadline: of all commands on the machine
    :param known_key: the host key that the machine has to present, in the
        format of OpenSSH; None: accept any key, for the first contact
    :param connect_timeout: seconds to wait for the machine while it boots
    :param fresh: the machine was created just now: retry a rejected login,
        because the user may not have the password yet
    """

    def __init__(
        self,
        address: str,
        login: Login,
        deadline: Deadline,
        *,
        known_key: str | None = None,
        port: int = 22,
        connect_timeout: float = BOOT_TIMEOUT_S,
        fresh: bool = False,
    ) -> None:
        self.address = address
        known = HostKey.parse(known_key) if known_key else None
        self._target = SshTarget(address, login, known, port, fresh)
        self._deadline = deadline
        self._connect_timeout = connect_timeout
        self._transport: Any = None

    def __str__(self) -> str:
        return str(self._target)

    def __enter__(self) -> Self:
        """Connect and log in.

        :raises RemoteUnreachable: no SSH server answers
        :raises HostKeyChanged: the machine presents another host key than
            known_key
        :raises LoginRejected: the machine rejects the login
        """
        connect_timeout = min(self._connect_timeout, self._deadline.remaining)
        connect_deadline = Deadline.within(connect_timeout)
        self._transport = ssh_transport.connect(self._target, connect_deadline)
        shown = HostKey.from_key(self._transport.get_remote_server_key())
        self._target = dataclasses.replace(self._target, known_key=shown)
        return self

    def __exit__(self, *_: object) -> None:
        ssh_transport.close(self._transport)

    @property
    def key(self) -> str | None:
        """The machine's host key, to be stored as known_key of the next
        connection.
        """
        known = self._target.known_key
        return str(known) if known else None

    def run(
        self, command: str, **options: Unpack[CommandOptions]
    ) -> CommandResult:
        """Run lines of bash, and return their result, whatever the exit code.

        :raises RemoteFailed: the command took too long, wrote more than 4 MiB
            to stdout, or the connection was lost
        """
        built = self._build_command(command, options)
        left = self._deadline.remaining - commands.KILL_MARGIN_S
        seconds = min(left, options.get("timeout", left))
        try:
            return commands.run(self._transport, built, seconds)
        except commands.CommandAborted as aborted:
            raise self._error(built, options, str(aborted)) from aborted

    def check(
        self, command: str, **options: Unpack[CommandOptions]
    ) -> CommandResult:
        """Run lines of bash that have to exit with 0.

        :raises RemoteFailed: the exit code is not 0; the message quotes the
            end of stderr
        """
        result = self.run(command, **options)
        if result.exit_code:
            built = self._build_command(command, options)
            reason = f"it ended with exit code {result.exit_code}"
            raise self._error(built, options, reason, result)
        return result

    def put(
        self,
        content: bytes,
        path: str,
        *,
        mode: int = 0o600,
        as_root: bool = False,
    ) -> None:
        """Write a file; an existing one is replaced when all is written.

        :raises RemoteFailed: the file could not be written
        """
        target = PurePosixPath(path)
        self.check(
            f"# write {path}\n"
            + PUT_SCRIPT.format(
                folder=shlex.quote(str(target.parent)),
                name=shlex.quote(target.name),
                size=len(content),
                mode=mode,
                path=shlex.quote(path),
            ),
            stdin=content,
            as_root=as_root,
        )

    def get(self, path: str, *, as_root: bool = False) -> bytes:
        """Read a file of 4 MiB at most.

        :raises RemoteFailed: the file could not be read
        """
        command = f"cat -- {shlex.quote(path)}"
        return self.check(command, as_root=as_root).stdout

    def _build_command(
        self, command: str, options: "CommandOptions"
    ) -> Command:
        as_root = options.get("as_root", False)
        return Command(
            text=command,
            stdin=options.get("stdin", b""),
            environment=options.get("environment", {}),
            sudo=as_root and self._target.login.username != "root",
            sink=options.get("sink"),
        )

    def _error(
        self,
        command: Command,
        options: "CommandOptions",
        reason: str,
        result: CommandResult = NO_RESULT,
    ) -> errors.RemoteFailed:
        values = command.environment.values()
        masker = SecretMasker(
            (
                *options.get("secrets", ()),
                *(value for value in values if len(value) >= MIN_SECRET_CHARS),
                *self._target.login.secrets,
            )
        )
        name = (
            masker(command.text).strip().partition("\n")[0][:MAX_COMMAND_CHARS]
        )
        output = masker(
            (result.stderr or result.stdout).decode(errors="replace")
        )
        last = "\n".join(output.strip().splitlines()[-MAX_OUTPUT_LINES:])[
            -MAX_OUTPUT_CHARS:
        ]
        detail = f": {last}" if last else ""
        return errors.RemoteFailed(f"{self}: {name!r}: {reason}{detail}")
