"""tacker-cnf-manage: check the service; manage conductors, operations, the
schema, keys, notifications, leftovers and quotas.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from oslo_config import cfg

from tacker_cnf import conf as configuration
from tacker_cnf.cmd import (
    conductors,
    database,
    doctor,
    leftovers,
    operations,
    purge,
    quotas,
    start,
    undelivered,
)
from tacker_cnf.db import keys, reencryption, schema, session
from tacker_cnf.db.types import VAULT


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
    with database.open_existing(conf) as store:
        found = schema.version(store)
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


Command = Callable[[cfg.ConfigOpts, argparse.Namespace], str]


class Argument:
    """An argument of a command, as of ArgumentParser.add_argument()."""

    def __init__(self, name: str, **options: Any) -> None:
        self._name = name
        self._options = options

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Let a parser accept it."""
        parser.add_argument(self._name, **self._options)


COMMANDS: dict[str, Command | dict[str, Command]] = {
    "doctor": doctor.diagnose,
    "conductors": conductors.list_all,
    "operations": operations.list_all,
    "db": {
        "upgrade": db_upgrade,
        "version": db_version,
        "purge": purge.purge,
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
#: what the commands of an area are for
AREAS: Final = {
    "db": "Upgrade the database, or delete old operations from it.",
    "keys": "Create or replace the keys of the secrets in the database.",
    "notifications": "List, resend or drop the parked notifications.",
    "leftovers": "List or forget what failed instantiations have left.",
    "quotas": "Show or change the quotas of a project.",
}
_PROJECT: Final = Argument("project", help="its id")
_QUOTA: Final = "name of the option in [quotas]"
#: the arguments of each command that has some
ARGUMENTS: Final[Mapping[Command, Sequence[Argument]]] = {
    db_upgrade: [
        Argument(
            "--project",
            metavar="ID",
            help="the project of the resources of a release without projects",
        ),
    ],
    purge.purge: [
        Argument(
            "before",
            nargs="?",
            help="number of days, at least "
            f"{purge.MIN_DAYS}, or a date such as 2026-08-31 (UTC)",
        ),
        Argument(
            "--dry-run",
            action="store_true",
            help="only count the operations that would be deleted",
        ),
    ],
    doctor.diagnose: [
        Argument(
            "--vims", action="store_true", help="check each registered VIM too"
        ),
        Argument("--json", action="store_true", help="print JSON"),
    ],
    operations.list_all: [
        Argument(
            "--state",
            action="append",
            default=[],
            help="those in this state; may be repeated",
        ),
        Argument("--project", metavar="ID", help="those of this project"),
    ],
    undelivered.resend: [Argument("subscription", nargs="?", help="its id")],
    undelivered.drop: [Argument("subscription", nargs="?", help="its id")],
    leftovers.drop: [Argument("instance", nargs="?", help="its id")],
    quotas.show: [_PROJECT],
    quotas.set_quota: [
        _PROJECT,
        Argument("quota", help=_QUOTA),
        Argument("limit", help="number; after `--`, -1: no limit"),
    ],
    quotas.unset_quota: [
        _PROJECT,
        Argument("quota", nargs="?", help=f"{_QUOTA}; default: all"),
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
            _add_command(areas, area, commands)
            continue
        actions = areas.add_parser(area, help=AREAS[area]).add_subparsers(
            dest="action", required=True
        )
        for action, run in commands.items():
            _add_command(actions, action, run)
    return parser


def _add_command(parsers: Any, name: str, run: Command) -> None:
    summary = (run.__doc__ or "").partition("\n\n")[0]
    parser = parsers.add_parser(name, help=summary)
    for argument in ARGUMENTS.get(run, ()):
        argument.add_to(parser)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    arguments = _parser().parse_args(argv)
    try:
        conf = configuration.load(arguments.configuration)
        found = COMMANDS[arguments.area]
        run = found if callable(found) else found[arguments.action]
        print(run(conf, arguments))  # noqa: T201
    except doctor.ErrorsFound as found_errors:
        print(found_errors)  # noqa: T201
        return 1
    except start.STARTUP_ERRORS as error:
        reason = start.error_summary(error)
        print(f"tacker-cnf-manage: {reason}", file=sys.stderr)  # noqa: T201
        return 1
    return 0
