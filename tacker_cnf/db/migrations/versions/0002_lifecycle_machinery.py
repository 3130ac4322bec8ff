"""Progress, leases and notifications

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from tacker_cnf.db.types import VAULT

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


#: columns of VNF instances that were plain JSON
NOW_SECRET = ("vnf_configurable_properties", "extensions", "metadata")


def upgrade() -> None:
    _encrypt_instances()
    op.add_column(
        "vnf_lcm_op_occs",
        sa.Column("progress", sa.String(length=255), nullable=True),
    )
    op.add_column(
        "vnf_lcm_op_occs",
        sa.Column(
            "recorded", sa.Integer(), nullable=False, server_default="0"
        ),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("owner", sa.String(length=255), nullable=True),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    _create_modifications()
    _extend_packages()
    for name in (
        "script_changes",
        "script_log",
        "modifications_triggered_by_vnf_pkg_change",
    ):
        op.add_column("vnf_lcm_op_occs", sa.Column(name, TEXT, nullable=True))
    _create_notifications()


def _encrypt_instances() -> None:
    """Encrypt what may be secret; first of all, as it wants the keys."""
    connection = op.get_bind()
    table = sa.table("vnf_instances", *map(sa.column, ("id", *NOW_SECRET)))
    for row in connection.execute(sa.select(table)).mappings().all():
        # what an upgrade that was interrupted has encrypted is no object
        plain = {n: row[n] for n in NOW_SECRET if (row[n] or "")[:1] == "{"}
        if plain:
            connection.execute(
                sa.update(table)
                .where(table.c.id == row["id"])
                .values({n: _encrypted(text) for n, text in plain.items()})
            )


def _encrypted(text: str) -> str:
    return VAULT.fernet.encrypt(text.encode()).decode()


def _extend_packages() -> None:
    op.create_index(
        op.f("ix_vnf_packages_created_at"), "vnf_packages", ["created_at"]
    )
    for name, kind in (
        ("upload", TEXT),
        ("upload_attempt", sa.Integer()),
        ("onboarding_failure_details", TEXT),
        ("package_security_option", sa.String(length=24)),
        ("signing_certificate", TEXT),
    ):
        op.add_column("vnf_packages", sa.Column(name, kind, nullable=True))


def _create_notifications() -> None:
    count = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "lccn_subscriptions",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("filter", TEXT, nullable=True),
        sa.Column("callback_uri", TEXT, nullable=False),
        sa.Column("verbosity", sa.String(length=24), nullable=False),
        sa.Column("authentication", TEXT, nullable=True),
        sa.Column("api_base", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lccn_subscriptions")),
    )
    op.create_index(
        op.f("ix_lccn_subscriptions_created_at"),
        "lccn_subscriptions",
        ["created_at"],
    )
    op.create_table(
        "lifecycle_events",
        sa.Column("id", count, autoincrement=True, nullable=False),
        sa.Column("announcement", TEXT, nullable=False),
        sa.Column("fanned_out", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lifecycle_events")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_lifecycle_events_fanned_out",
        "lifecycle_events",
        ["fanned_out", "id"],
    )
    op.create_table(
        "deliveries",
        sa.Column("subscription_id", sa.String(length=36), nullable=False),
        sa.Column("event_id", count, nullable=False),
        sa.Column("vnf_instance_id", sa.String(length=36), nullable=False),
        sa.Column("state", sa.String(length=24), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("failing_since", sa.Double(), nullable=True),
        sa.Column("error", TEXT, nullable=True),
        sa.ForeignKeyConstraint(
            ["subscription_id"],
            ["lccn_subscriptions.id"],
            name=op.f("fk_deliveries_subscription_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["event_id"],
            ["lifecycle_events.id"],
            name=op.f("fk_deliveries_event_id"),
        ),
        sa.PrimaryKeyConstraint(
            "subscription_id", "event_id", name=op.f("pk_deliveries")
        ),
    )
    op.create_index(op.f("ix_deliveries_event_id"), "deliveries", ["event_id"])
    op.create_index(
        "ix_deliveries_state", "deliveries", ["state", "subscription_id"]
    )


def _create_modifications() -> None:
    op.add_column(
        "vnf_lcm_op_occs", sa.Column("changed_info", TEXT, nullable=True)
    )
    op.create_table(
        "vnfd_uses",
        sa.Column("vnf_instance_id", sa.String(length=36), nullable=False),
        sa.Column("vnfd_id", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(
            ["vnf_instance_id"],
            ["vnf_instances.id"],
            name=op.f("fk_vnfd_uses_vnf_instance_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["vnfd_id"],
            ["vnf_packages.vnfd_id"],
            name=op.f("fk_vnfd_uses_vnfd_id"),
        ),
        sa.PrimaryKeyConstraint("vnf_instance_id", name=op.f("pk_vnfd_uses")),
    )
    op.create_index(op.f("ix_vnfd_uses_vnfd_id"), "vnfd_uses", ["vnfd_id"])
    op.create_table(
        "idempotency_keys",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("made", sa.String(length=36), nullable=False),
        sa.Column("kept_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(
        op.f("ix_idempotency_keys_kept_at"), "idempotency_keys", ["kept_at"]
    )
