"""The projects of resources

Revision ID: 0008
Revises: 0007
"""

from typing import Any

import sqlalchemy as sa
from alembic import context, op

from tacker_cnf import errors

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ID = sa.String(length=36)
PROJECT = sa.String(length=64)
#: tables whose rows have an owner
OWNED = (
    "vnf_packages",
    "vims",
    "vnf_instances",
    "vnf_lcm_op_occs",
    "lccn_subscriptions",
)
#: tables whose rows belong to a project from now on
ASSIGNED = (*OWNED, "lifecycle_events")
#: table -> the column by which its rows are listed
LISTED = {
    "vnf_packages": "created_at",
    "vnf_instances": "created_at",
    "vnf_lcm_op_occs": "start_time",
    "lccn_subscriptions": "created_at",
}


def upgrade() -> None:
    # before any change: MariaDB cannot roll back the schema
    project_id = _project_id()
    for table in ASSIGNED:
        _add(table, sa.Column("project_id", PROJECT), project_id)
    for table in OWNED:
        op.add_column(table, sa.Column("user_id", PROJECT, nullable=True))
    for table in ("vnf_packages", "vims"):
        _add(table, sa.Column("is_public", sa.Boolean()), value=False)
    # they were the subscriptions of an installation without projects
    _add(
        "lccn_subscriptions",
        sa.Column("all_projects", sa.Boolean()),
        value=False,
    )
    _add_package_ids()
    _change_packages()
    _change_vims()
    for table in ("vnf_instances", "vnf_lcm_op_occs"):
        _require(table, project_id=PROJECT)
    _require(
        "lccn_subscriptions", project_id=PROJECT, all_projects=sa.Boolean()
    )
    with op.batch_alter_table(
        "lifecycle_events", table_kwargs={"sqlite_autoincrement": True}
    ) as events:
        events.alter_column(
            "project_id", existing_type=PROJECT, nullable=False
        )
    for table, column in LISTED.items():
        op.create_index(
            f"ix_{table}_project_id", table, ["project_id", column, "id"]
        )
    _create_shares("vnf_package_shares", "vnf_package_id", "vnf_packages")
    _create_shares("vim_shares", "vim_id", "vims")


def _project_id() -> str | None:
    """Return the project of the existing rows; None: there are no rows.

    :raises VnfmError: there are rows, and the operator has named no project
    """
    project_id: str | None = context.config.attributes.get("project_id")
    if project_id:
        return project_id
    connection = op.get_bind()
    counts = {
        table: connection.scalar(
            sa.select(sa.func.count()).select_from(sa.table(table))
        )
        for table in ASSIGNED
    }
    found = ", ".join(f"{n} in {table}" for table, n in counts.items() if n)
    if found:
        raise errors.VnfmError(
            f"The database has rows that belong to no project yet: {found}. "
            "Name their project: `tacker-cnf-manage db upgrade --project ID`, "
            "with the ID of a project of Keystone, or with noauth if [api] "
            "auth_strategy is noauth. Nothing was changed."
        )
    return None


def _add(
    table: str, column: "sa.Column[object]", value: str | bool | None
) -> None:
    """Add a column, and set it in all rows; it is nullable for now."""
    op.add_column(table, column)
    target = sa.table(table, sa.column(column.name, column.type))
    op.execute(sa.update(target).values({column.name: value}))


def _require(table: str, **columns: Any) -> None:
    """Set columns to NOT NULL."""
    with op.batch_alter_table(table) as batch:
        for name, kind in columns.items():
            batch.alter_column(name, existing_type=kind, nullable=False)


def _add_package_ids() -> None:
    """Refer to packages by their IDs: a VNFD ID is unique within a project
    only.
    """
    packages = sa.table("vnf_packages", sa.column("id"), sa.column("vnfd_id"))
    for table in ("vnf_instances", "vnfd_uses"):
        op.add_column(table, sa.Column("vnf_package_id", ID))
        target = sa.table(
            table, sa.column("vnfd_id"), sa.column("vnf_package_id")
        )
        package_id = (
            sa.select(packages.c.id)
            .where(packages.c.vnfd_id == target.c.vnfd_id)
            .scalar_subquery()
        )
        op.execute(sa.update(target).values(vnf_package_id=package_id))
        with op.batch_alter_table(table) as batch:
            batch.drop_constraint(f"fk_{table}_vnfd_id", type_="foreignkey")
            batch.alter_column(
                "vnf_package_id", existing_type=ID, nullable=False
            )
            if table == "vnfd_uses":
                batch.drop_index("ix_vnfd_uses_vnfd_id")
                batch.drop_column("vnfd_id")
            batch.create_foreign_key(
                f"fk_{table}_vnf_package_id",
                "vnf_packages",
                ["vnf_package_id"],
                ["id"],
            )
            batch.create_index(
                f"ix_{table}_vnf_package_id", ["vnf_package_id"]
            )


def _change_packages() -> None:
    with op.batch_alter_table("vnf_packages") as batch:
        batch.alter_column("project_id", existing_type=PROJECT, nullable=False)
        batch.alter_column(
            "is_public", existing_type=sa.Boolean(), nullable=False
        )
        batch.drop_constraint("uq_vnf_packages_vnfd_id", type_="unique")
        batch.create_unique_constraint(
            "uq_vnf_packages_project_id", ["project_id", "vnfd_id"]
        )
        batch.create_index("ix_vnf_packages_vnfd_id", ["vnfd_id"])


def _change_vims() -> None:
    with op.batch_alter_table("vims") as batch:
        batch.alter_column("project_id", existing_type=PROJECT, nullable=False)
        batch.alter_column(
            "is_public", existing_type=sa.Boolean(), nullable=False
        )
        for name, column in (
            ("uq_vims_is_default", "is_default"),
            ("uq_vims_name", "name"),
        ):
            batch.drop_constraint(name, type_="unique")
            batch.create_unique_constraint(name, ["project_id", column])
        batch.drop_column("tenant_id")


def _create_shares(table: str, column: str, referenced: str) -> None:
    op.create_table(
        table,
        sa.Column(column, ID, nullable=False),
        sa.Column("project_id", PROJECT, nullable=False),
        sa.ForeignKeyConstraint(
            [column],
            [f"{referenced}.id"],
            name=op.f(f"fk_{table}_{column}"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            column, "project_id", name=op.f(f"pk_{table}")
        ),
    )
    op.create_index(op.f(f"ix_{table}_project_id"), table, ["project_id"])
