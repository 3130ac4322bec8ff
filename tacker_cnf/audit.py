"""The audit trail: an event for each request that changes something, and for
each end of an operation.

Events have the attributes of CADF (DMTF DSP0262) and are sent as notifications
of oslo.messaging (doc/source/contributor/decisions/audit.rst).
"""

import datetime
import enum
import uuid
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from oslo_config import cfg
from oslo_log import log

from tacker_cnf import rpc

LOG = log.getLogger(__name__)

TYPE_URI: Final = "http://schemas.dmtf.org/cloud/audit/1.0/event"
#: the taxonomy of targets; the service type is that in Keystone's catalogue
SERVICE: Final = "service/nfv-orchestration"
UNKNOWN: Final = "unknown"


class Outcome(enum.StrEnum):
    """Whether the action took place."""

    SUCCESS = "success"
    FAILURE = "failure"


class Event(NamedTuple):
    """One event, without the attributes that all have in common."""

    action: str
    outcome: Outcome
    initiator: Mapping[str, Any]
    target: Mapping[str, Any]
    reason: Mapping[str, str]
    request_path: str | None = None


class AuditTrail:
    """Sends the events of this process.

    :param queue: the URL of the queue; default: that of the configuration
    """

    def __init__(self, conf: cfg.ConfigOpts, queue: str | None = None) -> None:
        self._notifier = rpc.notifier(conf, queue)

    def record(self, name: str, event: Event) -> None:
        """Send an event; log a failure.

        :param name: what happened: ``request`` or ``operation``
        """
        values = {
            "typeURI": TYPE_URI,
            "id": str(uuid.uuid4()),
            "eventTime": datetime.datetime.now(datetime.UTC).isoformat(),
            "eventType": "activity",
            "action": event.action,
            "outcome": event.outcome,
            "initiator": dict(event.initiator),
            "target": dict(event.target),
            "observer": {"id": "tacker_cnf", "typeURI": SERVICE},
            "reason": dict(event.reason),
        }
        if event.request_path is not None:
            values["requestPath"] = event.request_path
        try:
            self._notifier.info({}, f"tacker_cnf.audit.{name}", values)
        except Exception as error:  # noqa: BLE001  # of any driver
            LOG.warning(
                "Audit event not sent: action=%s outcome=%s target=%s "
                "error=%r",
                event.action,
                event.outcome,
                event.target["id"],
                error,
            )


def initiator(
    request_id: str | None,
    project_id: str | None,
    user_id: str | None,
    address: str | None = None,
) -> Mapping[str, Any]:
    """Describe the client, as far as it is known."""
    found: dict[str, Any] = {
        "id": user_id or UNKNOWN,
        "typeURI": "service/security/account/user",
        "project_id": project_id or UNKNOWN,
        "request_id": request_id or UNKNOWN,
    }
    if address:
        found["host"] = {"address": address}
    return found


def target(kind: str, target_id: str) -> Mapping[str, str]:
    """Describe a resource.

    :param kind: the plural of its path, such as vnf_instances
    """
    return {
        "id": target_id or UNKNOWN,
        "typeURI": f"{SERVICE}/{kind}" if kind else UNKNOWN,
    }


def http_reason(status: int) -> Mapping[str, str]:
    """Describe the status of a response."""
    return {"reasonType": "HTTP", "reasonCode": str(status)}
