"""Unit tests. They open no connection and start no process: such tests are in
tests.functional.
"""

import sys
from typing import Any, Final

import testtools

#: audit events of Python that only functional tests may cause
FORBIDDEN_EVENTS: Final = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.system",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.sendto",
        "subprocess.Popen",
    }
)


_run: Final = testtools.TestCase.run
#: whether a test of this package runs, in whatever thread
_is_active = False


def _run_isolated(case: testtools.TestCase, result: Any = None) -> Any:
    global _is_active  # noqa: PLW0603
    # tests of other packages may be derived from these
    _is_active = type(case).__module__.startswith(f"{__name__}.")
    try:
        return _run(case, result)
    finally:
        _is_active = False


def _forbid(event: str, _: tuple[Any, ...]) -> None:
    if _is_active and event in FORBIDDEN_EVENTS:
        raise AssertionError(
            f"A unit test must not cause {event}; move it to tests/functional"
        )


testtools.TestCase.run = _run_isolated  # type: ignore[assignment,method-assign]
sys.addaudithook(_forbid)
