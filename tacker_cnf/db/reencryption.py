"""Encryption of all secrets in the database with the first key."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import sqlalchemy as sa
from cryptography.fernet import InvalidToken, MultiFernet
from sqlalchemy import orm

from tacker_cnf import errors
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
        _reencrypt_column(store, table, column, keys)
        for table in Base.metadata.sorted_tables
        for column in table.columns
        if isinstance(column.type, SecretJson)
    )


def _reencrypt_column(
    store: Store, table: sa.Table, column: sa.Column[str], keys: MultiFernet
) -> int:
    written = 0
    last: Sequence[Any] = ()
    while True:
        with store.writer() as session:
            rows = _read(session, table, column, last)
            for row in rows:
                written += _write(session, table, column, row, keys)
        if not rows:
            return written
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
    return session.execute(statement).all()


def _write(
    session: orm.Session,
    table: sa.Table,
    column: sa.Column[str],
    row: Sequence[Any],
    keys: MultiFernet,
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
