"""Runs one command on a machine, and sees to it that it ends there too."""

import contextlib
import dataclasses
import math
import shlex
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from tacker_cnf.mgmt_drivers.remote import ssh_transport
from tacker_cnf.runtime.cancellation import CancelToken, Deadline

#: bytes of stdout that a command may write
MAX_STDOUT_BYTES: Final = 4 * 1024 * 1024
#: last bytes of stderr that are kept
MAX_STDERR_BYTES: Final = 64 * 1024
#: seconds for output that comes after the end of a command; what it left in
#: the background may hold on to it for ever
DRAIN_TIMEOUT_S: Final = 1.0
#: seconds that are kept back to end a command that takes too long
KILL_MARGIN_S: Final = 4.0
#: how a shell tells that it was ended by `timeout`
TIMEOUT_EXIT_CODES: Final = (124, 137, 143)

#: Read by a bash on the machine from its stdin, where the input of the
#: command follows it: nothing of this is in a list of processes. Who gives
#: the input waits for the end of the connection then, and calls all off. A
#: command that was called off takes what it started with it. From the first
#: ``exec 4<`` on it has to be one statement, which bash reads as a whole: the
#: next byte is the input's.
SCRIPT: Final = """\
exec 3>&2 2>/dev/null
late= todo={command}
trap late=1 TERM
{exports}
exec 4< <(
exec 3>&-; head -c {size}; exec >/dev/null
while IFS= read -rd '' _; do :; done; kill "$PPID"
); ( eval "$todo" ) <&4 2>&3 3>&- 4<&-; code=$?; \
[ -z "$late" ] || kill -KILL 0; kill "$!"; exit "$code"
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command:
    """What to run: lines of bash, and what they are given.

    :param environment: goes by the connection, not by a command line
    """

    text: str
    stdin: bytes = b""
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: whether it is run by sudo
    sudo: bool = False
    #: takes stdout as it comes, however much; None: the answer has it
    sink: Callable[[bytes], object] | None = None

    def command_line(self, seconds: float) -> str:
        """The command line that the machine sees, which holds no secret.

        :param seconds: after which it is ended; killed by the half of SPARE
        """
        sudo = "sudo -n " if self.sudo else ""
        kill = KILL_MARGIN_S / 2
        # a shell that has something left to do outlives what it started
        return f"{sudo}timeout -k {kill} {seconds:.1f} bash -s; exit"

    def script(self) -> bytes:
        """All that the machine reads."""
        exports = "\n".join(
            f"export {name}={shlex.quote(value)}"
            for name, value in self.environment.items()
        )
        script = SCRIPT.format(
            command=shlex.quote(self.text),
            exports=exports,
            size=len(self.stdin),
        )
        return script.encode() + self.stdin


@dataclasses.dataclass(frozen=True)
class CommandResult:
    """How a command ended, and what it wrote."""

    exit_code: int
    stdout: bytes
    #: the last of it
    stderr: bytes

    @property
    def text(self) -> str:
        return self.stdout.decode(errors="replace")


class CommandAborted(Exception):
    """Why there is no answer."""


def run(transport: Any, command: Command, seconds: float) -> CommandResult:
    """Run a command and wait for its end.

    :param seconds: within which it has ended, there as well
    :raises CommandAborted: it took too long, wrote too much, or was lost
    :raises LostClaim: the lease of this process has ended
    """
    if seconds <= 0:
        raise CommandAborted("no time is left for it")
    deadline = Deadline.within(seconds + KILL_MARGIN_S)
    try:
        with ssh_transport.close_at(transport, deadline):
            channel = transport.open_session()
            CancelToken().check_lease()
            try:
                result = _Session(channel, command, seconds).wait(deadline)
            finally:
                channel.close()
    except ssh_transport.CONNECTION_ERRORS as error:
        if deadline.passed:
            raise CommandAborted(
                "the machine does not answer any more"
            ) from error
        raise CommandAborted(f"the connection ended: {error}") from error
    if (
        result.exit_code in TIMEOUT_EXIT_CODES
        and deadline.remaining <= KILL_MARGIN_S
    ):
        raise CommandAborted(
            f"it did not end within {seconds:.0f} s, and was ended"
        )
    return result


class _Session:
    """What goes to and fro while a command runs."""

    def __init__(self, channel: Any, command: Command, seconds: float) -> None:
        self._channel = channel
        channel.exec_command(command.command_line(seconds))
        self._failure: str | None = None
        self._drain_timeout = math.inf if command.sink else DRAIN_TIMEOUT_S
        self._stdout = bytearray()
        self._stderr = bytearray()
        script = command.script()
        store = command.sink or self._append_stdout
        self._writer = _thread(lambda: channel.sendall(script))
        self._readers = (
            _thread(lambda: self._read(channel.recv, store)),
            _thread(
                lambda: self._read(channel.recv_stderr, self._append_stderr)
            ),
        )

    def wait(self, deadline: Deadline) -> CommandResult:
        """Wait for the end.

        :raises CommandAborted: there is no answer
        :raises OSError: the connection ended
        """
        channel = self._channel
        channel.status_event.wait(deadline.remaining)
        drain_deadline = Deadline.within(
            min(self._drain_timeout, deadline.remaining)
        )
        for reader in self._readers:
            reader.join(drain_deadline.remaining)
        channel.close()
        for thread in (*self._readers, self._writer):
            thread.join()
        if self._failure:
            raise CommandAborted(self._failure)
        if channel.exit_status < 0:
            error = channel.transport.get_exception()
            raise EOFError(error or "by the machine")
        return CommandResult(
            channel.exit_status, bytes(self._stdout), bytes(self._stderr)
        )

    def _read(
        self,
        receive: Callable[[int], bytes],
        store: Callable[[bytes], object],
    ) -> None:
        while data := receive(65536):
            try:
                store(data)
            except OSError as error:
                self._abort(f"what it wrote cannot be stored: {error}")
                return

    def _abort(self, reason: str) -> None:
        self._failure = reason
        self._channel.close()

    def _append_stdout(self, data: bytes) -> None:
        self._stdout += data
        if len(self._stdout) > MAX_STDOUT_BYTES:
            self._abort(
                f"it wrote more than {MAX_STDOUT_BYTES} bytes to stdout"
            )

    def _append_stderr(self, data: bytes) -> None:
        self._stderr += data
        del self._stderr[:-MAX_STDERR_BYTES]


def _thread(work: Callable[[], object]) -> threading.Thread:
    def run_quietly() -> None:
        # who waits for the command sees it as well
        with contextlib.suppress(*ssh_transport.CONNECTION_ERRORS):
            work()

    thread = threading.Thread(target=run_quietly, daemon=True)
    thread.start()
    return thread
