"""Starts and stops the servers of a VNF."""

import contextlib
from collections.abc import Iterable
from typing import Final, NamedTuple

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import api_errors
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.nova import Nova
from tacker_cnf.drivers.openstack.stack_task import StackTask
from tacker_cnf.drivers.openstack.stack_wait import PollBackoff
from tacker_cnf.lcm.change import Change
from tacker_cnf.sol.vnf_instance import VnfOperationalState


class PowerState(NamedTuple):
    """A state of a server, and the action of Nova that leads to it."""

    status: str
    action: str


POWER_STATES: Final = {
    VnfOperationalState.STARTED: PowerState("ACTIVE", "os-start"),
    VnfOperationalState.STOPPED: PowerState("SHUTOFF", "os-stop"),
}


def vnfcs_to_switch(
    nova: Nova, vnfcs: Iterable[Vnfc], change: Change
) -> list[Vnfc]:
    """Return the VNFCs whose servers do not have the state of a change.

    :raises InfraError: the servers cannot be read, or one to be started does
        not exist
    """
    found = list(vnfcs)
    if found and not nova.is_available():
        if change.restores:
            return []  # none was started or stopped
        raise errors.InfraError(
            "The VIM has no compute service (Nova), so that servers cannot "
            "be started or stopped."
        )
    return [vnfc for vnfc in found if not _is_reached(nova, vnfc, change)]


def switch(
    stack_task: StackTask,
    nova: Nova,
    vnfcs: Iterable[Vnfc],
    change: Change,
) -> None:
    """Start or stop servers, and wait until all of them have the state.

    :raises InfraError: a server does not exist or fails, or the timeout is
        over
    """
    wanted = POWER_STATES[change.state.vnf_state]
    remaining = vnfcs_to_switch(nova, vnfcs, change)
    requested: set[str] = set()
    backoff = PollBackoff(stack_task.heat, stack_task.waiter.deadline)
    while True:
        for vnfc in remaining:
            server = nova.find(vnfc.id)
            if server is None or server.task is not None:
                continue  # an earlier attempt may have requested it
            if server.has_failed and vnfc.id in requested:
                raise errors.NotReady(
                    f"Server {vnfc.id} of VDU {vnfc.vdu_id} is in ERROR: "
                    f"{server.fault.message or 'no reason given'}"
                )
            requested.add(vnfc.id)
            stack_task.progress(f"Server {vnfc.id}: {wanted.action}")
            # 409: another request came first
            with contextlib.suppress(api_errors.Conflict):
                nova.act(vnfc.id, wanted.action)
        remaining = vnfcs_to_switch(nova, remaining, change)
        if not remaining:
            return
        if stack_task.waiter.deadline.passed:
            raise errors.NotReady(
                f"Server {remaining[0].id} of VDU {remaining[0].vdu_id} was "
                f"not {wanted.status} in time."
            )
        backoff.wait()


def _is_reached(nova: Nova, vnfc: Vnfc, change: Change) -> bool:
    """Return whether a server has the state of a change. One that does not
    exist is stopped.

    :raises NotReady: a server to be started does not exist
    """
    server = nova.find(vnfc.id)
    wanted = POWER_STATES[change.state.vnf_state]
    if server is not None:
        return server.status == wanted.status and server.task is None
    if change.state.is_stopped or change.restores:
        return True
    raise errors.NotReady(
        f"Server {vnfc.id} of VDU {vnfc.vdu_id} does not exist in Nova. Heal "
        f"its VNFC (vnfcInstanceId {vnfc.vdu_id}-{vnfc.id}), then start the "
        "VNF."
    )
