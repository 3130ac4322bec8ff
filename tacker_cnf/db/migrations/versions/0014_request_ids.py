"""The request that started, retried or rolled back an operation

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "vnf_lcm_op_occs",
        sa.Column("request_id", sa.String(40), nullable=True),
    )
