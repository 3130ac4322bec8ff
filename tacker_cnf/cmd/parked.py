"""tacker-cnf-manage notifications: what could not be told for long."""

import argparse

from oslo_config import cfg

from tacker_cnf.cmd import database
from tacker_cnf.db import deliveries
from tacker_cnf.db.deliveries import Parked


def listed(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """List the notifications that are parked."""
    with database.opened(conf) as store, store.reader() as reader:
        found = deliveries.parked(reader)
    if not found:
        return "Nothing is parked."
    return "\n".join([*map(_line, found), f"{len(found)} parked."])


def _line(parked: Parked) -> str:
    happened = parked.announcement
    op_occ = happened.op_occ
    what = (
        f"{op_occ.operation} {op_occ.operation_state}"
        if op_occ
        else happened.type.value
    )
    return (
        f"{happened.time_stamp:%Y-%m-%dT%H:%M:%SZ} {what} of VNF instance "
        f"{happened.subject.id} to {parked.callback_uri} (subscription "
        f"{parked.subscription_id}), {parked.attempts} tries: {parked.error}"
    )


def resend(conf: cfg.ConfigOpts, asked: argparse.Namespace) -> str:
    """Send what is parked again, of all or of one subscription."""
    with database.opened(conf) as store, store.writer() as writer:
        count = deliveries.resend(writer, asked.subscription)
    return f"{count} will be sent again."


def drop(conf: cfg.ConfigOpts, asked: argparse.Namespace) -> str:
    """Forget what is parked, of all or of one subscription."""
    with database.opened(conf) as store, store.writer() as writer:
        count = deliveries.drop(writer, asked.subscription)
    return f"{count} dropped."
