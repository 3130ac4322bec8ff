"""tacker-cnf-manage: manage conductors, the schema, keys, notifications,
leftovers and quotas.
"""

import argparse
import datetime
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from oslo_config import cfg

from tacker_cnf import conf as configuration
from tacker_cnf import errors
from tacker_cnf.cmd import database, leftovers, quotas, start, undelivered
from tacker_cnf.db import (
    conductors,
    keys,
    reencryption,
    retention,
    schema,
    session,
)
from tacker_cnf.db.conductors import LiveConductor
from tacker_cnf.db.types import VAULT

#: days for which an operation is kept at least: by the operations of the last
#: day, conductors find objects of deleted VNF instances
MIN_DAYS: Final = 2


def db_upgrade(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Upgrade the database to the schema of this release."""
    path = keys.key_file_path(conf)
    if path.exists():  # rows of an older release may have to be encrypted
        VAULT.open(keys.load(path))
    store = session.open_store(conf, limited=False)
    before = schema.version(store)
    schema.upgrade(store, arguments.project)
    return f"Database: from version {before} to {schema.HEAD}."


def db_version(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """Print the schema version of the database and that of this release."""
    found = schema.version(session.open_store(conf))
    return f"Database: version {found}; this release: {schema.HEAD}."


def keys_create(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """Create the key file, unless it exists."""
    path = keys.key_file_path(conf)
    return f"{path}: {'created' if keys.create(path) else 'exists'}."


def keys_rotate(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """Add a new first key to the key file; the others still decrypt."""
    path = keys.key_file_path(conf)
    keys.rotate(path)
    return f"{path}: new key added; restart the services to use it."


def keys_reencrypt(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """Encrypt all secrets in the database with the first key."""
    path = keys.key_file_path(conf)
    with database.open_store(conf) as store:
        count = reencryption.reencrypt(store, keys.load(path))
    return (
        f"{count} values encrypted with the first key of {path}. Its other "
        "keys may be removed if all services have been restarted since the "
        "first one was added."
    )


def db_purge(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Delete the operations that ended some days ago."""
    text = arguments.days or ""
    if not text.isdecimal() or int(text) < MIN_DAYS:
        raise errors.BadRequest(
            f"DAYS: {text or 'missing'}; it has to be a number from "
            f"{MIN_DAYS}, such as 90."
        )
    before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(
        days=int(text)
    )
    total = 0
    with database.open_store(conf) as store:
        while count := _purge(store, before):
            total += count
    return f"{total} operations that ended before {before:%Y-%m-%d} deleted."


def _purge(store: session.Store, before: datetime.datetime) -> int:
    with store.writer() as writer:
        return retention.purge(writer, before)


def conductors_list(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """List the live conductors."""
    with session.open_store(conf).reader() as reader:
        found = conductors.list_alive(reader)
    if not found:
        return conductors.NONE_ALIVE
    header = _row("HOST", "PID", "STARTED", "HEARTBEAT", "OPERATIONS")
    return "\n".join([header, *map(_conductor, found)])


def _conductor(conductor: LiveConductor) -> str:
    host, pid, _ = conductor.owner.rsplit(":", 2)
    times = (
        f"{t:%Y-%m-%dT%H:%M:%SZ}"
        for t in (conductor.started, conductor.heartbeat)
    )
    return _row(host, pid, *times, str(conductor.operations))


def _row(host: str, pid: str, *others: str) -> str:
    return " ".join(
        [f"{host:<32}", f"{pid:>8}", *(f"{o:<20}" for o in others)]
    )


Command = Callable[[cfg.ConfigOpts, argparse.Namespace], str]

COMMANDS: dict[str, Command | dict[str, Command]] = {
    "conductors": conductors_list,
    "db": {
        "upgrade": db_upgrade,
        "version": db_version,
        "purge": db_purge,
    },
    "keys": {
        "create": keys_create,
        "rotate": keys_rotate,
        "reencrypt": keys_reencrypt,
    },
    "notifications": {
        "list": undelivered.list_all,
        "resend": undelivered.resend,
        "drop": undelivered.drop,
    },
    "leftovers": {"list": leftovers.list_all, "drop": leftovers.drop},
    "quotas": {
        "show": quotas.show,
        "set": quotas.set_quota,
        "unset": quotas.unset_quota,
    },
}
_PROJECT: Final = ("project", None, "its id")
_QUOTA: Final = "name of the option in [quotas]"
#: command -> name, nargs and description of each of its arguments
ARGUMENTS: Final[Mapping[Command, Sequence[tuple[str, str | None, str]]]] = {
    db_purge: [("days", "?", f"number of days, at least {MIN_DAYS}")],
    undelivered.resend: [("subscription", "?", "its id")],
    undelivered.drop: [("subscription", "?", "its id")],
    leftovers.drop: [("instance", "?", "its id")],
    quotas.show: [_PROJECT],
    quotas.set_quota: [
        _PROJECT,
        ("quota", None, _QUOTA),
        ("limit", None, "number; after `--`, -1: no limit"),
    ],
    quotas.unset_quota: [
        _PROJECT,
        ("quota", "?", f"{_QUOTA}; default: all"),
    ],
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tacker-cnf-manage", description=__doc__
    )
    # in the order of the command line: later files override earlier ones
    for option in ("--config-file", "--config-dir"):
        parser.add_argument(
            option,
            dest="configuration",
            metavar="PATH",
            action="append",
            type=f"{option}={{}}".format,
            default=[],
        )
    areas = parser.add_subparsers(dest="area", required=True)
    for area, commands in COMMANDS.items():
        if callable(commands):
            areas.add_parser(area, help=commands.__doc__)
            continue
        actions = areas.add_parser(area).add_subparsers(
            dest="action", required=True
        )
        for action, run in commands.items():
            action_parser = actions.add_parser(action, help=run.__doc__)
            for name, number, description in ARGUMENTS.get(run, ()):
                action_parser.add_argument(
                    name, nargs=number, help=description
                )
            if run is db_upgrade:
                action_parser.add_argument(
                    "--project",
                    metavar="ID",
                    help="the project of the resources of a release without "
                    "projects",
                )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    arguments = _parser().parse_args(argv)
    try:
        conf = configuration.load(arguments.configuration)
        found = COMMANDS[arguments.area]
        run = found if callable(found) else found[arguments.action]
        print(run(conf, arguments))  # noqa: T201
    except start.STARTUP_ERRORS as error:
        reason = start.error_summary(error)
        print(f"tacker-cnf-manage: {reason}", file=sys.stderr)  # noqa: T201
        return 1
    return 0
