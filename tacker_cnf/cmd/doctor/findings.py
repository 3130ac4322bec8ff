"""What the checks of `tacker-cnf-manage doctor` find."""

import contextlib
import enum
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from tacker_cnf.cmd import start


class Level(enum.StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Finding(msgspec.Struct, frozen=True):
    """The result of one check."""

    level: Level
    #: what was checked
    subject: str
    #: what was found; if it is wrong, where, and what to do
    message: str

    def __str__(self) -> str:
        """Return the line that is printed."""
        return f"{self.level:<7}  {self.subject}: {self.message}"


#: yields what is found; an exception is an error
Check = Callable[[], Iterable[Finding]]

#: seconds for a check that may wait for another program
TIMEOUT_S: Final = 20.0


def ok(subject: str, message: str) -> Finding:
    """Return that something is as it should be."""
    return Finding(Level.OK, subject, message)


def warning(subject: str, message: str) -> Finding:
    """Return that something should be changed."""
    return Finding(Level.WARNING, subject, message)


def error(subject: str, message: str) -> Finding:
    """Return that something does not work."""
    return Finding(Level.ERROR, subject, message)


@contextlib.contextmanager
def no_log() -> Iterator[None]:
    """Let libraries log nothing; what they raise is reported."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        root.setLevel(level)


def run(subject: str, check: Check) -> Iterator[Finding]:
    """Run a check; an exception in it is an error."""
    try:
        yield from check()
    except Exception as raised:  # noqa: BLE001  # of any library
        reason = start.error_summary(raised) or type(raised).__name__
        yield error(subject, " ".join(reason.split()))


def within(seconds: float, function: Callable[[], object]) -> None:
    """Call a function that may wait for a server without limit.

    :raises TimeoutError: it has not returned after so many seconds
    :raises Exception: it has raised this
    """
    raised: list[Exception] = []

    def call() -> None:
        try:
            function()
        except Exception as failure:  # noqa: BLE001  # raised below
            raised.append(failure)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"No response in {seconds:.0f} s.")
    if raised:
        raise raised[0]
