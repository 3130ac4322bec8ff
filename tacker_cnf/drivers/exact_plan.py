"""Exact plans: by what is on the VIM, read in limited time."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from tacker_cnf import errors
from tacker_cnf.drivers.base import InfraDriver, InfraTask, Plan, TaskContext
from tacker_cnf.runtime.cancellation import (
    CancelToken,
    Deadline,
    cancelled_after,
)


def make(
    driver: InfraDriver[Any, Any],
    task: InfraTask,
    timeout: float,
    *,
    cancel_token: CancelToken,
    saved_checkpoint: Mapping[str, Any] | None = None,
    script_place: Callable[
        [float], contextlib.AbstractContextManager[Any]
    ] = contextlib.nullcontext,
) -> Plan:
    """Read the VIM and plan a task; change nothing.

    :param timeout: seconds in which the VIM has to be read
    :param saved_checkpoint: that of an earlier attempt of the operation
    :param script_place: as in TaskContext
    :raises BadRequest: the request or the package is not valid
    :raises InfraError: the VIM cannot be read in time, or the change is not
        possible on it
    """
    late = errors.VimUnreachable(
        f"The VIM was not read within {timeout:g} s, the limit for a plan."
    )
    with cancelled_after(timeout, late, cancel_token):
        context = TaskContext(
            deadline=Deadline.within(timeout, cancel_token.clock),
            cancel_token=cancel_token,
            saved_checkpoint=saved_checkpoint,
            script_place=script_place,
        )
        observed = driver.observe_resources(task, context)
    plan: Plan = driver.plan(task, observed)
    return plan
