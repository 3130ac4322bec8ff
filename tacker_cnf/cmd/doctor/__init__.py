"""tacker-cnf-manage doctor: whether the service can work, and what to do."""

import argparse
import contextlib
from collections.abc import Iterator, Mapping
from functools import partial

import msgspec
from oslo_config import cfg

from tacker_cnf.cmd.doctor import files, options, peers, workload
from tacker_cnf.cmd.doctor.findings import (
    Check,
    Finding,
    Level,
    no_log,
    run,
    warning,
)
from tacker_cnf.db import session
from tacker_cnf.db.session import Store


class ErrorsFound(Exception):
    """There are errors; the message is the whole report."""


def diagnose(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Check the configuration, the environment and the service.

    :raises ErrorsFound: there is an error
    """
    with no_log():
        found = list(_check_all(conf, vims=arguments.vims))
    report = _to_json(found) if arguments.json else _to_text(found)
    if _has_error(found):
        raise ErrorsFound(report)
    return report


def _has_error(found: list[Finding]) -> bool:
    return any(one.level == Level.ERROR for one in found)


def _to_json(found: list[Finding]) -> str:
    return msgspec.json.format(msgspec.json.encode(found)).decode()


def _to_text(found: list[Finding]) -> str:
    levels = [one.level for one in found]
    errors, warnings = map(levels.count, (Level.ERROR, Level.WARNING))
    lines = [*map(str, found), f"{errors} errors, {warnings} warnings."]
    return "\n".join(lines)


def _check_all(conf: cfg.ConfigOpts, *, vims: bool) -> Iterator[Finding]:
    checks: Mapping[str, Check] = {
        options.SUBJECT: partial(options.check_files, conf),
        peers.BROKER: partial(peers.check_broker, conf),
        peers.KEYSTONE: partial(peers.check_keystone, conf),
        peers.POLICIES: partial(peers.check_policies, conf),
        peers.SCRIPTS: partial(peers.check_isolation, conf),
        files.CERTIFICATES: partial(files.check_certificates, conf),
        options.TRACING: partial(options.check_tracing, conf),
    }
    yield from _run(checks)
    key_findings = [*run(files.KEYS, partial(files.check_keys, conf))]
    yield from key_findings
    database = partial(workload.check_database, conf)
    database_findings = [*run(workload.DATABASE, database)]
    yield from database_findings
    if _has_error(key_findings + database_findings):
        needed = "What needs the database and the keys was not checked."
        yield warning(workload.DATABASE, needed)
        return
    with contextlib.closing(session.open_store(conf)) as store:
        yield from _run(_store_checks(conf, store, vims=vims))


def _run(checks: Mapping[str, Check]) -> Iterator[Finding]:
    for subject, check in checks.items():
        yield from run(subject, check)


def _store_checks(
    conf: cfg.ConfigOpts, store: Store, *, vims: bool
) -> Mapping[str, Check]:
    """Return the checks that read the database."""
    checks: dict[str, Check] = {
        files.KEYS: partial(files.check_secrets, conf, store),
        files.CONTENT: partial(files.check_content, conf, store),
        workload.CONDUCTORS: partial(workload.check_conductors, conf, store),
        workload.OPERATIONS: partial(workload.check_operations, conf, store),
        workload.NOTIFICATIONS: partial(workload.check_notifications, store),
        workload.LEFTOVERS: partial(workload.check_leftovers, store),
    }
    if vims:
        checks[peers.VIMS] = partial(peers.check_vims, conf, store)
    return checks
