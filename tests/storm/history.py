"""The history of the operations and of their owners.

Triggers in the database log each change of an operation and of its lease, by
the clock of the database, which runs on the same machine.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

COPIED = (
    "id",
    "vnf_instance_id",
    "operation",
    "operation_state",
    "owner",
    "fence",
    "recorded",
    "lease_until",
)
TYPES = {"fence": "INTEGER", "recorded": "INTEGER"} | {
    "lease_until": "DOUBLE PRECISION",
    "logged_at": "DOUBLE PRECISION NOT NULL",
}
NAMES = ", ".join(COPIED)
NEW = ", ".join(f"NEW.{name}" for name in COPIED)
#: the number column of the log, and a clock that advances in a transaction
SEQUENCES = {
    "postgresql": "BIGSERIAL PRIMARY KEY",
    "mysql": "BIGINT AUTO_INCREMENT PRIMARY KEY",
}
CLOCKS = {
    "postgresql": "extract(epoch FROM clock_timestamp())",
    "mysql": "unix_timestamp(sysdate(6))",
}
INSERT = f"INSERT INTO storm_history ({NAMES}, logged_at) VALUES ({NEW}, %s)"  # noqa: S608
ON = "ON vnf_lcm_op_occs FOR EACH ROW"
CALL = "EXECUTE FUNCTION storm_log()"
LOG_FUNCTION = """\
CREATE FUNCTION storm_log() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN {insert}; RETURN NEW; END $$
"""
#: the claims to remove leftovers of instances; a deleted instance has no
#: operation that could conflict
CLEANUPS = (
    "CREATE TABLE storm_cleanups (id VARCHAR(36), token VARCHAR(255),"
    " until DOUBLE PRECISION, is_deleted INTEGER, logged_at DOUBLE PRECISION)"
)
CLEANUP = (
    "INSERT INTO storm_cleanups VALUES"
    " (NEW.id, NEW.cleanup_owner, NEW.cleanup_until, 0, {now})"
)
DELETION = "INSERT INTO storm_cleanups VALUES (OLD.id, NULL, NULL, 1, {now})"
ON_INSTANCES = "ON vnf_instances FOR EACH ROW"
CLEANUP_FUNCTION = f"""\
CREATE FUNCTION storm_cleanup() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF TG_OP = 'DELETE' THEN {DELETION}; ELSE {CLEANUP}; END IF;
RETURN NULL; END $$
"""
ON_CHANGES = f"AFTER UPDATE OR DELETE {ON_INSTANCES}"
CALL_CLEANUP = "EXECUTE FUNCTION storm_cleanup()"
TRIGGERS = {
    "postgresql": (
        CLEANUP_FUNCTION,
        f"CREATE TRIGGER storm_cleanup {ON_CHANGES} {CALL_CLEANUP}",
        LOG_FUNCTION,
        f"CREATE TRIGGER storm AFTER INSERT OR UPDATE {ON} {CALL}",
    ),
    "mysql": (
        f"CREATE TRIGGER storm_cleanup AFTER UPDATE {ON_INSTANCES} {CLEANUP}",
        f"CREATE TRIGGER storm_delete AFTER DELETE {ON_INSTANCES} {DELETION}",
        f"CREATE TRIGGER storm_insert AFTER INSERT {ON} {{insert}}",
        f"CREATE TRIGGER storm_update AFTER UPDATE {ON} {{insert}}",
    ),
}


class Version(NamedTuple):
    """The state of an operation from a point in time."""

    at: float
    op_occ_id: str
    instance_id: str
    operation: str
    state: str
    owner: str | None
    fence: int
    recorded: int
    lease_until: float

    def is_held_by(self, pid: int, now: float) -> bool:
        """Check whether a process has the lease at a point in time."""
        return (
            self.owner is not None
            and self.owner.split(":")[1] == str(pid)
            and now <= self.lease_until
        )


class Cleanup(NamedTuple):
    """The claim to remove an instance's leftovers from a point in time."""

    at: float
    instance_id: str
    token: str | None
    until: float | None
    is_deleted: bool


def install(engine: sa.Engine) -> None:
    """Install triggers that log each change of an operation."""
    dialect = engine.dialect.name
    columns = [
        f"{name} {TYPES.get(name, 'VARCHAR(255)')}"
        for name in (*COPIED, "logged_at")
    ]
    insert = INSERT % CLOCKS[dialect]
    with engine.begin() as connection:
        connection.exec_driver_sql(
            f"CREATE TABLE storm_history (seq {SEQUENCES[dialect]},"
            f" {', '.join(columns)})"
        )
        connection.exec_driver_sql(CLEANUPS)
        for statement in TRIGGERS[dialect]:
            connection.exec_driver_sql(
                statement.format(insert=insert, now=CLOCKS[dialect])
            )


def read(engine: sa.Engine) -> list[Version]:
    """Read the log; the entries of one operation are in order."""
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(
            f"SELECT logged_at, {NAMES} FROM storm_history ORDER BY seq"  # noqa: S608
        )
        return [Version(*row) for row in rows]


def read_cleanups(engine: sa.Engine) -> list[Cleanup]:
    """Read the claims to remove leftovers."""
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT logged_at, id, token, until, is_deleted"
            " FROM storm_cleanups ORDER BY logged_at"
        )
        return [Cleanup(*row) for row in rows]


def by_op_occ(versions: Iterable[Version]) -> Mapping[str, list[Version]]:
    """Group the versions by operation."""
    found: dict[str, list[Version]] = {}
    for version in versions:
        found.setdefault(version.op_occ_id, []).append(version)
    return found


def states(versions: Sequence[Version]) -> list[str]:
    """Return the states of one operation, in order."""
    found: list[str] = []
    for version in versions:
        if found[-1:] != [version.state]:
            found.append(version.state)
    return found
