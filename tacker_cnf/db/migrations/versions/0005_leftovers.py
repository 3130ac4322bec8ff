"""What failed instantiations left on VIMs, and its removal

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def upgrade() -> None:
    for column in (
        sa.Column("leftovers", TEXT, nullable=True),
        sa.Column("cleanup_owner", sa.String(length=36), nullable=True),
        sa.Column("cleanup_until", sa.Double(), nullable=True),
    ):
        op.add_column("vnf_instances", column)
