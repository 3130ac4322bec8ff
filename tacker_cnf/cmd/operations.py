"""tacker-cnf-manage operations: what runs, waits and has failed."""

import argparse
from typing import Final

from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.cmd import database
from tacker_cnf.db import operation_list
from tacker_cnf.db.operation_list import ListedOperation
from tacker_cnf.lcm import states
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as State

#: operations that are listed, at most
MAX_LISTED: Final = 1000


def list_all(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> str:
    """List the operations that run, wait or are FAILED_TEMP."""
    chosen = [_state(name) for name in arguments.state]
    with database.open_store(conf) as store, store.reader() as reader:
        found = operation_list.find(
            reader,
            chosen or frozenset(State) - states.FINAL,
            arguments.project,
            MAX_LISTED,
        )
    if not found:
        project = (
            f" of project {arguments.project}" if arguments.project else ""
        )
        wanted = " or ".join(chosen) or "running, waiting or FAILED_TEMP"
        return f"No operation{project} is {wanted}."
    lines = [*map(_format, found), f"{len(found)} operations."]
    if len(found) == MAX_LISTED:
        lines[-1] = f"The latest {MAX_LISTED}; --project lists fewer."
    return "\n".join(lines)


def _state(name: str) -> State:
    try:
        return State(name.upper())
    except ValueError:
        raise errors.BadRequest(
            f"--state: {name} is unknown; it has to be one of "
            f"{', '.join(State)}."
        ) from None


def _format(one: ListedOperation) -> str:
    """Return an operation in one line, the variable part last."""
    return (
        f"{one.id} {one.operation} {one.operation_state} since "
        f"{one.state_entered_time:%Y-%m-%dT%H:%M:%SZ}, VNF instance "
        f"{one.vnf_instance_id} of project {one.project_id}"
        f"{_conductor(one)}{_reason(one)}"
    )


def _conductor(one: ListedOperation) -> str:
    if one.owner:
        host, pid, _ = one.owner.rsplit(":", 2)
        return f", process {pid} on {host}"
    return ", no conductor" if one.operation_state in states.ACTIVE else ""


def _reason(one: ListedOperation) -> str:
    """Return the first line of the error, or else the progress."""
    text = (one.error.detail if one.error else one.progress) or ""
    line = text.partition("\n")[0]
    return f": {line}" if line else ""
