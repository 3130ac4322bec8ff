"""The timelines of operations, and when events were added

Revision ID: 0016
Revises: 0015
"""

import sqlalchemy as sa
from alembic import op

from tacker_cnf.db.types import LONG_TEXT

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("vnf_lcm_op_occs", sa.Column("timeline", LONG_TEXT))
    op.add_column(
        "vnf_lcm_op_occs",
        sa.Column(
            "timeline_version",
            sa.Integer(),
            nullable=False,
            server_default="0",
        ),
    )
    op.add_column("lifecycle_events", sa.Column("added_at", sa.Double()))
    op.add_column("lifecycle_events", sa.Column("is_of_package", sa.Boolean()))
