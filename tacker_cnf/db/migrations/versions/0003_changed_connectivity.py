"""Changed connectivity, and encrypted notes

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from tacker_cnf.db.types import VAULT

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TABLE = sa.table("vnf_lcm_op_occs", sa.column("id"), sa.column("notes"))


def upgrade() -> None:
    _encrypt_notes()
    op.add_column(
        "vnf_lcm_op_occs",
        sa.Column("changed_ext_connectivity", TEXT, nullable=True),
    )


def _encrypt_notes() -> None:
    """Encrypt what may be secret; first of all, as it wants the keys."""
    connection = op.get_bind()
    for row in connection.execute(sa.select(TABLE)).mappings().all():
        # what an upgrade that was interrupted has encrypted is no list
        if row["notes"][:1] == "[":
            secret = VAULT.fernet.encrypt(row["notes"].encode()).decode()
            connection.execute(
                sa.update(TABLE)
                .where(TABLE.c.id == row["id"])
                .values(notes=secret)
            )
