"""All secrets in the database: their encryption with the first key."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from cryptography.fernet import InvalidToken, MultiFernet
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import scope
from tacker_cnf.db.models import Base
from tacker_cnf.db.session import Store
from tacker_cnf.db.types import LONG_TEXT, SecretJson

#: rows that are read and written in one transaction
BATCH_SIZE: Final = 100


def reencrypt(store: Store, keys: MultiFernet) -> int:
    """Encrypt all secrets with the first key; return their number. Values
    that a service changes meanwhile stay as it has written them.

    :raises VnfmError: a value was encrypted by none of the keys
    """
    return sum(
        _sum_rows(
            store.writer,
            table,
            column,
            functools.partial(_write, table, column, keys),
        )
        for table, column in _secret_columns()
    )


def count_undecryptable(store: Store, keys: MultiFernet) -> Mapping[str, int]:
    """Count the secrets that were encrypted by none of the keys, for each
    column that has some.
    """

    def is_undecryptable(_: orm.Session, row: Sequence[Any]) -> bool:
        try:
            keys.decrypt(row[-1])
        except InvalidToken:
            return True
        return False

    counts = {
        f"{table.name}.{column.name}": _sum_rows(
            store.reader, table, column, is_undecryptable
        )
        for table, column in _secret_columns()
    }
    return {name: count for name, count in counts.items() if count}


def _secret_columns() -> Iterator[tuple[sa.Table, sa.Column[str]]]:
    for table in Base.metadata.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, SecretJson):
                yield table, column


def _sum_rows(
    open_session: Callable[[], contextlib.AbstractContextManager[orm.Session]],
    table: sa.Table,
    column: sa.Column[str],
    function: Callable[[orm.Session, Sequence[Any]], int],
) -> int:
    """Return the sum of a function of each row that has a value."""
    total = 0
    last: Sequence[Any] = ()
    while True:
        with open_session() as session:
            rows = _read(session, table, column, last)
            total += sum(function(session, row) for row in rows)
        if not rows:
            return total
        last = rows[-1][:-1]


def _read(
    session: orm.Session,
    table: sa.Table,
    column: sa.Column[str],
    after: Sequence[Any],
) -> Sequence[Any]:
    """Return primary key and value of the next rows, in the order of the
    primary key.
    """
    primary_key = tuple(table.primary_key.columns)
    statement = (
        sa.select(*primary_key, sa.type_coerce(column, LONG_TEXT))
        .where(column.is_not(None))
        .order_by(*primary_key)
        .limit(BATCH_SIZE)
    )
    if after:
        statement = statement.where(sa.tuple_(*primary_key) > tuple(after))
    return scope.rows(session, statement).all()


def _write(
    table: sa.Table,
    column: sa.Column[str],
    keys: MultiFernet,
    session: orm.Session,
    row: Sequence[Any],
) -> int:
    """Write the value of a row, unless it has changed since; return how many
    rows have it.

    :param row: primary key and value
    :raises VnfmError: it was encrypted by none of the keys
    """
    *primary_key, value = row
    try:
        rotated = keys.rotate(value.encode()).decode()
    except InvalidToken:
        raise errors.VnfmError(
            f"A secret in {table.name}.{column.name} was encrypted with a key "
            "that is not in the key file."
        ) from None
    is_unchanged = sa.type_coerce(column, LONG_TEXT) == value
    result = session.connection().execute(
        sa.update(table)
        .where(*_conditions(table, primary_key), is_unchanged)
        .values({column: sa.literal(rotated, LONG_TEXT)})
    )
    return int(result.rowcount)


def _conditions(
    table: sa.Table, primary_key: Sequence[Any]
) -> Iterator[sa.ColumnElement[bool]]:
    for column, value in zip(
        table.primary_key.columns, primary_key, strict=True
    ):
        yield column == value
