"""Start and stop of all servers."""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Final

from oslo_config import cfg
from oslo_log import log

from tacker_cnf import conf as configuration
from tacker_cnf import errors, tracing
from tacker_cnf.db import schema, session
from tacker_cnf.db.session import Store, first_line

#: errors of the configuration or the environment, not of the program
STARTUP_ERRORS: Final = (
    errors.VnfmError,
    cfg.Error,
    OSError,
    ImportError,  # a driver in a URL is not installed
    *session.DATABASE_ERRORS,
)
#: what has a package that only some configurations need
EXTRAS: Final = {
    "psycopg2": "tacker_cnf[postgresql]",
    "pymysql": "tacker_cnf[mysql]",
    "MySQLdb": "tacker_cnf[mysql], and use mysql+pymysql://",
    "opentelemetry": "tacker_cnf[tracing]",
}
#: malloc.h
M_ARENA_MAX: Final = -8
#: prctl(2)
PR_SET_DUMPABLE: Final = 4


def run_server(
    name: str, serve: Callable[[cfg.ConfigOpts], None], argv: Sequence[str]
) -> int:
    """Read the configuration and serve; print a startup error in one line.

    :returns: the exit status
    """
    limit_malloc_arenas()
    disable_ptrace()
    try:
        conf = configuration.load(argv)
        log.setup(conf, "tacker_cnf")
        start_tracing(conf, name)
        serve(conf)
    except STARTUP_ERRORS as error:
        print(f"{name}: {error_summary(error)}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def start_tracing(conf: cfg.ConfigOpts, program: str) -> None:
    """Begin to export spans, if [tracing] says so.

    :raises VnfmError: the packages are not installed
    """
    if conf.tracing.endpoint is None:
        return
    tracing.set_tracer(load_span_exporter()(conf, program))


def load_span_exporter() -> Callable[[cfg.ConfigOpts, str], tracing.Tracer]:
    """Return the class that exports spans.

    :raises VnfmError: the packages are not installed
    """
    try:
        # imported here: it needs memory, and packages of an extra
        from tacker_cnf.cmd.span_exporter import SpanExporter
    except ImportError as error:
        raise errors.VnfmError(
            f"[tracing] endpoint is set, but {error_summary(error)}"
        ) from None
    return SpanExporter


def error_summary(error: Exception) -> str:
    """Return a startup error in one line."""
    if isinstance(error, session.DATABASE_ERRORS):
        return f"The database cannot be used: {first_line(error)}"
    if isinstance(error, ModuleNotFoundError):
        name = str(error.name).partition(".")[0]
        wanted = EXTRAS.get(name, "tacker_cnf with all that it requires")
        return f"{name} is not installed: install {wanted}."
    return str(error)


def limit_malloc_arenas() -> None:
    """Limit glibc to two heaps instead of one for each thread, each of which
    would retain the memory of its largest response.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 2)


def disable_ptrace() -> None:
    """Prevent other processes of this user, such as a package's script, from
    reading the memory and the environment of this one.
    """
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


class NoTables(errors.VnfmError):
    """The database has no tables. Run `tacker-cnf-manage db upgrade`."""


def check_schema(store: Store) -> None:
    """Check that the database has the schema of this release, or of a later
    one.

    :raises VnfmError: the schema has an earlier version
    :raises NoTables: there is none
    """
    found = schema.version(store)
    if found is None:
        raise NoTables
    if not schema.is_usable(found):
        raise errors.VnfmError(
            f"The database has schema version {found}, this release needs "
            f"{schema.HEAD}. Run `tacker-cnf-manage db upgrade`."
        )


def open_signal_pipe(*numbers: signal.Signals) -> int:
    """Return a file descriptor from which each of these signals can be read as
    a byte from now on, also one that arrives just before the read.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    return reader
