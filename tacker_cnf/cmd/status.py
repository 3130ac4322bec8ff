"""tacker-cnf-status: whether this release can replace the former one.

All OpenStack services have the command ``upgrade check``.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck
from oslo_upgradecheck.upgradecheck import Code, Result

from tacker_cnf import conf as configuration
from tacker_cnf.cmd import database, start
from tacker_cnf.cmd.doctor import files, findings, options, peers
from tacker_cnf.cmd.doctor.findings import Check, Level
from tacker_cnf.db import conductors, schema, statistics
from tacker_cnf.db.session import Store
from tacker_cnf.lcm import states

#: the first schema from which migrations only extend it
FIRST_EXTENDED: Final = "0008"
_CODES: Final = {
    Level.OK: Code.SUCCESS,
    Level.WARNING: Code.WARNING,
    Level.ERROR: Code.FAILURE,
}


class UpgradeChecks(upgradecheck.UpgradeCommands):
    """The checks, to be run before the services are restarted."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._upgrade_checks = (
            ("Database schema", _in_database(conf, check_schema)),
            ("Key file", lambda _: check_keys(conf)),
            (
                "Policies",
                lambda _: _result(lambda: peers.check_policies(conf)),
            ),
            (
                "Policy file JSON to YAML",
                (common_checks.check_policy_json, {"conf": conf}),
            ),
            (
                "Configuration",
                lambda _: _result(lambda: options.check_files(conf)),
            ),
            (
                "Tracing",
                lambda _: _result(lambda: options.check_tracing(conf)),
            ),
            ("Conductors", _in_database(conf, check_conductors)),
            ("Operations", _in_database(conf, check_operations)),
        )


def check_schema(store: Store) -> Result:
    """Check that the database can be upgraded while the service runs."""
    found = schema.version(store)
    if schema.is_usable(found):
        return Result(Code.SUCCESS)
    if found is not None and found < FIRST_EXTENDED:
        return Result(
            Code.FAILURE,
            f"Schema version {found} can only be upgraded while no process "
            "runs. Stop all, run `tacker-cnf-manage db upgrade --project ID`, "
            "and start this release.",
        )
    return Result(
        Code.WARNING,
        f"Schema version {found}; run `tacker-cnf-manage db upgrade` of this "
        "release before its services are started.",
    )


def check_keys(conf: cfg.ConfigOpts) -> Result:
    """Check the key file; and the secrets, if this release can read them."""

    def check() -> Iterator[findings.Finding]:
        yield from files.check_keys(conf)
        with (
            contextlib.suppress(start.NoTables),
            database.open_existing(conf, connect=False) as store,
        ):
            if schema.is_usable(schema.version(store)):
                yield from files.check_secrets(conf, store)

    return _result(check)


def check_conductors(store: Store) -> Result:
    """Check that conductors are alive."""
    with store.reader() as reader:
        alive = conductors.count(reader)
    if not alive:
        return Result(Code.WARNING, conductors.NONE_ALIVE)
    return Result(Code.SUCCESS)


def check_operations(store: Store) -> Result:
    """Check that no operation is interrupted if conductors are stopped."""
    with store.reader() as reader:
        counts = statistics.count_operations(reader)
    active = sum(counts[state] for state in states.ACTIVE)
    if active:
        return Result(
            Code.WARNING,
            f"{active} operations run or wait. A conductor that is stopped "
            "waits [conductor] stop_timeout seconds for its own; those that "
            "last longer become FAILED_TEMP and can be retried.",
        )
    return Result(Code.SUCCESS)


def _result(check: Check) -> Result:
    """Return the worst of what a check of the doctor finds."""
    found = [*findings.run("", check)]
    code = max(_CODES[one.level] for one in found)
    messages = [one.message for one in found if one.level != Level.OK]
    return Result(code, " ".join(messages) or None)


def _in_database(
    conf: cfg.ConfigOpts, check: Callable[[Store], Result]
) -> Callable[[Any], Result]:
    """Return a check that opens the database; without it, it fails."""

    def checked(_: object) -> Result:
        try:
            with database.open_existing(conf, connect=False) as store:
                return check(store)
        except start.NoTables as error:
            return Result(Code.WARNING, str(error))
        except start.STARTUP_ERRORS as error:
            return Result(Code.FAILURE, start.error_summary(error))

    return checked


def main(argv: Sequence[str] | None = None) -> int:
    """Run the checks; return 0, or 1 after warnings, or 2 after failures."""
    conf = configuration.new()
    with findings.no_log():
        return int(
            upgradecheck.main(
                conf,
                "tacker_cnf",
                UpgradeChecks(conf),
                argv=sys.argv[1:] if argv is None else [*argv],
            )
        )
