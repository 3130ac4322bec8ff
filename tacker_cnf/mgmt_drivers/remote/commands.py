"""Run one command on a machine, and end its processes there."""

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
#: last bytes of stderr that are returned
MAX_STDERR_BYTES: Final = 64 * 1024
#: seconds for output after the end of a command; a process that it left in
#: the background may keep stdout and stderr open for ever
DRAIN_TIMEOUT_S: Final = 1.0
#: seconds of the deadline that are reserved to kill a command
KILL_MARGIN_S: Final = 4.0
#: exit codes of a shell that `timeout` has ended
TIMEOUT_EXIT_CODES: Final = (124, 137, 143)

#: Bash on the machine reads this from stdin, followed by the command's input:
#: neither appears in a list of processes. The subshell that passes the input
#: on then waits for the end of the connection and kills the command; a killed
#: command takes its child processes with it. From the first ``exec 4<`` on
#: this has to be one statement, which bash reads at once: the next byte
#: belongs to the input.
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
    """Lines of bash, with their input and environment.

    :param environment: sent over the connection, not on a command line
    """

    text: str
    stdin: bytes = b""
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: whether to run it with sudo
    sudo: bool = False
    #: receives stdout chunk by chunk, without a limit; None: the result has it
    sink: Callable[[bytes], object] | None = None

    def command_line(self, seconds: float) -> str:
        """Return the command line for the machine; it contains no secret.

        :param seconds: until SIGTERM; SIGKILL follows after half of
            KILL_MARGIN_S
        """
        sudo = "sudo -n " if self.sudo else ""
        kill = KILL_MARGIN_S / 2
        # "; exit" keeps the login shell alive until `timeout` has ended
        return f"{sudo}timeout -k {kill} {seconds:.1f} bash -s; exit"

    def script(self) -> bytes:
        """Return all bytes that bash on the machine reads from stdin."""
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
    """The exit code and the output of a command."""

    exit_code: int
    stdout: bytes
    #: the last MAX_STDERR_BYTES of it
    stderr: bytes

    @property
    def text(self) -> str:
        return self.stdout.decode(errors="replace")


class CommandAborted(Exception):
    """The reason why a command has no result."""


def run(transport: Any, command: Command, seconds: float) -> CommandResult:
    """Run a command and wait for its end.

    :param seconds: after which the command is killed, on the machine too
    :raises CommandAborted: the command took too long or wrote too much, or
        the connection was lost
    :raises LeaseLost: the conductor lost the lease of the operation
    """
    if seconds <= 0:
        raise CommandAborted("no time is left to run it")
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
            raise CommandAborted("the machine stopped responding") from error
        raise CommandAborted(f"the connection ended: {error}") from error
    if (
        result.exit_code in TIMEOUT_EXIT_CODES
        and deadline.remaining <= KILL_MARGIN_S
    ):
        raise CommandAborted(
            f"it did not end within {seconds:.0f} s and was killed"
        )
    return result


class _Session:
    """The input and output streams of a running command."""

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
        """Wait for the end of the command.

        :raises CommandAborted: its output could not be stored or was too long
        :raises OSError: the connection ended
        """
        channel = self._channel
        channel.status_event.wait(deadline.remaining)
        drain_deadline = deadline.limited(self._drain_timeout)
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
                self._abort(f"its output cannot be stored: {error}")
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
        # wait() reports a lost connection
        with contextlib.suppress(*ssh_transport.CONNECTION_ERRORS):
            work()

    thread = threading.Thread(target=run_quietly, daemon=True)
    thread.start()
    return thread
