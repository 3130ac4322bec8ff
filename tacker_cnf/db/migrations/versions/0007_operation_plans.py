"""The plans of operations

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "operation_plans",
        sa.Column("vnf_lcm_op_occ_id", sa.String(length=36), nullable=False),
        sa.Column("plan", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["vnf_lcm_op_occ_id"],
            ["vnf_lcm_op_occs.id"],
            name=op.f("fk_operation_plans_vnf_lcm_op_occ_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "vnf_lcm_op_occ_id", name=op.f("pk_operation_plans")
        ),
    )
