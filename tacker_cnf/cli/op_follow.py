"""Follow a lifecycle operation until it has stopped."""

import contextlib
import functools
import time
from collections.abc import Iterator
from typing import Final

import msgspec

from tacker_cnf.cli import backoff, event_stream
from tacker_cnf.cli.api_types import convert
from tacker_cnf.cli.event_stream import Event
from tacker_cnf.cli.failures import NotFound
from tacker_cnf.cli.op_types import OpOcc, Step
from tacker_cnf.cli.references import op_occ_path
from tacker_cnf.cli.rest_client import RestClient

PROGRESS: Final = "OperationProgress"
CHANGE: Final = "VnfLcmOperationOccurrenceNotification"
#: how long the server waits for another state
WAIT_S: Final = 30
#: a server that does not wait answers at once
PAUSE_S: Final = 1.0


class Progress(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The data of an event of the type OperationProgress."""

    operation_state: str
    timeline: tuple[Step, ...] = ()


def read(client: RestClient, op_occ_id: str) -> OpOcc:
    """Read an operation."""
    return convert(client.get(op_occ_path(op_occ_id)), OpOcc)


def follow(client: RestClient, op_occ: OpOcc) -> Iterator[OpOcc]:
    """Yield an operation when it changes; the last one has stopped.

    It is followed by the events of the server, or by requests that wait for
    another state if the server has no events.
    """
    yield op_occ
    try:
        yield from _by_events(client, op_occ)
    except _NoEvents:
        yield from _by_waiting(client, op_occ)


class _NoEvents(Exception):
    """The server has no events."""


def _by_events(client: RestClient, op_occ: OpOcc) -> Iterator[OpOcc]:
    query = {
        "vnf_lcm_op_occ_id": op_occ.id,
        "type": [PROGRESS, CHANGE],
    }
    with contextlib.closing(event_stream.follow(client, query)) as events:
        while op_occ.is_active:
            try:
                event = next(events)
            except NotFound:
                raise _NoEvents from None
            op_occ = _after(client, op_occ, event)
            yield op_occ


def _after(client: RestClient, op_occ: OpOcc, event: Event) -> OpOcc:
    """Return the operation as it is after an event."""
    if event.type == PROGRESS:
        progress = convert(event.data, Progress)
        changed = msgspec.structs.replace(
            op_occ,
            operation_state=progress.operation_state,
            timeline=progress.timeline,
        )
        if changed.is_active:
            return changed
    return backoff.retry(lambda: read(client, op_occ.id))


def _by_waiting(client: RestClient, op_occ: OpOcc) -> Iterator[OpOcc]:
    while op_occ.is_active:
        before, began = op_occ.operation_state, time.monotonic()
        op_occ = backoff.retry(functools.partial(_wait, client, op_occ))
        yield op_occ
        is_early = time.monotonic() - began < PAUSE_S
        if op_occ.operation_state == before and is_early:
            time.sleep(PAUSE_S)


def _wait(client: RestClient, op_occ: OpOcc) -> OpOcc:
    """Read an operation when it has another state, or after some time."""
    query = {"wait": str(WAIT_S), "state_not": op_occ.operation_state}
    return convert(client.get(op_occ_path(op_occ.id), query), OpOcc)
