"""First tables

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def upgrade() -> None:
    op.create_table(
        "vims",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("tenant_id", sa.String(length=255), nullable=True),
        sa.Column("type", sa.String(length=255), nullable=False),
        sa.Column("description", TEXT, nullable=False),
        sa.Column("auth_url", TEXT, nullable=False),
        sa.Column("auth_cred", TEXT, nullable=False),
        sa.Column("vim_project", TEXT, nullable=False),
        sa.Column("extra", TEXT, nullable=False),
        sa.Column("is_default", sa.Boolean(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vims")),
        sa.UniqueConstraint("is_default", name=op.f("uq_vims_is_default")),
        sa.UniqueConstraint("name", name=op.f("uq_vims_name")),
    )
    op.create_table(
        "vnf_lcm_op_occs",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("operation_state", sa.String(length=24), nullable=False),
        sa.Column("state_entered_time", TIME, nullable=False),
        sa.Column("start_time", TIME, nullable=False),
        sa.Column("vnf_instance_id", sa.String(length=36), nullable=False),
        sa.Column("operation", sa.String(length=24), nullable=False),
        sa.Column("is_automatic_invocation", sa.Boolean(), nullable=False),
        sa.Column("is_cancel_pending", sa.Boolean(), nullable=False),
        sa.Column("cancel_mode", sa.String(length=24), nullable=True),
        sa.Column("operation_params", TEXT, nullable=False),
        sa.Column("error", TEXT, nullable=True),
        sa.Column("resource_changes", TEXT, nullable=True),
        sa.Column("grant_id", sa.String(length=255), nullable=True),
        sa.Column("grant_request", TEXT, nullable=True),
        sa.Column("granted", TEXT, nullable=True),
        sa.Column("vim_connections", TEXT, nullable=False),
        sa.Column("step", sa.String(length=24), nullable=True),
        sa.Column("notes", TEXT, nullable=False),
        sa.Column("owner", sa.String(length=255), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vnf_lcm_op_occs")),
    )
    op.create_index(
        op.f("ix_vnf_lcm_op_occs_start_time"),
        "vnf_lcm_op_occs",
        ["start_time"],
        unique=False,
    )
    op.create_index(
        op.f("ix_vnf_lcm_op_occs_vnf_instance_id"),
        "vnf_lcm_op_occs",
        ["vnf_instance_id"],
        unique=False,
    )
    op.create_index(
        "ix_vnf_lcm_op_occs_work",
        "vnf_lcm_op_occs",
        ["operation_state", "lease_until"],
        unique=False,
    )

    op.create_table(
        "vnf_packages",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("onboarding_state", sa.String(length=24), nullable=False),
        sa.Column("operational_state", sa.String(length=24), nullable=False),
        sa.Column("user_defined_data", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("content_id", sa.String(length=64), nullable=True),
        sa.Column("vnfd_id", sa.String(length=255), nullable=True),
        sa.Column("vnf_provider", sa.String(length=255), nullable=True),
        sa.Column("vnf_product_name", sa.String(length=255), nullable=True),
        sa.Column(
            "vnf_software_version", sa.String(length=255), nullable=True
        ),
        sa.Column("vnfd_version", sa.String(length=255), nullable=True),
        sa.Column("additional_artifacts", TEXT, nullable=True),
        sa.Column("vnfd", TEXT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vnf_packages")),
        sa.UniqueConstraint("vnfd_id", name=op.f("uq_vnf_packages_vnfd_id")),
    )
    op.create_table(
        "vnf_instances",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("vnf_instance_name", sa.String(length=255), nullable=True),
        sa.Column("vnf_instance_description", TEXT, nullable=True),
        sa.Column("vnfd_id", sa.String(length=255), nullable=False),
        sa.Column("vnf_provider", sa.String(length=255), nullable=False),
        sa.Column("vnf_product_name", sa.String(length=255), nullable=False),
        sa.Column(
            "vnf_software_version", sa.String(length=255), nullable=False
        ),
        sa.Column("vnfd_version", sa.String(length=255), nullable=False),
        sa.Column("instantiation_state", sa.String(length=24), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("busy_with", sa.String(length=36), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("vnf_configurable_properties", TEXT, nullable=True),
        sa.Column("vim_connection_info", TEXT, nullable=True),
        sa.Column("instantiated_vnf_info", TEXT, nullable=True),
        sa.Column("extensions", TEXT, nullable=True),
        sa.Column("metadata", TEXT, nullable=True),
        sa.ForeignKeyConstraint(
            ["vnfd_id"],
            ["vnf_packages.vnfd_id"],
            name=op.f("fk_vnf_instances_vnfd_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_vnf_instances")),
    )
    op.create_index(
        op.f("ix_vnf_instances_created_at"),
        "vnf_instances",
        ["created_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_vnf_instances_vnfd_id"),
        "vnf_instances",
        ["vnfd_id"],
        unique=False,
    )

    op.create_table(
        "vim_uses",
        sa.Column("vnf_instance_id", sa.String(length=36), nullable=False),
        sa.Column("vim_id", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(
            ["vim_id"], ["vims.id"], name=op.f("fk_vim_uses_vim_id")
        ),
        sa.ForeignKeyConstraint(
            ["vnf_instance_id"],
            ["vnf_instances.id"],
            name=op.f("fk_vim_uses_vnf_instance_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "vnf_instance_id", "vim_id", name=op.f("pk_vim_uses")
        ),
    )
    op.create_index(
        op.f("ix_vim_uses_vim_id"), "vim_uses", ["vim_id"], unique=False
    )
