"""Unit tests. They open no connection and start no process: such tests are in
tests.functional.
"""

import sys
import threading
import unittest
from typing import Any, Final

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


def _forbid(event: str, _: tuple[Any, ...]) -> None:
    if event in FORBIDDEN_EVENTS and _unit_test_runs():
        raise AssertionError(
            f"A unit test must not cause {event}; move it to tests/functional"
        )


def _unit_test_runs() -> bool:
    """Return whether the main thread, which runs the tests, is in one of this
    package; tests of other packages may be derived from these.
    """
    main_thread = threading.main_thread().ident
    frame = sys._current_frames().get(main_thread or 0)
    while frame:
        test = frame.f_locals.get("self")
        if isinstance(test, unittest.TestCase):
            return type(test).__module__.startswith(f"{__name__}.")
        frame = frame.f_back
    return False


sys.addaudithook(_forbid)
