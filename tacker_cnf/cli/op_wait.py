"""Wait for an operation, show its progress, and judge how it ended."""

from collections.abc import Iterator
from typing import Final, TextIO

from tacker_cnf.cli import backoff, op_display, op_follow, op_text
from tacker_cnf.cli.api_types import convert
from tacker_cnf.cli.failures import CommandFailed, NotFound
from tacker_cnf.cli.op_types import OpOcc
from tacker_cnf.cli.references import resource_path
from tacker_cnf.cli.rest_client import INSTANCES, RestClient
from tacker_cnf.cli.vnf_types import VnfInstance

#: exit status when the server is lost before the operation has stopped
LOST: Final = 3
#: exit status after Ctrl-C, as shells have it
INTERRUPTED: Final = 130


def wait(
    client: RestClient,
    op_occ_id: str,
    stdout: TextIO,
    stderr: TextIO,
    *,
    succeeds_in: str | None = None,
) -> int:
    """Show an operation until it has stopped; return the exit status.

    :param succeeds_in: the state that is a success; by default COMPLETED, or
        ROLLED_BACK if it was being rolled back
    """
    again = f"Watch it again:\n  tacker-cnf op watch {op_occ_id}\n"
    try:
        return _show(client, op_occ_id, stdout, stderr, succeeds_in)
    except KeyboardInterrupt:
        stderr.write(f"The operation continues. {again}")
        return INTERRUPTED
    except CommandFailed as error:
        if not backoff.is_temporary(error):
            raise
        stderr.write(f"{error}\nThe operation may continue. {again}")
        return LOST


def _show(
    client: RestClient,
    op_occ_id: str,
    stdout: TextIO,
    stderr: TextIO,
    succeeds_in: str | None,
) -> int:
    op_occ = op_follow.read(client, op_occ_id)
    expected = succeeds_in or _expected(op_occ)
    attempt = op_occ.newest_attempt
    title = _name(client, op_occ.vnf_instance_id)
    with op_display.open_display(stdout, title) as display:
        for state in op_follow.follow(client, op_occ):
            op_occ = state  # the last one is judged
            display.show(state.since_attempt(attempt))
    if op_occ.operation_state == expected:
        return 0
    stderr.write("\n".join(failure(op_occ, title)) + "\n")
    return 1


def _expected(op_occ: OpOcc) -> str:
    is_rollback = op_occ.operation_state == "ROLLING_BACK"
    return "ROLLED_BACK" if is_rollback else "COMPLETED"


def failure(op_occ: OpOcc, title: str) -> Iterator[str]:
    """Describe how an operation failed, and the possible decisions."""
    reason = f": {op_occ.error.detail}" if op_occ.error else "."
    yield f"{op_occ.operation} of {title} is {op_occ.operation_state}{reason}"
    if lines := list(op_text.decisions(op_occ)):
        yield "Decide what to do:"
        yield from lines


def _name(client: RestClient, instance_id: str) -> str:
    """Return the name of a VNF instance; its id if it has none."""
    try:
        value = client.get(resource_path(INSTANCES, instance_id))
    except NotFound:  # it was deleted
        return instance_id
    return convert(value, VnfInstance).display_name
