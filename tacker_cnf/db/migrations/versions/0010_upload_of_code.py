"""Whether the client that has a package fetched may upload code

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "vnf_packages",
        sa.Column("upload_allows_code", sa.Boolean(), nullable=True),
    )
