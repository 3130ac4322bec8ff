"""tacker-cnf-manage: the schema, the keys, notifications and leftovers."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Final

from oslo_config import cfg

from tacker_cnf import conf as configuration
from tacker_cnf.cmd import leftovers, parked, start
from tacker_cnf.db import conductors, keys, schema, session
from tacker_cnf.db.conductors import Conductor
from tacker_cnf.db.types import VAULT


def db_upgrade(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """Bring the database to the schema of this release."""
    path = keys.path_of(conf)
    if path.exists():  # rows of an older release may have to be encrypted
        VAULT.open(keys.load(path))
    store = session.of_conf(conf, limited=False)
    before = schema.version(store)
    schema.upgrade(store)
    return f"Database: from version {before} to {schema.HEAD}."


def db_version(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """Tell the version of the database and that of this release."""
    found = schema.version(session.of_conf(conf))
    return f"Database: version {found}; this release: {schema.HEAD}."


def keys_create(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """Make the key file, unless it is there."""
    path = keys.path_of(conf)
    return f"{path}: {'made' if keys.create(path) else 'is there'}."


def keys_rotate(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """Put a new key on top of the key file; older ones still decrypt."""
    path = keys.path_of(conf)
    keys.rotate(path)
    return f"{path}: a new key encrypts after the services are restarted."


def conductors_list(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """List the conductors that are alive."""
    with session.of_conf(conf).reader() as reader:
        found = conductors.alive(reader)
    if not found:
        return conductors.NONE_ALIVE
    header = _row("HOST", "PID", "STARTED", "HEARTBEAT", "OPERATIONS")
    return "\n".join([header, *map(_conductor, found)])


def _conductor(one: Conductor) -> str:
    host, pid, _ = one.owner.rsplit(":", 2)
    times = (f"{t:%Y-%m-%dT%H:%M:%SZ}" for t in (one.started, one.heartbeat))
    return _row(host, pid, *times, str(one.operations))


def _row(host: str, pid: str, *others: str) -> str:
    return " ".join(
        [f"{host:<32}", f"{pid:>8}", *(f"{o:<20}" for o in others)]
    )


Command = Callable[[cfg.ConfigOpts, argparse.Namespace], str]

COMMANDS: dict[str, Command | dict[str, Command]] = {
    "conductors": conductors_list,
    "db": {"upgrade": db_upgrade, "version": db_version},
    "keys": {"create": keys_create, "rotate": keys_rotate},
    "notifications": {
        "list": parked.listed,
        "resend": parked.resend,
        "drop": parked.drop,
    },
    "leftovers": {"list": leftovers.listed, "drop": leftovers.drop},
}
#: what of its area a command is about, if not all of it
CHOICES: Final = {
    parked.resend: "subscription",
    parked.drop: "subscription",
    leftovers.drop: "instance",
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tacker-cnf-manage", description=__doc__
    )
    # in the order in which they are given: what comes later counts
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
            words = actions.add_parser(action, help=run.__doc__)
            if run in CHOICES:
                words.add_argument(CHOICES[run], nargs="?", help="its id")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    asked = _parser().parse_args(argv)
    try:
        conf = configuration.load(asked.configuration)
        found = COMMANDS[asked.area]
        run = found if callable(found) else found[asked.action]
        print(run(conf, asked))  # noqa: T201
    except start.HINDRANCES as error:
        why = start.told(error)
        print(f"tacker-cnf-manage: {why}", file=sys.stderr)  # noqa: T201
        return 1
    return 0
