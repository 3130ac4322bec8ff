"""How long a process waits for its database: well below a lease.

Whatever the database does, a conductor notices in time that it does not renew
its leases, and what a process that stands still has locked is free before
the operations of that process are taken over.
"""

import dataclasses
import math
import select
import time
from collections.abc import Mapping
from typing import Any, Final, Self

import sqlalchemy as sa

#: seconds that none is below: a shorter lease than 8 s gains nothing by it
MIN_TIMEOUT_S: Final = 2.0
#: unanswered keepalives after which a connection is broken, and what tcp(7)
#: allows at most between two of them
KEEPALIVES: Final = 3
MAX_KEEPALIVE_S: Final = 32767


@dataclasses.dataclass(frozen=True)
class Timeouts:
    """All are seconds."""

    #: for the answer to anything, by the clock of this process
    answer: float
    #: for one statement, and for a lock that another transaction has, by the
    #: clock of the database
    statement: float
    lock: float
    #: that a transaction may stand still
    idle: float

    @classmethod
    def for_lease(cls, lease: float) -> Self:
        """Derive them from the lease of a conductor."""
        return cls(
            answer=max(lease / 4, MIN_TIMEOUT_S),
            statement=max(lease / 5, MIN_TIMEOUT_S),
            lock=max(lease / 6, MIN_TIMEOUT_S / 2),
            idle=lease * 2 / 3,
        )

    def url(self, url: sa.URL) -> sa.URL:
        """Put what the driver takes into a URL that does not say otherwise."""
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
                # where nothing is acknowledged, or nothing is under way
                "tcp_user_timeout": str(int(self.answer * 1000)),
                "keepalives_idle": self._keepalive(1),
                "keepalives_interval": self._keepalive(KEEPALIVES),
                "keepalives_count": str(KEEPALIVES),
            }
        return {}

    def _keepalive(self, times: int) -> str:
        return str(min(math.ceil(self.answer / times), MAX_KEEPALIVE_S))

    def install(self, engine: sa.Engine) -> None:
        """Have each new connection of an engine keep them."""
        if engine.dialect.driver == "psycopg2":
            self._set_answer_timeout(engine)

        @sa.event.listens_for(engine, "connect")
        def set_timeouts(connection: Any, _: Any) -> None:
            with connection.cursor() as cursor:
                for name, value in self._session(engine).items():
                    cursor.execute(f"SET SESSION {name} = {value}")
            connection.commit()

    def _session(self, engine: sa.Engine) -> Mapping[str, Any]:
        """Name the variables of a session; what kind of server it is, is
        known only when there is a connection.
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
        """Limit the time for an answer, which libpq would wait for for ever
        where the kernel of the server, or a proxy, acknowledges.
        """
        from psycopg2 import extensions

        class Connection(extensions.connection):  # type: ignore[misc]
            answer_timeout = self.answer

        @sa.event.listens_for(engine, "do_connect")
        def limit(_: Any, __: Any, ___: Any, parameters: Any) -> None:
            parameters["connection_factory"] = Connection

        extensions.set_wait_callback(_wait)


def _wait(connection: Any) -> None:
    """Wait until psycopg2 is done with what was asked of the server.

    :raises OperationalError: the server does not answer; psycopg2 closes the
        connection then
    """
    from psycopg2 import OperationalError, extensions

    events = {
        extensions.POLL_READ: select.POLLIN,
        extensions.POLL_WRITE: select.POLLOUT,
    }
    seconds: float = getattr(connection, "answer_timeout", math.inf)
    until = time.monotonic() + seconds
    while (state := connection.poll()) != extensions.POLL_OK:
        left = until - time.monotonic()
        ready = select.poll()
        ready.register(connection.fileno(), events[state])
        if not ready.poll(None if left == math.inf else max(left, 0) * 1000):
            raise OperationalError(
                f"The database server did not answer within {seconds:g} s"
            )
