"""What every server does first, and last."""

import contextlib
import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Final

import sqlalchemy.exc
from oslo_config import cfg
from oslo_db import exception as db_errors
from oslo_log import log

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.db import schema
from tacker_cnf.db.session import DatabaseTimeout, Store, first_line

DATABASE_ERRORS: Final = (
    db_errors.DBError,
    sqlalchemy.exc.SQLAlchemyError,
    DatabaseTimeout,
    ImportError,  # of the driver that the URL names
)
#: what hinders a program that is not wrong itself
STARTUP_ERRORS: Final = (
    errors.VnfmError,
    cfg.Error,
    OSError,
    *DATABASE_ERRORS,
)
#: malloc.h
M_ARENA_MAX: Final = -8
#: prctl(2)
PR_SET_DUMPABLE: Final = 4


def run_server(
    name: str, serve: Callable[[cfg.ConfigOpts], None], argv: Sequence[str]
) -> int:
    """Read the configuration and serve; tell in one line what hinders it."""
    limit_malloc_arenas()
    disable_ptrace()
    try:
        conf = configuration.load(argv)
        log.setup(conf, "tacker_cnf")
        serve(conf)
    except STARTUP_ERRORS as error:
        print(f"{name}: {error_summary(error)}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def error_summary(error: Exception) -> str:
    """Tell a hindrance in one line."""
    if isinstance(error, DATABASE_ERRORS):
        return f"The database cannot be used: {first_line(error)}"
    return str(error)


def limit_malloc_arenas() -> None:
    """Let glibc keep two heaps instead of one for each thread, which would
    hold on to what a single large answer needed.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 2)


def disable_ptrace() -> None:
    """Let no other process of this user, such as a package's script, look
    into this one: neither its memory nor its environment.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def check_schema(store: Store) -> None:
    """Make sure that the database is of this release.

    :raises VnfmError: it is not
    """
    found = schema.version(store)
    if found != schema.HEAD:
        raise errors.VnfmError(
            f"The database is of version {found}, this release needs "
            f"{schema.HEAD}. `tacker-cnf-manage db upgrade` brings it there."
        )


def stop_event_on_signals() -> threading.Event:
    """Give what SIGTERM and SIGINT set from now on."""
    stop_requested = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop_requested.set())
    return stop_requested
