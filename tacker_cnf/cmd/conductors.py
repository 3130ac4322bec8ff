"""tacker-cnf-manage conductors: those that are alive."""

import argparse

from oslo_config import cfg

from tacker_cnf.cmd import database
from tacker_cnf.db import conductors, statistics
from tacker_cnf.db.conductors import LiveConductor


def list_all(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """List the live conductors."""
    with database.open_existing(conf) as store, store.reader() as reader:
        found = conductors.list_alive(reader)
        now = statistics.read_clock(reader)
    if not found:
        return conductors.NONE_ALIVE
    header = _row(
        "HOST", "PID", "STARTED", "HEARTBEAT", "AGE (S)", "OPERATIONS"
    )
    return "\n".join([header, *(_conductor(one, now) for one in found)])


def _conductor(conductor: LiveConductor, now: float) -> str:
    host, pid, _ = conductor.owner.rsplit(":", 2)
    times = (
        f"{t:%Y-%m-%dT%H:%M:%SZ}"
        for t in (conductor.started, conductor.heartbeat)
    )
    age = now - conductor.heartbeat.timestamp()
    return _row(host, pid, *times, f"{age:.0f}", str(conductor.operations))


def _row(host: str, pid: str, *others: str) -> str:
    return " ".join(
        [f"{host:<32}", f"{pid:>8}", *(f"{o:<20}" for o in others)]
    ).rstrip()
