"""tacker-cnf-manage notifications: what could not be told for long."""

import argparse

from oslo_config import cfg

from tacker_cnf.cmd import database
from tacker_cnf.db import deliveries
from tacker_cnf.db.deliveries import ParkedDelivery


def list_all(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """List the notifications that are parked."""
    with database.open_store(conf) as store, store.reader() as reader:
        found = deliveries.list_parked(reader)
    if not found:
        return "Nothing is parked."
    return "\n".join([*map(_format_delivery, found), f"{len(found)} parked."])


def _format_delivery(delivery: ParkedDelivery) -> str:
    event = delivery.announcement
    op_occ = event.op_occ
    what = (
        f"{op_occ.operation} {op_occ.operation_state}"
        if op_occ
        else event.type.value
    )
    return (
        f"{event.time_stamp:%Y-%m-%dT%H:%M:%SZ} {what} of VNF instance "
        f"{event.subject.id} to {delivery.callback_uri} (subscription "
        f"{delivery.subscription_id}), {delivery.attempts} tries: {delivery.error}"
    )


def resend(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Send what is parked again, of all or of one subscription."""
    with database.open_store(conf) as store, store.writer() as writer:
        count = deliveries.resend(writer, arguments.subscription)
    return f"{count} will be sent again."


def drop(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Forget what is parked, of all or of one subscription."""
    with database.open_store(conf) as store, store.writer() as writer:
        count = deliveries.delete_parked(writer, arguments.subscription)
    return f"{count} dropped."
