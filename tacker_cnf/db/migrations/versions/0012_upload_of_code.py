"""Whether the client that has a package fetched may upload code

Revision ID: 0012
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "vnf_packages",
        sa.Column("upload_allows_code", sa.Boolean(), nullable=True),
    )
