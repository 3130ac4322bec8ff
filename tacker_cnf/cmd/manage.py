"""tacker-cnf-manage: the database's schema and the keys of its secrets."""

import argparse
import sys
from collections.abc import Callable, Sequence

from oslo_config import cfg

from tacker_cnf import conf as configuration
from tacker_cnf.cmd import compose, start
from tacker_cnf.db import keys, schema, session


def db_upgrade(conf: cfg.ConfigOpts) -> str:
    """Bring the database to the schema of this release."""
    store = session.of_conf(conf)
    before = schema.version(store)
    schema.upgrade(store)
    return f"Database: from version {before} to {schema.HEAD}."


def db_version(conf: cfg.ConfigOpts) -> str:
    """Tell the version of the database and that of this release."""
    found = schema.version(session.of_conf(conf))
    return f"Database: version {found}; this release: {schema.HEAD}."


def keys_create(conf: cfg.ConfigOpts) -> str:
    """Make the key file, unless it is there."""
    path = compose.key_file(conf)
    return f"{path}: {'made' if keys.create(path) else 'is there'}."


def keys_rotate(conf: cfg.ConfigOpts) -> str:
    """Put a new key on top of the key file; older ones still decrypt."""
    path = compose.key_file(conf)
    keys.rotate(path)
    return f"{path}: a new key encrypts after the services are restarted."


COMMANDS: dict[str, dict[str, Callable[[cfg.ConfigOpts], str]]] = {
    "db": {"upgrade": db_upgrade, "version": db_version},
    "keys": {"create": keys_create, "rotate": keys_rotate},
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tacker-cnf-manage", description=__doc__
    )
    parser.add_argument("--config-file", action="append", default=[])
    parser.add_argument("--config-dir", action="append", default=[])
    areas = parser.add_subparsers(dest="area", required=True)
    for area, commands in COMMANDS.items():
        actions = areas.add_parser(area).add_subparsers(
            dest="action", required=True
        )
        for action, run in commands.items():
            actions.add_parser(action, help=run.__doc__)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    asked = _parser().parse_args(argv)
    files = [f"--config-file={name}" for name in asked.config_file]
    files += [f"--config-dir={name}" for name in asked.config_dir]
    try:
        conf = configuration.load(files)
        print(COMMANDS[asked.area][asked.action](conf))  # noqa: T201
    except start.HINDRANCES as error:
        why = start.told(error)
        print(f"tacker-cnf-manage: {why}", file=sys.stderr)  # noqa: T201
        return 1
    return 0
