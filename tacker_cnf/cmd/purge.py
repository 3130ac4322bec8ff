"""tacker-cnf-manage db purge: delete operations that ended long ago."""

import argparse
import datetime
from typing import Final

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.cmd import database
from tacker_cnf.db import retention, session

#: days for which an operation is kept at least: by the operations of the last
#: day, conductors find objects of deleted VNF instances
MIN_DAYS: Final = 2


def purge(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Delete the operations that ended some days ago, or before a date."""
    before = _parse(arguments.before or "")
    with database.open_store(conf) as store:
        with store.reader() as reader:
            counts = retention.count(reader, before)
        if arguments.dry_run:
            total, verb = counts.deleted, "would be deleted"
        else:
            total, verb = _delete(store, before), "deleted"
    return (
        f"{total} operations that ended before {before:%Y-%m-%d} {verb}.\n"
        f"Kept: {counts.needed} that are the instantiation or the last "
        "operation of a VNF instance that exists, whose resources are found "
        f"by them, and {counts.unfinished} that have not ended."
    )


def _parse(text: str) -> datetime.datetime:
    """Parse a number of days, or a date.

    :raises BadRequest: it is neither, or not long enough ago
    """
    now = datetime.datetime.now(datetime.UTC)
    latest = now - datetime.timedelta(days=MIN_DAYS)
    try:
        if text.isdecimal():
            before = now - datetime.timedelta(days=int(text))
        else:
            date = datetime.date.fromisoformat(text)
            midnight = datetime.time(tzinfo=datetime.UTC)
            before = datetime.datetime.combine(date, midnight)
    except (ValueError, OverflowError):
        before = now
    if before > latest:
        raise errors.BadRequest(
            f"BEFORE: {text or 'missing'}; it has to be a number from "
            f"{MIN_DAYS}, such as 90, or a date until {latest:%Y-%m-%d}."
        )
    return before


def _delete(store: session.Store, before: datetime.datetime) -> int:
    total = 0
    while count := _delete_some(store, before):
        total += count
    return total


def _delete_some(store: session.Store, before: datetime.datetime) -> int:
    with store.writer() as writer:
        return retention.purge(writer, before)
