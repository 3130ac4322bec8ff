"""Upgrades a database to the schema of this release (alembic)."""

from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from tacker_cnf.db.session import Store

#: the newest of the migrations; servers check it without loading alembic
HEAD: Final = "0007"


def _config(connection: sa.Connection | None = None) -> Any:
    from alembic import config

    alembic_config = config.Config()
    alembic_config.set_main_option(
        "script_location", str(Path(__file__).parent / "migrations")
    )
    alembic_config.attributes["connection"] = connection
    return alembic_config


def upgrade(store: Store) -> None:
    """Run the missing migrations, which keep all data."""
    from alembic import command

    with store.engine.begin() as connection:
        command.upgrade(_config(connection), HEAD)


def version(store: Store) -> str | None:
    """Return the schema version of a database; None: it is empty."""
    with store.engine.connect() as connection:
        if not sa.inspect(connection).has_table("alembic_version"):
            return None
        found: str | None = connection.scalar(
            sa.text("SELECT version_num FROM alembic_version")
        )
        return found
