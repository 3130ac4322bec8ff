"""What every VIM driver does."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, Protocol

from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.lcm.instantiated_info import InfraResult
from tacker_cnf.lcm.target import Target
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.vnf_instance import VnfcResourceInfo, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType


@dataclasses.dataclass(frozen=True, kw_only=True)
class InfraTask:
    """What a driver is to do, and all that it may know."""

    instance: VnfInstance
    #: that of the target, or of what is there if nothing is to be there
    package: UnpackedPackage
    vim_connections: Mapping[str, VimConnectionInfo]
    #: what is there; None: nothing
    current: Target | None
    #: what is to be there; None: nothing
    target: Target | None
    #: the additionalParams of the request and, over them, of the grant
    parameters: Mapping[str, Any]
    deadline: Deadline
    #: that of what is there, if it is of another package than the target
    current_package: UnpackedPackage | None = None
    #: what the NFVO was asked and answered: zones (lcm.granted.zones), VIM
    #: connections (lcm.granted.places), images and flavours, reservations
    grant_request: GrantRequest | None = None
    grant: Grant | None = None
    #: whether what is there is to be made anew
    is_heal: bool = False
    #: replace: the VNFCs to be healed; empty: the whole VNF
    vnfcs: tuple[VnfcResourceInfo, ...] = ()
    #: destroy: seconds the VNF may take to end; None: what it says itself
    grace: int | None = None
    #: what was asked for, and of which operation; None: nothing was, as
    #: when somebody only looks. MODIFY_INFO: scripts make the VIM match
    operation: LcmOperationType | None = None
    request: SolType | None = None
    #: of the operation, so that what it changes can be marked
    operation_id: str = ""
    #: whether what the operation did is to be undone
    is_rollback: bool = False
    #: what an earlier try of this operation noted
    checkpoint: tuple[str, ...] = ()
    #: keeps notes before something is done that cannot be told afterwards
    save_checkpoint: Callable[[tuple[str, ...]], None] = lambda _: None
    #: asked before each change, and while waiting
    cancel_token: CancelToken = dataclasses.field(default_factory=CancelToken)
    #: waits as halt.rest does, and lets others work meanwhile
    wait_idle: Callable[[float], None] | None = None
    #: tells an operator, in one line, how far the work has come
    report_progress: Callable[[str], None] = lambda _: None
    #: keeps what the package's own code wrote, to be read later
    save_log: Callable[[str], None] = lambda _: None


@dataclasses.dataclass(frozen=True, kw_only=True)
class WatchTask:
    """What a driver is to watch of one VIM, and who is told."""

    vim_connection: VimConnectionInfo
    #: the tenants of the VIM in which VNFs live at the moment of the call,
    #: where the credentials do not reach further
    tenants: Callable[[], AbstractSet[str]]
    #: told the id of a VNF instance of which something has changed
    on_change: Callable[[str], None]
    #: told when changes may have been missed, in a tenant or, by None, in
    #: all of them: at the beginning, for one
    on_missed: Callable[[str | None], None]
    #: ends the watch
    cancel_token: CancelToken


class Origin(NamedTuple):
    """What an instance was instantiated of."""

    #: its additionalParams
    parameters: Mapping[str, Any]
    #: None: it was deleted meanwhile
    package: UnpackedPackage | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchTask:
    """Where a driver searches one VIM for what VNF instances have on it."""

    vim_connection: VimConnectionInfo
    #: of which to find something; None: of all
    instance_id: str | None = None
    #: the tenants of the VIM to search where the credentials reach no
    #: further, and those instances whose tenants are to be searched as well
    tenants: AbstractSet[str] = frozenset()
    origins: Sequence[Origin] = ()
    #: whether only what runs is searched for, which is quicker
    running_only: bool = False
    #: checked before each change, and while waiting
    cancel_token: CancelToken = dataclasses.field(default_factory=CancelToken)


class InfraDriver(Protocol):
    """A kind of VIM.

    All verbs are idempotent: a task may be given again after any failure. A
    driver knows its task and its VIM, neither the store nor the queue.
    """

    def check_connection(self, connection: VimConnectionInfo) -> None:
        """Make sure that the VIM answers and lets us in.

        :raises InvalidVimConnection: the connection says too little
        :raises VimUnreachable: it does not answer
        :raises VimRejected: it does not let us in
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

        :raises OperationInProgress: no operation of ours asks, and the VIM is
            still at work on an earlier one
        :raises InfraError: the VIM could not tell
        """

    def search(self, task: SearchTask) -> Mapping[str, Sequence[str]]:
        """Find what VNF instances have on a VIM, by the marks that this
        driver puts on all it creates: instance -> names of its objects.

        :raises InfraError: the VIM cannot be searched
        """

    def clean(self, task: SearchTask) -> Sequence[str]:
        """Delete what ``task.instance_id`` has on a VIM, without waiting;
        return the names of what was there, or is still being deleted.

        :raises InfraError: the VIM could not
        """

    def watch(self, task: WatchTask) -> None:
        """Tell what VNFs do on a VIM by themselves, until the watch is
        halted or the VIM is lost.

        Whoever returns says that this kind of VIM cannot be watched: its
        VNFs are looked at from time to time instead.

        :raises InfraError: the VIM is lost; it may be watched again later
        :raises Cancelled: the watch was halted
        """
