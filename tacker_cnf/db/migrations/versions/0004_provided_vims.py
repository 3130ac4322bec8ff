"""What scripts remember, and the VIMs that VNFs provide

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
ID = sa.String(length=36)


def upgrade() -> None:
    op.add_column(
        "vnf_instances", sa.Column("script_memory", TEXT, nullable=True)
    )
    op.create_table(
        "vim_providers",
        sa.Column("vim_id", ID, nullable=False),
        sa.Column("vnf_instance_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["vim_id"],
            ["vims.id"],
            name=op.f("fk_vim_providers_vim_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["vnf_instance_id"],
            ["vnf_instances.id"],
            name=op.f("fk_vim_providers_vnf_instance_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("vim_id", name=op.f("pk_vim_providers")),
    )
    op.create_index(
        op.f("ix_vim_providers_vnf_instance_id"),
        "vim_providers",
        ["vnf_instance_id"],
        unique=False,
    )
