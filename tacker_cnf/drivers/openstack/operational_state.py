"""Starts and stops the servers of a VNF."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from tacker_cnf import errors
from tacker_cnf.drivers.openstack.inventory import Vnfc
from tacker_cnf.drivers.openstack.nova import Nova, Server
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

    :raises InfraError: the servers cannot be read
    """
    found = list(vnfcs)
    if found and not nova.is_available():
        if change.restores:
            return []  # none was started or stopped
        raise errors.InfraError(
            "The VIM has no compute service (Nova), so that servers cannot "
            "be started or stopped."
        )
    wanted = POWER_STATES[change.state.vnf_state]
    return [
        vnfc for vnfc in found if not _is_reached(nova.find(vnfc.id), wanted)
    ]


def switch(
    stack_task: StackTask,
    nova: Nova,
    vnfcs: Iterable[Vnfc],
    change: Change,
) -> None:
    """Start or stop servers, and wait until all of them have the state.

    :raises InfraError: Nova failed, or the timeout is over
    """
    wanted = POWER_STATES[change.state.vnf_state]
    to_switch = vnfcs_to_switch(nova, vnfcs, change)
    for vnfc in to_switch:
        stack_task.progress(f"Server {vnfc.id}: {wanted.action}")
        nova.act(vnfc.id, wanted.action)
    backoff = PollBackoff(stack_task.heat, stack_task.waiter.deadline)
    for vnfc in to_switch:
        while not _is_reached(server := nova.find(vnfc.id), wanted):
            if server and server.has_failed:
                raise errors.NotReady(
                    f"Server {vnfc.id} of VDU {vnfc.vdu_id} is in ERROR: "
                    f"{server.fault.message or 'no reason given'}"
                )
            if stack_task.waiter.deadline.passed:
                raise errors.NotReady(
                    f"Server {vnfc.id} of VDU {vnfc.vdu_id} was not "
                    f"{wanted.status} in time."
                )
            backoff.wait()


def _is_reached(server: Server | None, wanted: PowerState) -> bool:
    """Return whether a server has a state, or does not exist: then a heal is
    needed, which gives its successor the state.
    """
    return server is None or (
        server.status == wanted.status and server.task is None
    )
