"""Warnings of the onboarding of VNF packages

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op

from tacker_cnf.db.types import LONG_TEXT

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "vnf_packages",
        sa.Column("onboarding_warnings", LONG_TEXT, nullable=True),
    )
