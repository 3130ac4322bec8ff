"""What every VIM driver does."""

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tacker_cnf.catalogue.tree import PackageTree
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.lcm.target import Target
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance


@dataclasses.dataclass(frozen=True)
class Deadline:
    """The instant by which something has to have happened."""

    at: float

    @classmethod
    def within(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)

    @property
    def remaining(self) -> float:
        """Seconds that are left; never below zero."""
        return max(self.at - time.monotonic(), 0.0)

    @property
    def passed(self) -> bool:
        return self.remaining == 0.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class InfraTask:
    """What a driver is to do, and all that it may know."""

    instance: VnfInstance
    package: PackageTree
    vim_connections: Mapping[str, VimConnectionInfo]
    #: what is there; None: nothing
    current: Target | None
    #: what is to be there; None: nothing
    target: Target | None
    #: the request's additionalParams
    parameters: Mapping[str, Any]
    deadline: Deadline
    #: whether what is there is to be made anew
    heals: bool = False
    #: replace: the VNFCs to be healed; empty: the whole VNF
    vnfcs: tuple[VnfcResourceInfo, ...] = ()
    #: destroy: seconds the VNF may take to end; None: what it says itself
    grace: int | None = None
    #: what an earlier try of this operation noted
    notes: tuple[str, ...] = ()
    #: keeps notes before something is done that cannot be told afterwards
    note: Callable[[tuple[str, ...]], None] = lambda _: None


class InfraDriver(Protocol):
    """A kind of VIM.

    All verbs are idempotent: a task may be given again after any failure. A
    driver knows its task and its VIM, neither the store nor the queue.
    """

    def reach(self, connection: VimConnectionInfo) -> None:
        """Make sure that the VIM answers and lets us in.

        :raises InvalidVimConnection: the connection says too little
        :raises VimUnreachable: it does not answer
        :raises VimRefused: it does not let us in
        """

    def validate(self, task: InfraTask) -> None:
        """Refuse what cannot work, by the request and the package alone.

        :raises BadRequest: the request or the package is at fault
        """

    def apply(self, task: InfraTask) -> InfraResult:
        """Make the VIM match ``task.target``, touching only what differs
        from ``task.current``, and wait until it is ready.

        :raises InfraError: the VIM could not, or not in time
        """

    def replace(self, task: InfraTask) -> InfraResult:
        """Heal ``task.vnfcs``, or the whole VNF, at ``task.target``.

        :raises InfraError: the VIM could not, or not in time
        """

    def destroy(self, task: InfraTask) -> InfraResult:
        """Take everything of the instance from the VIM, and wait for it.

        :raises InfraError: the VIM could not, or not in time
        """

    def observe(self, task: InfraTask) -> InfraResult:
        """Tell what the instance has on the VIM, changing nothing.

        :raises InfraError: the VIM could not tell
        """
