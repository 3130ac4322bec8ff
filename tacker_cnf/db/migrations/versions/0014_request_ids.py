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
    for name, length in (("request_id", 40), ("requested_by", 64)):
        op.add_column(
            "vnf_lcm_op_occs",
            sa.Column(name, sa.String(length), nullable=True),
        )
