"""Interface of VIM drivers."""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import msgspec

from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.drivers.progress import ResourceProgress
from tacker_cnf.lcm import redaction
from tacker_cnf.lcm.change import Change
from tacker_cnf.lcm.instantiated_info import Observed
from tacker_cnf.lcm.vnf_plan import Action
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.grant import Grant, GrantRequest
from tacker_cnf.sol.vnf_instance import VnfInstance


class RegisteredVim(NamedTuple):
    """A VIM as it was registered with /v1.0/vims."""

    id: str
    #: the name of a driver, or of its vimType
    type: str
    auth_url: str
    auth_cred: Mapping[str, Any]
    vim_project: Mapping[str, Any]
    extra: Mapping[str, Any]


class PackageCall(NamedTuple):
    """What the protocols of a package's code contain of the operation."""

    #: such as "scale", "scale_rollback" or "change_vnfpkg"
    operation: str
    #: SOL003 5.5.2, as JSON values, without credentials of VIMs
    request: Mapping[str, Any]

    @classmethod
    def of_request(cls, operation: str, request: SolType) -> Self:
        """Convert a request; its credentials of VIMs are left out."""
        values = msgspec.to_builtins(request, enc_hook=str)
        name = redaction.VIM_CONNECTIONS
        if values.get(name):
            values[name] = redaction.redact_connections(values[name])
        return cls(operation, values)


@dataclasses.dataclass(frozen=True, kw_only=True)
class InfraTask:
    """What a driver has to do, in values."""

    #: as it was before the operation
    instance: VnfInstance
    change: Change
    #: package of the desired state; without one that of the current state
    package: UnpackedPackage
    #: package of the current state, if it differs
    current_package: UnpackedPackage | None = None
    vim_connections: Mapping[str, VimConnectionInfo]
    #: request to and response of the NFVO: zones, VIM connections, images,
    #: flavours, reservations (read by lcm.grant_overrides)
    grant_request: GrantRequest | None = None
    grant: Grant | None = None
    #: id of the operation, written to what it changes
    operation_id: str = ""
    #: None: the task belongs to no operation
    package_call: PackageCall | None = None

    @property
    def has_operation(self) -> bool:
        """Whether the task belongs to an operation; that of a synchronization
        does not.
        """
        return self.package_call is not None

    def restoring(self) -> Self:
        """Return the task that restores the state before this task."""
        call = self.package_call
        return dataclasses.replace(
            self,
            change=self.change.inverse(),
            package=self.current_package or self.package,
            current_package=self.package if self.current_package else None,
            package_call=call
            and PackageCall(f"{call.operation}_rollback", call.request),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """What a driver does for a task. Drivers add what their execution needs."""

    task: InfraTask
    #: in the order of execution, the unchanged resources last
    actions: tuple[Action, ...]
    #: what the change interrupts or loses, and what may make it fail, as
    #: sentences
    warnings: tuple[str, ...] = ()
    #: the files of the package that the driver runs: parameter of the request
    #: that names one -> its path
    scripts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: merged into the metadata of instantiatedVnfInfo before the execution,
    #: so that later operations have it even if this one fails
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict)


P = TypeVar("P", bound=Plan)
#: what a driver reads of a VIM to plan exactly; each driver has its own type
R = TypeVar("R")


class Checkpoint(msgspec.Struct, frozen=True, tag=True):
    """What a driver saves, before a change, of what it cannot read from the
    VIM after the change. Each driver has its own types.
    """


C = TypeVar("C", bound=Checkpoint)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TaskContext:
    """Deadline, cancellation, progress, log and checkpoint of a task."""

    deadline: Deadline
    #: checked before each change, and while waiting
    cancel_token: CancelToken = dataclasses.field(default_factory=CancelToken)
    #: waits as ``CancelToken.wait_idle``, and yields the worker meanwhile
    wait_idle: Callable[[float], None] | None = None
    #: waits so many seconds at most until a script of the package may run,
    #: which runs in its block
    script_place: Callable[[float], contextlib.AbstractContextManager[Any]] = (
        contextlib.nullcontext
    )
    #: reports the progress of the operation to operators, in one line
    report_progress: Callable[[str], None] = lambda _: None
    #: reports what the task does to a resource at the moment
    report_resource: Callable[[ResourceProgress], None] = lambda _: None
    #: reports a kind, how many resources of it the task changes at least, and
    #: the scope of their names
    expect: Callable[[str, int, str], None] = lambda *_: None
    #: saves the output of the package's scripts
    save_log: Callable[[str], None] = lambda _: None
    #: the checkpoint of an earlier attempt of this operation, as JSON values
    saved_checkpoint: Mapping[str, Any] | None = None
    #: saves a checkpoint, in place of an earlier one
    save_checkpoint: Callable[[Checkpoint], None] = lambda _: None

    def checkpoint(self, kind: type[C]) -> C | None:
        """Return the checkpoint of an earlier attempt, if it is of a type."""
        saved = self.saved_checkpoint
        if saved is None or saved.get("type") != kind.__struct_config__.tag:
            return None
        return msgspec.convert(saved, kind)


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


class InfraDriver(Protocol[P, R]):
    """Driver of a type of VIM: plans a change, then executes the plan.

    All methods are idempotent: a task may be repeated after any failure. A
    driver uses its task and its VIM, neither the database nor the queue.
    """

    #: the vimType (SOL003 4.4.1.6) of connections to registered VIMs
    vim_type: str
    #: whether a heal has the additional parameter "all", to create storage or
    #: the whole VNF again
    heals_storage: bool
    #: whether a scale-in removes the newest VNFCs
    removes_newest: bool

    @property
    def script_options(self) -> Mapping[str, Any]:
        """The options for management scripts that change the VIM by
        themselves, by their names.
        """

    def connection_of(self, vim: RegisteredVim) -> VimConnectionInfo:
        """Convert a registered VIM to the attributes that this driver reads
        (SOL003 4.4.1.6).
        """

    def check_policy(self, policy: Mapping[str, Any]) -> None:
        """Check ``extra.policy`` of a VIM: what packages may create on it.

        :raises InvalidVimConnection: it is not valid, or this type of VIM has
            none
        """

    def check_connection(self, connection: VimConnectionInfo) -> None:
        """Check that the VIM answers and accepts the credentials.

        :raises InvalidVimConnection: the connection is incomplete or invalid
        :raises VimUnreachable: the VIM does not answer
        :raises VimRejected: the VIM rejects the credentials
        """

    def plan(self, task: InfraTask, observed: R | None = None) -> P:
        """Plan ``task.change``; do not use the VIM.

        Only what differs between the current and the desired state is
        changed, and what ``task.change.replace`` names is replaced.

        :param observed: the resources on the VIM, for an exact list of
            actions; None: plan by the request and the packages alone, as if
            the VNF had exactly the resources of its current state
        :raises BadRequest: the request or the package is not valid
        :raises VimPolicyViolation: the policy of a VIM does not allow what the
            package contains
        """

    def observe_resources(self, task: InfraTask, context: TaskContext) -> R:
        """Read the resources that ``task.change`` concerns, for a plan; change
        nothing.

        :raises BadRequest: the request or the package is not valid
        :raises InfraError: the VIM cannot be read, or the change is not
            possible on it
        """

    def validate_package(self, task: InfraTask) -> None:
        """Check a package that shall be that of a running VNF, whose
        resources the scripts of its present package change.

        :raises BadRequest: the package cannot manage the VNF
        """

    def execute(self, plan: P, context: TaskContext) -> Observed:
        """Execute a plan, and wait until the VNF is ready, or all of its
        resources are deleted. What is on the VIM already is not repeated.

        :raises InfraError: the VIM failed, or was not ready in time
        """

    def observe(self, task: InfraTask, context: TaskContext) -> Observed:
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
