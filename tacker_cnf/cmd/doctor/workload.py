"""Checks of the database, and of what it says about the running service."""

import datetime
import time
from collections.abc import Iterator
from typing import Final

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.cmd import database, start
from tacker_cnf.cmd.doctor.findings import Finding, error, ok, warning
from tacker_cnf.db import (
    conductors,
    leases,
    leftovers,
    schema,
    statistics,
)
from tacker_cnf.db.session import Store
from tacker_cnf.notification import dispatcher
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as State

DATABASE: Final = "database"
CONDUCTORS: Final = "conductors"
OPERATIONS: Final = "operations"
NOTIFICATIONS: Final = "notifications"
LEFTOVERS: Final = "leftovers"
#: difference of clocks, in seconds, that is reported
MAX_CLOCK_DIFFERENCE_S: Final = 2.0
#: seconds for which a notification may wait: a subscriber was restarted
MAX_NOTIFICATION_AGE_S: Final = 60.0


def check_database(conf: cfg.ConfigOpts) -> Iterator[Finding]:
    """Check the schema and the clock of the database.

    :raises VnfmError: there is none, or the schema has an earlier version
    """
    with database.open_existing(conf, connect=False) as store:
        start.check_schema(store)
        address = store.engine.url.set(query={})
        found = schema.version(store)
        yield ok(DATABASE, f"{address} has schema version {found}")
        yield from _check_clock(store)


def _check_clock(store: Store) -> Iterator[Finding]:
    before = time.time()
    with store.reader() as reader:
        clock = statistics.read_clock(reader)
    difference = max(before - clock, clock - time.time())
    if difference > MAX_CLOCK_DIFFERENCE_S:
        yield warning(
            DATABASE,
            f"Its clock and that of this machine differ by {difference:.0f} s: "
            "times in logs, operations and notifications do not agree, and "
            "tokens may be refused. Synchronize both by NTP.",
        )


def check_conductors(conf: cfg.ConfigOpts, store: Store) -> Iterator[Finding]:
    """Check that conductors run, and that one sends notifications.

    :raises Unavailable: no conductor runs
    """
    with store.reader() as reader:
        alive = conductors.list_alive(reader)
        sender = leases.get_owner(reader, dispatcher.LEASE_NAME)
    if not alive:
        raise errors.Unavailable(
            f"{conductors.NONE_ALIVE} Start tacker-cnf-conductor."
        )
    working = sum(one.operations for one in alive)
    yield ok(CONDUCTORS, f"{len(alive)} run, with {working} operations")
    now = datetime.datetime.now(datetime.UTC)
    if sender:
        host, pid, _ = sender.rsplit(":", 2)
        yield ok(NOTIFICATIONS, f"process {pid} on {host} sends them")
    elif (
        now - alive[0].started
    ).total_seconds() < 2 * conf.notification.lease:
        yield warning(
            NOTIFICATIONS,
            "No process sends them yet: the conductors have just started.",
        )
    else:
        yield error(
            NOTIFICATIONS,
            "No process sends them. If that lasts for longer than "
            "[notification] lease, search the log of the conductors for "
            "`Dispatcher`.",
        )


def check_operations(conf: cfg.ConfigOpts, store: Store) -> Iterator[Finding]:
    """Check that no operation waits for a conductor, or for a client."""
    with store.reader() as reader:
        waiting = statistics.get_oldest_waiting(reader)
        counts = statistics.count_operations(reader)
    allowed = conf.conductor.lease + conf.conductor.sweep_interval
    age = _age_s(waiting)
    if age > allowed:
        yield error(
            OPERATIONS,
            f"One waits for a conductor since {age:.0f} s. Start more "
            "conductors, or increase [conductor] workers; "
            "`tacker-cnf-manage operations` lists it.",
        )
    failed = counts[State.FAILED_TEMP]
    if failed:
        yield warning(
            OPERATIONS,
            f"{failed} are FAILED_TEMP, and their VNF instances reserved, "
            "until a client retries, rolls back or fails them; "
            "`tacker-cnf-manage operations` lists them.",
        )
    if age <= allowed and not failed:
        running = sum(counts.values())
        yield ok(OPERATIONS, f"{running} run, none waits or is FAILED_TEMP")


def check_notifications(store: Store) -> Iterator[Finding]:
    """Check that all notifications are delivered."""
    with store.reader() as reader:
        outbox = statistics.read_outbox(reader)
    age = _age_s(outbox.oldest)
    if outbox.parked:
        yield warning(
            NOTIFICATIONS,
            f"{outbox.parked} are parked, as their delivery failed for too "
            "long; `tacker-cnf-manage notifications list` lists them, "
            "`resend` and `drop` decide about them.",
        )
    if age > MAX_NOTIFICATION_AGE_S:
        yield warning(
            NOTIFICATIONS,
            f"{outbox.events + outbox.waiting} are not delivered, the oldest "
            f"since {age:.0f} s. Search the log of the conductors for "
            "`Notification delivery failed`.",
        )
    if not outbox.parked and age <= MAX_NOTIFICATION_AGE_S:
        yield ok(NOTIFICATIONS, "none is parked or late")


def check_leftovers(store: Store) -> Iterator[Finding]:
    """Check that failed instantiations have left nothing on a VIM."""
    with store.reader() as reader:
        marked = leftovers.list_marked(reader)
    if marked:
        yield warning(
            LEFTOVERS,
            f"{len(marked)} VNF instances may have left resources on a VIM, "
            "which conductors try to delete; `tacker-cnf-manage leftovers "
            "list` lists them.",
        )
    else:
        yield ok(LEFTOVERS, "none")


def _age_s(since: datetime.datetime | None) -> float:
    now = datetime.datetime.now(datetime.UTC)
    return (now - since).total_seconds() if since else 0.0
