"""The version of the API by which a subscription was created

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "lccn_subscriptions",
        sa.Column(
            "api_version",
            sa.String(length=24),
            nullable=False,
            # existing rows, and those of servers of the earlier release
            server_default="2",
        ),
    )
