"""Interface of VIM drivers."""

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
    """What a driver has to do, and everything it needs to know."""

    instance: VnfInstance
    #: package of the target; without a target that of ``current``
    package: UnpackedPackage
    vim_connections: Mapping[str, VimConnectionInfo]
    #: present state of the VNF; None: it has no resources
    current: Target | None
    #: desired state of the VNF; None: it shall have no resources
    target: Target | None
    #: additionalParams of the request, overridden by those of the grant
    parameters: Mapping[str, Any]
    deadline: Deadline
    #: package of ``current``, if it differs from that of the target
    current_package: UnpackedPackage | None = None
    #: request to and response of the NFVO: zones, VIM connections, images,
    #: flavours, reservations (read by lcm.grant_overrides)
    grant_request: GrantRequest | None = None
    grant: Grant | None = None
    #: whether existing resources shall be replaced
    is_heal: bool = False
    #: replace: the VNFCs to be healed; empty: the whole VNF
    vnfcs: tuple[VnfcResourceInfo, ...] = ()
    #: destroy: seconds that the VNF gets to stop; None: its own setting
    grace: int | None = None
    #: type and request of the operation; None: the task belongs to none, as
    #: when a driver only observes. MODIFY_INFO: scripts change the VIM
    operation: LcmOperationType | None = None
    request: SolType | None = None
    #: id of the operation, written to what it changes
    operation_id: str = ""
    #: whether the changes of the operation are to be undone
    is_rollback: bool = False
    #: what an earlier attempt of this operation has saved
    checkpoint: tuple[str, ...] = ()
    #: saves what cannot be read from the VIM after the next change
    save_checkpoint: Callable[[tuple[str, ...]], None] = lambda _: None
    #: checked before each change, and while waiting
    cancel_token: CancelToken = dataclasses.field(default_factory=CancelToken)
    #: waits as ``CancelToken.wait_idle``, and yields the worker meanwhile
    wait_idle: Callable[[float], None] | None = None
    #: reports the progress of the operation to operators, in one line
    report_progress: Callable[[str], None] = lambda _: None
    #: saves the output of the package's scripts
    save_log: Callable[[str], None] = lambda _: None


@dataclasses.dataclass(frozen=True, kw_only=True)
class WatchTask:
    """What a driver has to watch of one VIM, and what it has to call."""

    vim_connection: VimConnectionInfo
    #: returns the tenants of the VIM in which VNFs are at the moment; they
    #: are watched one by one if the credentials allow no more
    tenants: Callable[[], AbstractSet[str]]
    #: called with the id of a VNF instance that has changed
    on_change: Callable[[str], None]
    #: called when changes may have been missed, as at the beginning: with a
    #: tenant, or with None for all tenants
    on_missed: Callable[[str | None], None]
    #: ends the watch
    cancel_token: CancelToken


class Origin(NamedTuple):
    """The input of the instantiation of an instance."""

    #: additionalParams of the request
    parameters: Mapping[str, Any]
    #: None: the package has been deleted
    package: UnpackedPackage | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchTask:
    """Where a driver searches a VIM for the resources of VNF instances."""

    vim_connection: VimConnectionInfo
    #: instance whose resources to find; None: all instances
    instance_id: str | None = None
    #: tenants of the VIM to search if the credentials allow no more, and the
    #: instances whose tenants are to be searched too
    tenants: AbstractSet[str] = frozenset()
    origins: Sequence[Origin] = ()
    #: whether to search for running resources only, which is faster
    running_only: bool = False
    #: checked before each change, and while waiting
    cancel_token: CancelToken = dataclasses.field(default_factory=CancelToken)


class InfraDriver(Protocol):
    """Driver of a type of VIM.

    All methods are idempotent: a task may be repeated after any failure. A
    driver uses its task and its VIM, neither the database nor the queue.
    """

    def check_connection(self, connection: VimConnectionInfo) -> None:
        """Check that the VIM answers and accepts the credentials.

        :raises InvalidVimConnection: the connection is incomplete or invalid
        :raises VimUnreachable: the VIM does not answer
        :raises VimRejected: the VIM rejects the credentials
        """

    def validate(self, task: InfraTask) -> None:
        """Check the request and the package, without using the VIM.

        :raises BadRequest: the request or the package is not valid
        """

    def apply(self, task: InfraTask) -> InfraResult:
        """Change the VIM to match ``task.target``, only where that differs
        from ``task.current``, and wait until the VNF is ready.

        :raises InfraError: the VIM failed, or was not ready in time
        """

    def replace(self, task: InfraTask) -> InfraResult:
        """Heal ``task.vnfcs``, or the whole VNF, at ``task.target``.

        :raises InfraError: the VIM failed, or was not ready in time
        """

    def destroy(self, task: InfraTask) -> InfraResult:
        """Delete all resources of the instance, and wait for the deletion.

        :raises InfraError: the VIM failed, or was not ready in time
        """

    def observe(self, task: InfraTask) -> InfraResult:
        """Return the resources of the instance on the VIM; change nothing.

        :raises OperationInProgress: the task belongs to no operation, and the
            VIM is still working on an earlier one
        :raises InfraError: the VIM cannot be read
        """

    def search(self, task: SearchTask) -> Mapping[str, Sequence[str]]:
        """Find the resources of VNF instances by the marks that this driver
        puts on all that it creates.

        :returns: instance id -> names of its resources
        :raises InfraError: the VIM cannot be searched
        """

    def clean(self, task: SearchTask) -> Sequence[str]:
        """Delete the resources of ``task.instance_id``, without waiting.

        :returns: names of those deleted now, and of those still being deleted
        :raises InfraError: the VIM failed
        """

    def watch(self, task: WatchTask) -> None:
        """Report changes of VNFs on a VIM that no operation has caused, until
        the watch is cancelled or the VIM is lost.

        A driver that cannot watch its VIM returns at once; its VNFs are then
        synchronized periodically.

        :raises InfraError: the VIM is lost; it may be watched again later
        :raises Cancelled: the watch was cancelled
        """
