"""Starts, retries, rolls back, fails, cancels and reads lifecycle operations.

A request is checked without a lock; then one transaction reserves the VNF
instance and stores the operation; then a conductor is woken.
"""

import contextlib
import datetime
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import PackageSource, UnpackedPackage
from tacker_cnf.context import RequestContext
from tacker_cnf.db import (
    conductors,
    idempotency,
    instances,
    leftovers,
    listing,
    op_occs,
    packages,
    quotas,
    shown_names,
    vims,
)
from tacker_cnf.db.instances import StoredInstance
from tacker_cnf.db.op_occs import WaitingOperation
from tacker_cnf.db.quotas import Resource
from tacker_cnf.db.session import (
    DuplicateEntry,
    ReferenceError,  # noqa: A004
    Session,
    Store,
)
from tacker_cnf.drivers.base import InfraTask, PackageCall
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.lcm import modification, redaction, states, vim_group
from tacker_cnf.lcm.change import Change, current_state, flavour_of
from tacker_cnf.lcm.operations import change_package, registry
from tacker_cnf.lcm.operations.registry import OPERATIONS
from tacker_cnf.lcm.shown_names import ShownNames
from tacker_cnf.lcm.states import Event
from tacker_cnf.list_query import ListQuery, Position
from tacker_cnf.preconditions import Preconditions
from tacker_cnf.rpc import WAKEUP_TIMEOUT_S, ConductorClient
from tacker_cnf.services.idempotency import run_once
from tacker_cnf.services.vim_connections import NamedVims, VimConnections
from tacker_cnf.services.vnf_instances import cleanup_on_leftovers
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import VnfInfoModificationRequest
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import (
    CancelModeType,
    LcmOperationStateType,
    LcmOperationType,
    VnfLcmOpOcc,
)

#: attributes that the database can compare
COMPARABLE: Final = listing.comparable(op_occs.COLUMNS)
#: attributes of which the VNFD decides what is shown
FREE_FORM: Final = frozenset(
    {
        "changed_info",
        "error",
        "modifications_triggered_by_vnf_pkg_change",
        "operation_params",
    }
)
NONE_ALIVE: Final = conductors.NONE_ALIVE
#: progress of an operation while no conductor is alive
WAITING_FOR_CONDUCTOR: Final = "Waiting: no conductor is running"
#: an instance, and the VIMs of an operation on it
Snapshot = tuple[StoredInstance, NamedVims]
#: how often a request is checked if the instance changes meanwhile
MAX_ATTEMPTS: Final = 5


class OperationService:
    """Accepts operations; the conductors carry them out.

    :param vim_from_grant: whether the VIM may come from the grant of the NFVO
        instead of the request
    :param wakeup_timeout_s: seconds that the sweep of conductors leaves an
        operation to the wake-up message
    """

    def __init__(
        self,
        store: Store,
        catalogue: PackageSource,
        drivers: DriverRegistry,
        rpc: ConductorClient,
        *,
        vim_from_grant: bool = False,
        wakeup_timeout_s: float = WAKEUP_TIMEOUT_S,
    ) -> None:
        self._vim_from_grant = vim_from_grant
        self._wakeup_timeout_s = wakeup_timeout_s
        self._store = store
        self._catalogue = catalogue
        self._drivers = drivers
        self._vim_connections = VimConnections(drivers)
        self._rpc = rpc

    def start(
        self,
        context: RequestContext,
        instance_id: str,
        op: LcmOperationType,
        request: SolType,
        preconditions: Preconditions,
    ) -> str:
        """Start an operation; return the ID of its occurrence.

        :raises NotFound: the instance does not exist
        :raises WrongState: the state of the instance does not allow it
        :raises OperationInProgress: another operation has the instance
        :raises TooManyOperations: the project runs as many as it may
        :raises Leftovers: objects of a failed instantiation are on the VIM
        :raises BadRequest: the request is not valid for the instance
        :raises VnfdNotUsable: no enabled package has the requested VNFD
        :raises IncompatibleVnfd: the instance is not compatible with the VNFD
        :raises PeerFailed: the NFVO did not send the package
        :raises PreconditionFailed: the instance has another entity tag
        """

        def check() -> Snapshot:
            with cleanup_on_leftovers(self._rpc, instance_id):
                snapshot = self._store.read(
                    context,
                    _read_free_instance,
                    self._vim_connections,
                    instance_id,
                    op,
                    request,
                )
            stored, named = snapshot
            self._check(stored.instance, op, request, named.planned)
            return snapshot

        return self._accept(context, op, request, preconditions, check)

    def modify(
        self,
        context: RequestContext,
        instance_id: str,
        request: VnfInfoModificationRequest,
        preconditions: Preconditions,
    ) -> str:
        """Start a modification; return the ID of its occurrence.

        :raises NotFound: the instance does not exist
        :raises OperationInProgress: an operation has the instance
        :raises TooManyOperations: the project runs as many as it may
        :raises BadRequest: the request is not valid for the instance
        :raises VnfdNotUsable: no enabled package has the requested VNFD
        :raises IncompatibleVnfd: the instance is not compatible with the VNFD
        :raises PeerFailed: the NFVO did not send the package
        :raises PreconditionFailed: the instance has another entity tag
        """

        def check() -> Snapshot:
            snapshot = self._store.read(
                context,
                _read_free_for_modification,
                self._vim_connections,
                instance_id,
                request,
            )
            stored, named = snapshot
            self.check_modification(stored.instance, request, named)
            return snapshot

        op = LcmOperationType.MODIFY_INFO
        return self._accept(context, op, request, preconditions, check)

    def _accept(
        self,
        context: RequestContext,
        op: LcmOperationType,
        request: SolType,
        preconditions: Preconditions,
        check: Callable[[], Snapshot],
    ) -> str:
        def reserve() -> str:
            stored, named = check()
            op_occ = new_op_occ(stored.instance, op, request, context)
            try:
                self._store.write(
                    context,
                    _insert,
                    op_occ,
                    stored,
                    named,
                    preconditions,
                    OPERATIONS[op].next_vnfd_id(request, stored.instance),
                    self._wakeup_timeout_s,
                )
            except (DuplicateEntry, errors.VnfmError):
                # the response to an earlier commit may have been lost
                if not self._store.read(context, op_occs.exists, op_occ.id):
                    raise
            self._rpc.wake(
                op_occ.id,
                op_occ.project_id,
                vim_group.of_connections(named.connections),
            )
            return op_occ.id

        def accept() -> str:
            for _ in range(MAX_ATTEMPTS - 1):
                with contextlib.suppress(errors.Stale):
                    return reserve()
            return reserve()

        return run_once(self._store, context, preconditions, accept)

    def check_modification(
        self,
        instance: VnfInstance,
        request: VnfInfoModificationRequest,
        named: NamedVims,
    ) -> None:
        """Check a modification.

        :param named: the VIMs after it
        :raises BadRequest: the request is not valid for the instance
        :raises VnfdNotUsable: no enabled package has the requested VNFD
        """
        if named.connections != instance.vim_connection_info:
            self._check_same_vim_type(instance, named.connections)
        vnfd_id = modification.other_vnfd_id(instance, request.vnfd_id)
        package = None
        if vnfd_id:
            package = self._catalogue.unpacked(vnfd_id, instance.project_id)
        vnfd = package.vnfd if package else None
        modification.modified(instance, request, named.connections, vnfd)
        if package:
            self._check_manageable_by(instance, package, named.planned)

    def _check_manageable_by(
        self,
        instance: VnfInstance,
        package: UnpackedPackage,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> None:
        """Check that another package can manage the resources of an
        instance, as they are or as a script of the current package changes
        them.

        :raises BadRequest: the package could not even terminate the instance
        """
        current = current_state(instance)
        if current is None:
            return
        vnfd = self._catalogue.unpacked(
            instance.vnfd_id, instance.project_id
        ).vnfd
        scripts = flavour_of(vnfd, current.flavour_id).scripts
        hook = OPERATIONS[LcmOperationType.MODIFY_INFO].hook
        task = InfraTask(
            instance=instance,
            change=Change.none(current),
            package=package,
            vim_connections=vim_connections,
        )
        driver = self._drivers.for_connections(vim_connections)
        if any(name.startswith(hook) for name in scripts):
            driver.validate_package(task)
        else:
            driver.plan(task)

    def _check_same_vim_type(
        self,
        instance: VnfInstance,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> None:
        before = self._drivers.for_connections(instance.vim_connection_info)
        if self._drivers.for_connections(vim_connections) is not before:
            raise errors.InvalidVimConnection(
                f"vimConnectionInfo: VNF instance {instance.id} cannot move "
                "to a VIM of another type."
            )

    def _check(
        self,
        instance: VnfInstance,
        op: LcmOperationType,
        request: SolType,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> None:
        task = self.infra_task(instance, op, request, vim_connections)
        if self._vim_from_grant and not vim_connections:
            return  # the conductor validates when the grant names the VIM
        self._drivers.for_connections(vim_connections).plan(task)

    def infra_task(
        self,
        instance: VnfInstance,
        op: LcmOperationType,
        request: SolType,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> InfraTask:
        """Return what an operation lets the driver do.

        :raises BadRequest: the request is not valid for the instance
        :raises VnfdNotUsable: no enabled package has the requested VNFD
        :raises IncompatibleVnfd: the instance is not compatible with the VNFD
        """
        package, current_package = self._packages(instance, op, request)
        return InfraTask(
            instance=instance,
            change=OPERATIONS[op].change(
                request,
                instance,
                package.vnfd,
                current_package.vnfd if current_package else None,
            ),
            package=package,
            current_package=current_package,
            vim_connections=vim_connections,
            package_call=PackageCall.of_request(op.lower(), request),
        )

    def _packages(
        self, instance: VnfInstance, op: LcmOperationType, request: SolType
    ) -> tuple[UnpackedPackage, UnpackedPackage | None]:
        """Return the package to use, and the current one if it is another.

        :raises VnfdNotUsable: no enabled package has the requested VNFD
        :raises IncompatibleVnfd: the instance is not compatible with the VNFD
        """
        package = self._catalogue.unpacked(
            instance.vnfd_id, instance.project_id
        )
        vnfd_id = OPERATIONS[op].next_vnfd_id(request, instance)
        if vnfd_id is None:
            return package, None
        next_package = self._catalogue.unpacked(vnfd_id, instance.project_id)
        change_package.check(instance, next_package.vnfd)
        return next_package, package

    def retry(
        self,
        context: RequestContext,
        op_occ_id: str,
        preconditions: Preconditions,
    ) -> None:
        """Retry a failed operation.

        :raises NotFound: the operation does not exist
        :raises WrongState: the operation is not FAILED_TEMP
        :raises TooManyOperations: the project runs as many as it may
        :raises PreconditionFailed: the operation has another entity tag
        """
        self._resume(context, op_occ_id, Event.RETRY, preconditions)

    def rollback(
        self,
        context: RequestContext,
        op_occ_id: str,
        preconditions: Preconditions,
    ) -> None:
        """Roll a failed operation back.

        :raises NotFound: the operation does not exist
        :raises WrongState: the operation is not FAILED_TEMP, or of a type
            without rollback
        :raises TooManyOperations: the project runs as many as it may
        :raises PreconditionFailed: the operation has another entity tag
        """
        self._resume(context, op_occ_id, Event.ROLLBACK, preconditions)

    def _resume(
        self,
        context: RequestContext,
        op_occ_id: str,
        event: Event,
        preconditions: Preconditions,
    ) -> None:
        def resume() -> str:
            waiting = self._store.write(
                context,
                _resume,
                op_occ_id,
                event,
                preconditions,
                self._wakeup_timeout_s,
            )
            self._rpc.wake(*waiting)
            return op_occ_id

        run_once(self._store, context, preconditions, resume)

    def fail(
        self,
        context: RequestContext,
        op_occ_id: str,
        preconditions: Preconditions,
    ) -> VnfLcmOpOcc:
        """Set a failed operation to FAILED, which frees its instance.

        Request a synchronization, unless it was an instantiation.

        :raises NotFound: the operation does not exist
        :raises WrongState: the operation is not FAILED_TEMP
        :raises PreconditionFailed: the operation has another entity tag
        """

        def fail() -> str:
            op_occ = self._store.write(
                context,
                _decide,
                op_occ_id,
                Event.GIVE_UP,
                preconditions,
                self._wakeup_timeout_s,
            )
            if op_occ.operation is not LcmOperationType.INSTANTIATE:
                # without a broker, the next periodic synchronization does it
                with contextlib.suppress(errors.Unavailable):
                    self._rpc.sync(op_occ.vnf_instance_id)
            return op_occ_id

        run_once(self._store, context, preconditions, fail)
        return self.get(context, op_occ_id)[0]

    def cancel(
        self,
        context: RequestContext,
        op_occ_id: str,
        mode: CancelModeType,
        preconditions: Preconditions,
    ) -> None:
        """Cancel a running operation.

        :raises NotFound: the operation does not exist
        :raises WrongState: the operation is not running
        :raises PreconditionFailed: the operation has another entity tag
        """

        def cancel() -> str:
            waiting = self._store.write(
                context, _cancel, op_occ_id, mode, preconditions
            )
            self._rpc.cancel(op_occ_id)
            # an operation that no conductor has claimed yet ends at its turn
            self._rpc.wake(*waiting)
            return op_occ_id

        run_once(self._store, context, preconditions, cancel)

    def get(
        self, context: RequestContext, op_occ_id: str
    ) -> tuple[VnfLcmOpOcc, str]:
        """Return an operation, and its entity tag.

        :raises NotFound: the operation does not exist
        """
        return self._store.read(context, _get, op_occ_id)

    def get_tag(self, context: RequestContext, op_occ_id: str) -> str:
        """Return the entity tag of an operation.

        :raises NotFound: the operation does not exist
        """
        return self._store.read(context, op_occs.etag, op_occ_id)

    def get_state(
        self, context: RequestContext, op_occ_id: str
    ) -> LcmOperationStateType:
        """Return the state of an operation.

        :raises NotFound: the operation does not exist
        """
        return self._store.read(context, op_occs.get_state, op_occ_id)

    @contextlib.contextmanager
    def find(
        self, context: RequestContext, query: ListQuery
    ) -> Iterator[Iterator[tuple[Position, VnfLcmOpOcc]]]:
        """List operations, oldest first, with their positions."""
        with self._store.reader(context) as session:
            is_waiting = not conductors.count(session)
            named = shown_names.with_names(
                session,
                op_occs.find(session, query),
                lambda entry: entry[1].vnf_instance_id,
                are_used=not FREE_FORM.isdisjoint(query.attributes),
            )
            yield (
                (position, _shown(op_occ, names, is_waiting=is_waiting))
                for (position, op_occ), names in named
            )

    def find_package(
        self, context: RequestContext, vnfd_id: str, project_id: str
    ) -> str | None:
        """Return the ID of the package of a VNFD; None: there is none."""
        package = self._store.read(
            context, packages.find_of_vnfd, vnfd_id, project_id
        )
        return package.id if package else None

    def count_conductors(self, context: RequestContext) -> int:
        """Return the number of conductors that are alive."""
        return self._store.read(context, conductors.count)


def _read_free_instance(
    session: Session,
    vim_connections: VimConnections,
    instance_id: str,
    op: LcmOperationType,
    request: SolType,
) -> Snapshot:
    # first: the operation in progress is the better explanation
    stored = instances.load_free(session, instance_id)
    named = name_vims(session, vim_connections, stored.instance, op, request)
    return stored, named


def name_vims(
    session: Session,
    vim_connections: VimConnections,
    instance: VnfInstance,
    op: LcmOperationType,
    request: SolType,
) -> NamedVims:
    """Return the VIMs of an operation.

    :raises WrongState: the state of the instance does not allow it
    :raises Leftovers: objects of a failed instantiation are on the VIM
    """
    registry.check_state(op, instance)
    if op is LcmOperationType.INSTANTIATE:
        leftovers.check(session, instance.id, request)
    # an instantiated instance stays on its VIMs
    requested = instance.vim_connection_info or getattr(
        request, "vim_connection_info", {}
    )
    return vim_connections.name(session, requested, instance.project_id)


def _read_free_for_modification(
    session: Session,
    vim_connections: VimConnections,
    instance_id: str,
    request: VnfInfoModificationRequest,
) -> Snapshot:
    stored = instances.load_free(session, instance_id)
    return stored, name_modified_vims(
        session, vim_connections, stored, request
    )


def name_modified_vims(
    session: Session,
    vim_connections: VimConnections,
    stored: StoredInstance,
    request: VnfInfoModificationRequest,
) -> NamedVims:
    """Return the VIMs of an instance after a modification."""
    instance = stored.instance
    provided = vim_connections.provided(stored.vims)
    requested = modification.connections(instance, request, provided)
    if not requested:
        return NamedVims({}, {}, frozenset())
    return vim_connections.name(session, requested, instance.project_id)


def _insert(
    session: Session,
    op_occ: VnfLcmOpOcc,
    stored: StoredInstance,
    named: NamedVims,
    preconditions: Preconditions,
    vnfd_id: str | None,
    wakeup_timeout_s: float,
) -> None:
    """Reserve an instance, and add an operation on it.

    :param vnfd_id: the VNFD to which it changes the instance
    """
    now = datetime.datetime.now(datetime.UTC)
    instance_id = op_occ.vnf_instance_id
    project_quotas = quotas.lock(session, op_occ.project_id)
    instances.reserve(session, instance_id, op_occ.id, stored.generation)
    # after reserve(), so that no other request changes the instance
    instances.check_preconditions(session, instance_id, preconditions)
    idempotency.record(session, preconditions, op_occ.id)
    if OPERATIONS[op_occ.operation].assigns_vims:
        _record_vims(session, instance_id, named)
    if vnfd_id:
        packages.record_use(session, instance_id, vnfd_id, op_occ.project_id)
    quotas.check(session, project_quotas, Resource.OPERATIONS)
    op_occs.add(
        session,
        op_occ,
        stored,
        named.connections,
        now,
        wakeup_timeout_s,
    )


def _record_vims(session: Session, instance_id: str, named: NamedVims) -> None:
    """Record that an instance uses VIMs.

    :raises Conflict: one was deleted, or the project may not use it any more
    """
    try:
        usable = vims.record_use(session, instance_id, named.registered)
    except ReferenceError:
        usable = frozenset()
    if usable != named.registered:
        raise errors.Conflict(
            "vimConnectionInfo: the VIM has just been deleted."
        )


def _decide(
    session: Session,
    op_occ_id: str,
    event: Event,
    preconditions: Preconditions,
    wakeup_timeout_s: float,
) -> VnfLcmOpOcc:
    now = datetime.datetime.now(datetime.UTC)
    idempotency.record(session, preconditions, op_occ_id)
    return op_occs.decide(
        session, op_occ_id, event, now, wakeup_timeout_s, preconditions
    )


def _resume(
    session: Session,
    op_occ_id: str,
    event: Event,
    preconditions: Preconditions,
    wakeup_timeout_s: float,
) -> WaitingOperation:
    """Record a decision by which an operation runs again.

    :raises TooManyOperations: the project has as many as it may have
    """
    waiting = op_occs.lock_waiting(session, op_occ_id)
    project_quotas = quotas.lock(session, waiting.project_id)
    _decide(session, op_occ_id, event, preconditions, wakeup_timeout_s)
    quotas.check(session, project_quotas, Resource.OPERATIONS, is_counted=True)
    return waiting


def _cancel(
    session: Session,
    op_occ_id: str,
    mode: CancelModeType,
    preconditions: Preconditions,
) -> WaitingOperation:
    idempotency.record(session, preconditions, op_occ_id)
    op_occs.cancel(session, op_occ_id, mode, preconditions)
    return op_occs.lock_waiting(session, op_occ_id)


def _get(session: Session, op_occ_id: str) -> tuple[VnfLcmOpOcc, str]:
    stored = op_occs.load_shown(session, op_occ_id)
    names = shown_names.of_package(session, stored.package_id)
    shown = _shown(stored.op_occ, names, is_waiting=stored.is_waiting)
    return shown, stored.etag


def _shown(
    op_occ: VnfLcmOpOcc, names: ShownNames, *, is_waiting: bool
) -> VnfLcmOpOcc:
    """Hide what is not shown; add to the progress of an active operation that
    it waits.
    """
    op_occ = redaction.op_occ(op_occ, names)
    if not is_waiting or op_occ.operation_state not in states.ACTIVE:
        return op_occ
    last_progress = f" (at {op_occ.progress})" if op_occ.progress else ""
    progress = f"{WAITING_FOR_CONDUCTOR}{last_progress}"
    return msgspec.structs.replace(op_occ, progress=progress)


def new_op_occ(
    instance: VnfInstance,
    op: LcmOperationType,
    request: SolType,
    context: RequestContext | None = None,
) -> VnfLcmOpOcc:
    """Return a new operation in its first state.

    :param context: of the request that starts it; None: nothing will run
    """
    now = datetime.datetime.now(datetime.UTC)
    return VnfLcmOpOcc(
        id=str(uuid.uuid4()),
        operation_state=registry.first_state(op),
        state_entered_time=now,
        start_time=now,
        vnf_instance_id=instance.id,
        project_id=instance.project_id,
        user_id=context.user_id if context else None,
        request_id=context.request_id if context else None,
        operation=op,
        is_automatic_invocation=False,
        operation_params=msgspec.to_builtins(request),
        is_cancel_pending=False,
    )
