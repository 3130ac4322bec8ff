"""Transactions: one engine per process, one session per transaction."""

import contextlib
import functools
import math
import select
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import api as db_api
from oslo_db import exception as db_errors
from oslo_db.sqlalchemy import engines
from oslo_log import log
from sqlalchemy import orm
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import functions

from tacker_cnf.context import RequestContext
from tacker_cnf.db import scope
from tacker_cnf.db.scope import CONTEXT
from tacker_cnf.db.timeouts import MIN_TIMEOUT_S, Timeouts
from tacker_cnf.runtime.cancellation import Deadline

LOG = log.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")
Session = orm.Session

#: keys of session.info: whether an event was announced in the session,
#: [secrets] public_names, the cache of db.shown_names, and the quotas of
#: projects without quotas of their own, by resource (db.quotas)
ANNOUNCED: Final = "announced"
PUBLIC_NAMES: Final = "public_names"
PACKAGE_NAMES: Final = "package_names"
QUOTAS: Final = "quotas"


class DatabaseTimeout(Exception):
    """A request to the database timed out."""


class DatabaseUnreachable(DatabaseTimeout):
    """A connection to the database failed."""


#: seconds that a connection was idle before it is pinged
PING_AFTER_S: Final = 1.0

#: there is no connection; any other error is a response of the database
UNREACHABLE: Final = (DatabaseUnreachable, db_errors.DBConnectionError)

#: the database cannot be used at the moment
DATABASE_DOWN: Final = (
    DatabaseTimeout,
    db_errors.DBConnectionError,
    db_errors.DBDeadlock,  # on MariaDB also a timeout of a lock
    sa.exc.OperationalError,
    sa.exc.InterfaceError,
    sa.exc.TimeoutError,
)


#: any error of the database or its driver
DATABASE_ERRORS: Final = (
    DatabaseTimeout,
    db_errors.DBError,
    sa.exc.SQLAlchemyError,
)


class RowsLocked(Exception):
    """Other transactions lock rows; the message has their keys."""


DuplicateEntry = db_errors.DBDuplicateEntry
ReferenceError = db_errors.DBReferenceError  # noqa: A001

#: for functions of one transaction: retries them after a deadlock
retry_transaction = db_api.wrap_db_retry(
    max_retries=8,
    retry_interval=0.02,
    inc_retry_interval=True,
    retry_on_deadlock=True,
    retry_on_disconnect=True,
    jitter=True,
)


def first_line(error: Exception) -> str:
    """Return the first line of the message of a database error."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def severity(error: Exception) -> int:
    """Return the level at which a failed attempt is logged: an error of the
    database is logged where its transaction fails.
    """
    if isinstance(error, RowsLocked):
        return int(log.INFO)
    return int(log.DEBUG if isinstance(error, DATABASE_DOWN) else log.WARNING)


class Outage:
    """Logs when the database becomes unreachable, and reachable again.

    The result of a transaction that began before the last change is ignored.
    """

    def __init__(self) -> None:
        self._since: float | None = None
        self._ended = -math.inf
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def track(self) -> Iterator[None]:
        """Log whether the database is reachable within this block."""
        entered = time.monotonic()
        try:
            yield
        except db_errors.DBDeadlock:
            raise  # it is retried
        except UNREACHABLE as error:
            self._begin(entered, error)
            raise
        except DATABASE_DOWN as error:
            _log_failed(error)
            raise
        if self._since is not None:
            self._end(entered)

    def _begin(self, entered: float, error: Exception) -> None:
        with self._lock:
            if self._since is not None or entered <= self._ended:
                return
            self._since = time.monotonic()
        reason = first_line(error)
        LOG.warning("Database unreachable, retrying: error=%s", reason)

    def _end(self, entered: float) -> None:
        with self._lock:
            if self._since is None or entered <= self._since:
                return
            self._ended = time.monotonic()
            seconds, self._since = self._ended - self._since, None
        LOG.warning("Database reachable again: after_s=%.1f", seconds)


def _log_failed(error: Exception) -> None:
    LOG.warning("Database transaction failed: error=%s", first_line(error))


class epoch(functions.FunctionElement[float]):  # noqa: N801
    """Seconds since 1970 by the clock of the database, the only clock that
    every conductor shares.
    """

    type = sa.Double()
    inherit_cache = True


@compiles(epoch, "sqlite")
def _sqlite_epoch(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(epoch, "postgresql")
def _postgresql_epoch(*_: Any, **__: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


@compiles(epoch, "mysql")
@compiles(epoch, "mariadb")
def _mysql_epoch(*_: Any, **__: Any) -> str:
    # UTC only: local time repeats an hour in autumn
    return (
        "(timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))"
        " / 1000000e0)"
    )


def transaction(method: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of exactly one transaction: retry it after a
    deadlock or a closed connection, but not after a timeout.
    """

    @functools.wraps(method)
    def attempt(*args: P.args, **kwargs: P.kwargs) -> R:
        timeout = Deadline.within(MIN_TIMEOUT_S)
        try:
            return method(*args, **kwargs)
        except (db_errors.DBConnectionError, db_errors.DBDeadlock) as error:
            if not timeout.passed:
                raise
            if isinstance(error, UNREACHABLE):
                raise DatabaseUnreachable(first_line(error)) from error
            _log_failed(error)
            raise DatabaseTimeout(first_line(error)) from error

    return functools.wraps(method)(retry_transaction(attempt))


class Store:
    """The database of this process.

    :param timeouts: None: without limits, as migrations of large tables need
    """

    def __init__(
        self, url: str, timeouts: Timeouts | None = None, **options: Any
    ) -> None:
        engine_url = timeouts.url(sa.make_url(url)) if timeouts else url
        self.engine: sa.Engine = engines.create_engine(
            engine_url, sqlite_fk=True, thread_checkin=False, **options
        )
        # errors contain the statement, but no parameters, which may be secret
        self.engine.hide_parameters = True
        _prepare(self.engine, timeouts)
        _translate_connect_errors(self.engine)
        #: [secrets] public_names
        self.public_names: frozenset[str] = frozenset()
        self._package_names: dict[str, Any] = {}
        #: quotas of projects without quotas of their own (db.quotas)
        self.quotas: Mapping[str, int] = {}
        #: called when an event was announced
        self.listeners: list[Callable[[], None]] = []
        self._outage = Outage()
        self._writers = orm.sessionmaker(self.engine, expire_on_commit=False)
        self._readers = orm.sessionmaker(
            self.engine.execution_options(reader=True)
        )
        for sessions in (self._readers, self._writers):
            sa.event.listen(sessions, "do_orm_execute", _limit_to_client)

    @contextlib.contextmanager
    def reader(
        self, context: RequestContext | None = None
    ) -> Iterator[Session]:
        """Open a session for reading.

        :param context: of the request that it serves; None: it reads the rows
            of all clients
        """
        info = self._session_info(context)
        with self._outage.track(), self._readers(info=info) as session:
            yield session

    @contextlib.contextmanager
    def writer(
        self, context: RequestContext | None = None
    ) -> Iterator[Session]:
        """Open a session for writing; commit it at the end of the block.

        :param context: as of reader()
        """
        info = self._session_info(context)
        with (
            self._outage.track(),
            self._writers(info=info) as session,
            session.begin(),
        ):
            session.connection(execution_options={"writer": True})
            yield session
        if session.info.get(ANNOUNCED):
            self.notify_listeners()

    def _session_info(self, context: RequestContext | None) -> dict[str, Any]:
        return {
            CONTEXT: context,
            PUBLIC_NAMES: self.public_names,
            PACKAGE_NAMES: self._package_names,
            QUOTAS: self.quotas,
        }

    def read(
        self,
        context: RequestContext | None,
        function: Callable[Concatenate[Session, P], R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        """Call a function with a session for reading, as one transaction."""
        return _run(self.reader, context, function, *args, **kwargs)

    def write(
        self,
        context: RequestContext | None,
        function: Callable[Concatenate[Session, P], R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        """Call a function with a session for writing, as one transaction."""
        return _run(self.writer, context, function, *args, **kwargs)

    def notify_listeners(self) -> None:
        """Call the listeners: this or another process announced an event."""
        for listener in tuple(self.listeners):
            listener()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def database_url(conf: cfg.ConfigOpts) -> str:
    """Return the URL of the database; SQLite in state_path by default."""
    if not conf.database.connection:
        return f"sqlite:///{Path(conf.state_path) / 'tacker_cnf.sqlite'}"
    url = sa.make_url(conf.database.connection)
    if url.get_backend_name() in {"mysql", "mariadb"}:
        url = url.update_query_dict({"charset": "utf8mb4"})
    return url.render_as_string(hide_password=False)


def would_be_created(conf: cfg.ConfigOpts) -> bool:
    """Return whether opening the database would create a file of SQLite."""
    url = sa.make_url(database_url(conf))
    if url.get_backend_name() != "sqlite" or not url.database:
        return False
    path = Path(url.database)
    return path.parent.is_dir() and not path.exists()


def open_store(
    conf: cfg.ConfigOpts, *, limited: bool = True, connect: bool = True
) -> Store:
    """Open the database of a configuration.

    :param limited: whether requests have timeouts
    :param connect: try to connect now, as often as [database] configures
    """
    options = conf.database
    url = database_url(conf)
    pool_timeout = options.pool_timeout
    timeouts = Timeouts.for_lease(conf.conductor.lease) if limited else None
    if timeouts and not url.startswith("sqlite"):
        pool_timeout = min(pool_timeout or math.inf, timeouts.answer)
    return Store(
        url,
        timeouts,
        max_pool_size=options.max_pool_size,
        max_overflow=options.max_overflow,
        pool_timeout=pool_timeout,
        max_retries=options.max_retries if connect else 0,
        retry_interval=options.retry_interval,
        mysql_sql_mode=options.mysql_sql_mode,
    )


@transaction
def _run(
    open_session: Callable[
        [RequestContext | None], contextlib.AbstractContextManager[Session]
    ],
    context: RequestContext | None,
    function: Callable[Concatenate[Session, P], R],
    *args: P.args,
    **kwargs: P.kwargs,
) -> R:
    with open_session(context) as session:
        return function(session, *args, **kwargs)


def _limit_to_client(execution: orm.ORMExecuteState) -> None:
    context = execution.session.info[CONTEXT]
    if context is not None:
        scope.limit_to_client(execution, context)


def _prepare(engine: sa.Engine, timeouts: Timeouts | None) -> None:
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine)
        return
    if engine.dialect.driver == "psycopg2":
        _prepare_psycopg2(engine)
    if timeouts:
        timeouts.install(engine)
        engine.dispose()  # oslo.db has opened one without timeouts


def _prepare_psycopg2(engine: sa.Engine) -> None:
    """Spare PostgreSQL requests around a statement.

    A reader sends no BEGIN and ROLLBACK: with or without them, each statement
    has a snapshot of its own (READ COMMITTED). The attribute of psycopg2 sends
    nothing, unlike SQLAlchemy's isolation level AUTOCOMMIT. oslo.db pings each
    connection before it is used: only those that were idle for a while are
    pinged, and those whose server has closed them, by which they can be read.
    """
    ping = engine.dialect.do_ping
    last_use = weakref.WeakKeyDictionary[Any, float]()

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("reader"):
            connection.connection.driver_connection.autocommit = True  # type: ignore[union-attr]

    @sa.event.listens_for(engine, "checkin")
    def reset(connection: Any, _: Any) -> None:
        if connection is None:
            return
        if connection.autocommit:
            connection.autocommit = False
        last_use[connection] = time.monotonic()

    def ping_unless_in_use(connection: Any) -> bool:
        idle = time.monotonic() - last_use.get(connection, -math.inf)
        if idle < PING_AFTER_S and not _has_input(connection):
            return True
        return ping(connection)

    engine.dialect.do_ping = ping_unless_in_use  # type: ignore[assignment,method-assign]


def _has_input(connection: Any) -> bool:
    """Return whether a connection can be read: the server has closed it."""
    if connection.closed:
        return True
    found = select.poll()
    found.register(connection.fileno(), select.POLLIN)
    return bool(found.poll(0))


def _translate_connect_errors(engine: sa.Engine) -> None:
    """Raise DatabaseUnreachable if connecting fails; the drivers use the same
    exceptions for errors of the server.
    """

    @sa.event.listens_for(engine, "do_connect")
    def connect(
        dialect: sa.Dialect, _: Any, args: Any, parameters: Any
    ) -> Any:
        try:
            return dialect.connect(*args, **parameters)
        except dialect.loaded_dbapi.Error as error:
            raise DatabaseUnreachable(first_line(error)) from error


def _prepare_sqlite(engine: sa.Engine) -> None:
    @sa.event.listens_for(engine, "connect")
    def set_pragmas(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA busy_timeout = 20000")

    # SQLite cannot upgrade a read transaction after another write, so a
    # writer locks at once. oslo.db has sent a plain BEGIN, which locks
    # nothing yet.
    @sa.event.listens_for(engine, "begin")
    def begin_immediate(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("writer"):
            connection.exec_driver_sql("COMMIT")
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    with engine.connect() as connection:
        connection.connection.driver_connection.execute(  # type: ignore[union-attr]
            "PRAGMA journal_mode = WAL"
        )
