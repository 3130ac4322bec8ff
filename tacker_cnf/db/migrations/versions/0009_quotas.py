"""Quotas of projects, sizes of packages, and the VIMs of operations

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

QUOTAS = (
    "vnf_instances",
    "vnf_packages",
    "package_bytes",
    "vims",
    "subscriptions",
    "operations",
)


def upgrade() -> None:
    op.create_table(
        "quotas",
        sa.Column("project_id", sa.String(length=64), nullable=False),
        *(sa.Column(name, sa.BigInteger()) for name in QUOTAS),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_quotas")),
    )
    op.add_column(
        "vnf_packages",
        sa.Column("content_bytes", sa.BigInteger(), nullable=True),
    )
    op.add_column(
        "vnf_lcm_op_occs",
        sa.Column("vim_group", sa.String(length=64), nullable=True),
    )
