"""tacker-cnf-manage notifications: parked notifications."""

import argparse

from oslo_config import cfg

from tacker_cnf.cmd import database
from tacker_cnf.db import deliveries
from tacker_cnf.db.deliveries import ParkedDelivery
from tacker_cnf.lcm.announcement import Announcement


def list_all(conf: cfg.ConfigOpts, _: argparse.Namespace) -> str:
    """List the parked notifications."""
    with database.open_store(conf) as store, store.reader() as reader:
        found = deliveries.list_parked(reader)
    if not found:
        return "No notification is parked."
    return "\n".join([*map(_format_delivery, found), f"{len(found)} parked."])


def _format_delivery(delivery: ParkedDelivery) -> str:
    event = delivery.announcement
    kind = "VNF package" if event.package else "VNF instance"
    return (
        f"{event.time_stamp:%Y-%m-%dT%H:%M:%SZ} {_event_name(event)} of {kind} "
        f"{event.subject.id} to {delivery.callback_uri} (subscription "
        f"{delivery.subscription_id}), {delivery.attempts} attempts: "
        f"{delivery.error}"
    )


def _event_name(event: Announcement) -> str:
    if op_occ := event.op_occ:
        return f"{op_occ.operation} {op_occ.operation_state}"
    if package := event.package:
        return package.change or package.type
    return str(event.type)


def resend(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Resend parked notifications, of all subscriptions or of one."""
    with database.open_store(conf) as store, store.writer() as writer:
        count = deliveries.resend(writer, arguments.subscription)
    return f"{count} will be sent again."


def drop(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """Drop parked notifications, of all subscriptions or of one."""
    with database.open_store(conf) as store, store.writer() as writer:
        count = deliveries.delete_parked(writer, arguments.subscription)
    return f"{count} dropped."
