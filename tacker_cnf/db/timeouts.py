"""Timeouts for requests to the database, all well below a lease.

A conductor with an unreachable database notices in time that it cannot renew
its leases, and the locks of a frozen process are released before other
conductors claim its operations.
"""

import dataclasses
import math
import select
from collections.abc import Mapping
from typing import Any, Final, Self

import sqlalchemy as sa

from tacker_cnf.runtime.cancellation import Deadline

#: the least seconds of a timeout; reached with a lease of 8 s
MIN_TIMEOUT_S: Final = 2.0
#: unanswered keepalives after which a connection is broken
KEEPALIVES: Final = 3
#: the most seconds between two keepalives (tcp(7))
MAX_KEEPALIVE_S: Final = 32767


@dataclasses.dataclass(frozen=True)
class Timeouts:
    """Timeouts in seconds."""

    #: for any response, by the clock of this process
    answer: float
    #: for one statement, and for a lock of another transaction, by the clock
    #: of the database
    statement: float
    lock: float
    #: of a transaction without a statement
    idle: float

    @classmethod
    def for_lease(cls, lease: float) -> Self:
        """Return the timeouts for a lease of `lease` seconds."""
        return cls(
            answer=max(lease / 4, MIN_TIMEOUT_S),
            statement=max(lease / 5, MIN_TIMEOUT_S),
            lock=max(lease / 6, MIN_TIMEOUT_S / 2),
            idle=lease * 2 / 3,
        )

    def url(self, url: sa.URL) -> sa.URL:
        """Add the options of the driver that a URL does not set."""
        options = self._options(url.get_driver_name())
        missing = options.keys() - url.query.keys()
        return url.update_query_dict({key: options[key] for key in missing})

    def _options(self, driver: str) -> Mapping[str, str]:
        seconds = str(math.ceil(self.answer))
        if driver == "pymysql":
            names = ("connect_timeout", "read_timeout", "write_timeout")
            return dict.fromkeys(names, seconds)
        if driver == "psycopg2":
            return {
                "connect_timeout": seconds,
                # for unacknowledged data; keepalives for idle connections
                "tcp_user_timeout": str(int(self.answer * 1000)),
                "keepalives_idle": self._keepalive(1),
                "keepalives_interval": self._keepalive(KEEPALIVES),
                "keepalives_count": str(KEEPALIVES),
            }
        return {}

    def _keepalive(self, times: int) -> str:
        return str(min(math.ceil(self.answer / times), MAX_KEEPALIVE_S))

    def install(self, engine: sa.Engine) -> None:
        """Set the timeouts of each new connection of an engine."""
        if engine.dialect.driver == "psycopg2":
            self._set_answer_timeout(engine)

        @sa.event.listens_for(engine, "connect")
        def set_timeouts(connection: Any, _: Any) -> None:
            with connection.cursor() as cursor:
                for name, value in self._session(engine).items():
                    cursor.execute(f"SET SESSION {name} = {value}")
            connection.commit()

    def _session(self, engine: sa.Engine) -> Mapping[str, Any]:
        """Return the session variables of a server: name -> value.

        The kind of server is known after the first connection only.
        """
        if engine.dialect.name == "postgresql":
            return {
                "statement_timeout": int(self.statement * 1000),
                "lock_timeout": int(self.lock * 1000),
                "idle_in_transaction_session_timeout": int(self.idle * 1000),
            }
        locks = {
            "innodb_lock_wait_timeout": math.ceil(self.lock),
            "lock_wait_timeout": math.ceil(self.lock),
        }
        if getattr(engine.dialect, "is_mariadb", False):
            return {
                **locks,
                "max_statement_time": self.statement,
                "idle_transaction_timeout": math.ceil(self.idle),
            }
        return {**locks, "max_execution_time": int(self.statement * 1000)}

    def _set_answer_timeout(self, engine: sa.Engine) -> None:
        """Limit the time for a response; libpq would wait forever if the
        kernel of the server, or a proxy, acknowledges.
        """
        from psycopg2 import extensions

        class Connection(extensions.connection):  # type: ignore[misc]
            answer_timeout = self.answer

        @sa.event.listens_for(engine, "do_connect")
        def limit(_: Any, __: Any, ___: Any, parameters: Any) -> None:
            parameters["connection_factory"] = Connection

        extensions.set_wait_callback(_wait)


def _wait(connection: Any) -> None:
    """Wait until psycopg2 has the response of the server.

    :raises OperationalError: the server does not respond; psycopg2 closes the
        connection
    """
    from psycopg2 import OperationalError, extensions

    events = {
        extensions.POLL_READ: select.POLLIN,
        extensions.POLL_WRITE: select.POLLOUT,
    }
    seconds: float = getattr(connection, "answer_timeout", math.inf)
    deadline = Deadline.within(seconds)
    while (state := connection.poll()) != extensions.POLL_OK:
        left = deadline.remaining
        ready = select.poll()
        ready.register(connection.fileno(), events[state])
        if not ready.poll(None if left == math.inf else left * 1000):
            raise OperationalError(
                f"The database server did not answer within {seconds:g} s"
            )
