"""Brings a database to the schema of this release (alembic)."""

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command, config, migration, script

from tacker_cnf.db.session import Store


def _config(connection: sa.Connection | None = None) -> Any:
    made = config.Config()
    made.set_main_option(
        "script_location", str(Path(__file__).parent / "migrations")
    )
    made.attributes["connection"] = connection
    return made


def upgrade(store: Store) -> None:
    """Make what is missing; nothing is lost."""
    with store.engine.begin() as connection:
        command.upgrade(_config(connection), "head")


def head() -> str:
    """Tell the version this release needs."""
    return (
        script.ScriptDirectory.from_config(_config()).get_current_head() or ""
    )


def version(store: Store) -> str | None:
    """Tell the version of a database; None when it is empty."""
    with store.engine.connect() as connection:
        found: str | None = migration.MigrationContext.configure(
            connection
        ).get_current_revision()
        return found
