"""An index of the names of VNF instances, by which clients filter

Revision ID: 0015
Revises: 0014
"""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_vnf_instances_vnf_instance_name",
        "vnf_instances",
        ["vnf_instance_name"],
    )
