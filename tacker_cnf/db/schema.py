"""Upgrades a database to the schema of this release (alembic)."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from tacker_cnf import errors
from tacker_cnf.db.session import Store

#: the newest of the migrations; servers check it without loading alembic
HEAD: Final = "0016"


def _config(
    connection: sa.Connection | None = None, project_id: str | None = None
) -> Any:
    from alembic import config

    alembic_config = config.Config()
    alembic_config.set_main_option(
        "script_location", str(Path(__file__).parent / "migrations")
    )
    alembic_config.attributes["connection"] = connection
    alembic_config.attributes["project_id"] = project_id
    return alembic_config


def upgrade(store: Store, project_id: str | None = None) -> None:
    """Run the missing migrations, which keep all data.

    :param project_id: the project of rows of a release without projects
    :raises VnfmError: there are such rows, and no project was named; or the
        schema is that of a later release
    """
    from alembic import command

    found = version(store)
    if found != HEAD and is_usable(found):
        raise errors.VnfmError(
            f"The database has schema version {found} of a later release; "
            f"this one knows versions until {HEAD}. Run the command of the "
            "later release."
        )
    with (
        store.engine.connect() as connection,
        _table_copies(connection),
        connection.begin(),
    ):
        command.upgrade(_config(connection, project_id), HEAD)


@contextlib.contextmanager
def _table_copies(connection: sa.Connection) -> Iterator[None]:
    """Let migrations replace tables by changed copies, the only way in which
    SQLite changes a constraint: dropping the original deletes no rows that
    refer to it.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    sqlite: Any = connection.connection.driver_connection
    sqlite.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        sqlite.execute("PRAGMA foreign_keys = ON")


def is_usable(found: str | None) -> bool:
    """Return whether this release works with a schema version: its own, or a
    later one, as migrations only extend the schema.
    """
    return found is not None and found.isdecimal() and found >= HEAD


def version(store: Store) -> str | None:
    """Return the schema version of a database; None: it is empty."""
    with store.engine.connect() as connection:
        if not sa.inspect(connection).has_table("alembic_version"):
            return None
        found: str | None = connection.scalar(
            sa.text("SELECT version_num FROM alembic_version")
        )
        return found
