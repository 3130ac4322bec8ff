"""The one door by which an operation begins, or is decided about.

All checks come first, without a lock; then one transaction, in which the
store says who was first; then the wake-up.
"""

import contextlib
import datetime
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.tree import PackageTree, Trees
from tacker_cnf.db import (
    idempotency,
    instances,
    leftovers,
    op_occs,
    packages,
    vims,
)
from tacker_cnf.db.session import (
    ReferenceError,  # noqa: A004
    Store,
    transaction,
)
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.registry import Registry
from tacker_cnf.halting import Deadline
from tacker_cnf.lcm import (
    modification,
    operations,
    package_change,
    target,
    vnfcs,
)
from tacker_cnf.lcm.states import Event
from tacker_cnf.rpc import Client
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import (
    ChangeCurrentVnfPkgRequest,
    HealVnfRequest,
    VnfInfoModificationRequest,
)
from tacker_cnf.sol.vnf_instance import InstantiationState, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import (
    CancelModeType,
    LcmOperationType,
    VnfLcmOpOcc,
)
from tacker_cnf.terms import NONE, Terms
from tacker_cnf.vims import connection

#: seconds a wake-up message may take before the sweep does without it
PATIENCE: Final = 5.0
#: how often an instance is looked at that changes meanwhile
LOOKS: Final = 5


class Intake:
    """Accepts operations; the conductors do the rest.

    :param vims_follow: whether the NFVO may name the VIM with its grant, so
        that a request need not
    """

    def __init__(
        self,
        store: Store,
        catalogue: Trees,
        drivers: Registry,
        rpc: Client,
        *,
        vims_follow: bool = False,
    ) -> None:
        self._vims_follow = vims_follow
        self._store = store
        self._catalogue = catalogue
        self._drivers = drivers
        self._rpc = rpc

    def start(
        self,
        instance_id: str,
        op: LcmOperationType,
        request: SolType,
        terms: Terms = NONE,
    ) -> str:
        """Begin an operation and give the id of its occurrence.

        :raises NotFound: there is no such instance
        :raises WrongState: the instance is not in the state it has to be in
        :raises OperationInProgress: another operation holds the instance
        :raises Leftovers: what another instantiation left is there still
        :raises BadRequest: the request cannot be carried out as it is
        :raises VnfdNotUsable: no enabled package has the VNFD it names
        :raises VnfdNotFitting: the instance cannot become one of that VNFD
        :raises PeerFailed: the NFVO, asked for its package, did not give it
        :raises PreconditionFailed: the instance is not what the caller saw
        """

        def try_it() -> str:
            with self.cleaning(instance_id):
                instance, vim_connections, seen = self._look(
                    instance_id, op, request
                )
            self._check(instance, op, request, vim_connections)
            op_occ = _new(instance_id, op, request)
            vnfd_id = modification.next_vnfd_id(instance, request)
            return self._begin(op_occ, terms, vim_connections, seen, vnfd_id)

        return _as_it_is(try_it)

    def modify(
        self,
        instance_id: str,
        request: VnfInfoModificationRequest,
        terms: Terms = NONE,
    ) -> str:
        """Begin a modification and give the id of its occurrence.

        :raises NotFound: there is no such instance
        :raises OperationInProgress: an operation holds the instance
        :raises BadRequest: the request cannot be carried out as it is
        :raises VnfdNotUsable: no enabled package has the VNFD it names
        :raises VnfdNotFitting: the instance cannot become one of that VNFD
        :raises PeerFailed: the NFVO, asked for its package, did not give it
        :raises PreconditionFailed: the instance is not what the caller saw
        """
        return _as_it_is(lambda: self._modify(instance_id, request, terms))

    def _modify(
        self,
        instance_id: str,
        request: VnfInfoModificationRequest,
        terms: Terms,
    ) -> str:
        instance, vim_connections, seen = self._look_to_modify(
            instance_id, request
        )
        if vim_connections != instance.vim_connection_info:
            self._check_same_kind(instance, vim_connections)
        vnfd_id = modification.next_vnfd_id(instance, request)
        package = self._catalogue.tree(vnfd_id) if vnfd_id else None
        vnfd = package.vnfd if package else None
        modification.modified(instance, request, vim_connections, vnfd)
        if package:
            self._check_goes_on(instance, package, vim_connections)
        op_occ = _new(instance_id, LcmOperationType.MODIFY_INFO, request)
        return self._begin(op_occ, terms, vim_connections, seen, vnfd_id)

    @transaction
    def _look_to_modify(
        self, instance_id: str, request: VnfInfoModificationRequest
    ) -> tuple[VnfInstance, dict[str, VimConnectionInfo], int]:
        with self._store.reader() as session:
            seen = instances.generation(session, instance_id)
            instance = instances.get(session, instance_id)
            instances.check_free(session, instance_id)
            provided = connection.provided(session, instance_id)
            asked = modification.connections(
                instance, request, provided.get(instance_id, {})
            )
            named = connection.name(session, asked) if asked else {}
            return instance, named, seen

    def _check_goes_on(
        self,
        instance: VnfInstance,
        package: PackageTree,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> None:
        """Make sure that what is there can be managed by another package, as
        it is, or as a script of the present one makes it.

        :raises BadRequest: it cannot, not even be terminated
        """
        current = target.of_instance(instance)
        if current is None:
            return
        vnfd = self._catalogue.tree(instance.vnfd_id).vnfd
        scripts = target.flavour_of(vnfd, current.flavour_id).scripts
        hook = operations.OPERATIONS[LcmOperationType.MODIFY_INFO].hook
        scripted = any(name.startswith(hook) for name in scripts)
        self._drivers.of(vim_connections).validate(
            InfraTask(
                instance=instance,
                package=package,
                vim_connections=vim_connections,
                current=current,
                target=current,
                operation=LcmOperationType.MODIFY_INFO if scripted else None,
                parameters={},
                deadline=Deadline.within(0),
            )
        )

    def _check_same_kind(
        self,
        instance: VnfInstance,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> None:
        before = self._drivers.of(instance.vim_connection_info)
        if self._drivers.of(vim_connections) is not before:
            raise errors.InvalidVimConnection(
                f"vimConnectionInfo: VNF instance {instance.id} cannot move "
                "to a VIM of another kind."
            )

    def _begin(
        self,
        op_occ: VnfLcmOpOcc,
        terms: Terms,
        vim_connections: Mapping[str, VimConnectionInfo],
        seen: int,
        vnfd_id: str | None = None,
    ) -> str:
        self._accept(op_occ, terms, vim_connections, seen, vnfd_id)
        self._rpc.wake(op_occ.id)
        return op_occ.id

    @transaction
    def _look(
        self, instance_id: str, op: LcmOperationType, request: SolType
    ) -> tuple[VnfInstance, dict[str, VimConnectionInfo], int]:
        with self._store.reader() as session:
            seen = instances.generation(session, instance_id)
            instance = instances.get(session, instance_id)
            # who holds it says more than in which state it is meanwhile
            instances.check_free(session, instance_id)
            operations.check_state(op, instance)
            if op is LcmOperationType.INSTANTIATE:
                leftovers.check(session, instance_id, request)
            # an instance that runs stays where it is
            asked = instance.vim_connection_info or getattr(
                request, "vim_connection_info", {}
            )
            return instance, connection.name(session, asked), seen

    def _check(
        self,
        instance: VnfInstance,
        op: LcmOperationType,
        request: SolType,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> None:
        package, former = self._packages(instance, request)
        current = target.of_instance(instance)
        wanted = target.wanted(
            request, current, package.vnfd, former.vnfd if former else None
        )
        if self._vims_follow and not vim_connections:
            return  # the rest is checked when the VIM is known
        self._drivers.of(vim_connections).validate(
            InfraTask(
                instance=instance,
                package=package,
                current_package=former,
                vim_connections=vim_connections,
                current=current,
                target=wanted,
                parameters=getattr(request, "additional_params", {}),
                operation=op,
                request=request,
                deadline=Deadline.within(0),
                heals=isinstance(request, HealVnfRequest),
                vnfcs=vnfcs.named(request, instance),
            )
        )

    def _packages(
        self, instance: VnfInstance, request: SolType
    ) -> tuple[PackageTree, PackageTree | None]:
        """Find the package that an operation works by, and the one that the
        instance is of, if it is another.

        :raises VnfdNotUsable: there is no package of the VNFD it names
        :raises VnfdNotFitting: the instance cannot become one of that VNFD
        """
        package = self._catalogue.tree(instance.vnfd_id)
        vnfd_id = modification.next_vnfd_id(instance, request)
        if vnfd_id is None or not isinstance(
            request, ChangeCurrentVnfPkgRequest
        ):
            return package, None
        following = self._catalogue.tree(vnfd_id)
        package_change.check(instance, following.vnfd)
        return following, package

    @transaction
    def _accept(
        self,
        op_occ: VnfLcmOpOcc,
        terms: Terms,
        vim_connections: Mapping[str, VimConnectionInfo],
        seen: int,
        vnfd_id: str | None,
    ) -> None:
        now = datetime.datetime.now(datetime.UTC)
        instance_id = op_occ.vnf_instance_id
        used = [c.vim_id for c in vim_connections.values() if c.vim_id]
        with self._store.writer() as session:
            if op_occs.is_there(session, op_occ.id):
                return  # nobody had told us that it was committed
            instances.reserve(session, instance_id, op_occ.id, seen)
            # from here on it is nobody else's to change
            terms.check(instances.tag(session, instance_id))
            idempotency.keep(session, terms, op_occ.id)
            try:
                vims.use(session, instance_id, used)
                # from here on the VIMs cannot go; were they there till now?
                if vim_connections:
                    connection.name(session, vim_connections)
            except (ReferenceError, errors.InvalidVimConnection):
                raise errors.Conflict("The VIM was just deleted.") from None
            if vnfd_id:
                packages.use(session, instance_id, vnfd_id)
            op_occs.add(session, op_occ, vim_connections, now, PATIENCE)

    @contextlib.contextmanager
    def cleaning(self, instance_id: str) -> Iterator[None]:
        """Have a conductor remove what a failed instantiation left when this
        block finds that it is in the way.
        """
        try:
            yield
        except errors.Leftovers:
            # without a queue, the next turn removes it
            with contextlib.suppress(errors.Unavailable):
                self._rpc.sync(instance_id)
            raise

    def sync(self, instance_id: str, terms: Terms = NONE) -> None:
        """Have a conductor look what the VIM has made of an instance, or
        remove what a failed instantiation left there.

        :raises NotFound: there is no such instance
        :raises WrongState: the instance has nothing on a VIM
        :raises OperationInProgress: an operation holds the instance
        :raises PreconditionFailed: the instance is not what the caller saw
        :raises Unavailable: no conductor can be asked
        """
        self._check_sync(instance_id, terms)
        self._rpc.sync(instance_id)

    @transaction
    def _check_sync(self, instance_id: str, terms: Terms) -> None:
        with self._store.reader() as session:
            instance = instances.get(session, instance_id)
            state = instance.instantiation_state
            left = leftovers.known(session, instance_id)
            if state != InstantiationState.INSTANTIATED and left is None:
                raise errors.WrongState(
                    f"VNF instance {instance_id} is "
                    f"{instance.instantiation_state}; it has nothing on a VIM."
                )
            instances.check_free(session, instance_id)
            terms.check(instances.tag(session, instance_id))

    @transaction
    def _decide(
        self, op_occ_id: str, event: Event, terms: Terms
    ) -> VnfLcmOpOcc:
        now = datetime.datetime.now(datetime.UTC)
        with self._store.writer() as session:
            idempotency.keep(session, terms, op_occ_id)
            return op_occs.decide(
                session, op_occ_id, event, now, PATIENCE, terms
            )

    def retry(self, op_occ_id: str, terms: Terms = NONE) -> None:
        """Try a failed operation again.

        :raises NotFound: there is no such operation
        :raises WrongState: it has not failed
        :raises PreconditionFailed: it is not what the caller saw
        """
        self._decide(op_occ_id, Event.RETRY, terms)
        self._rpc.wake(op_occ_id)

    def rollback(self, op_occ_id: str, terms: Terms = NONE) -> None:
        """Restore what was before a failed operation.

        :raises NotFound: there is no such operation
        :raises WrongState: it has not failed, or cannot be rolled back
        :raises PreconditionFailed: it is not what the caller saw
        """
        self._decide(op_occ_id, Event.ROLLBACK, terms)
        self._rpc.wake(op_occ_id)

    def fail(self, op_occ_id: str, terms: Terms = NONE) -> VnfLcmOpOcc:
        """Leave a failed operation as it is, and let others come. A conductor
        looks what the instance has now, unless it is not instantiated.

        :raises NotFound: there is no such operation
        :raises WrongState: it has not failed
        :raises PreconditionFailed: it is not what the caller saw
        """
        op_occ = self._decide(op_occ_id, Event.GIVE_UP, terms)
        if op_occ.operation is not LcmOperationType.INSTANTIATE:
            # without a queue, the next turn does it
            with contextlib.suppress(errors.Unavailable):
                self._rpc.sync(op_occ.vnf_instance_id)
        return op_occ

    def cancel(
        self, op_occ_id: str, mode: CancelModeType, terms: Terms = NONE
    ) -> None:
        """Have an operation stopped by whoever carries it out.

        :raises NotFound: there is no such operation
        :raises WrongState: nobody carries it out
        :raises PreconditionFailed: it is not what the caller saw
        """
        self._cancel(op_occ_id, mode, terms)
        self._rpc.cancel(op_occ_id)
        # perhaps nobody has begun yet, and then it ends at once
        self._rpc.wake(op_occ_id)

    @transaction
    def _cancel(
        self, op_occ_id: str, mode: CancelModeType, terms: Terms
    ) -> None:
        with self._store.writer() as session:
            idempotency.keep(session, terms, op_occ_id)
            op_occs.cancel(session, op_occ_id, mode, terms)


def _as_it_is(try_it: Callable[[], str]) -> str:
    """Judge a request by the instance as it is when it is reserved.

    :raises Stale: the instance changes all the time
    """
    for _ in range(LOOKS - 1):
        with contextlib.suppress(errors.Stale):
            return try_it()
    return try_it()


def _new(
    instance_id: str, op: LcmOperationType, request: SolType
) -> VnfLcmOpOcc:
    now = datetime.datetime.now(datetime.UTC)
    return VnfLcmOpOcc(
        id=str(uuid.uuid4()),
        operation_state=operations.first_state(op),
        state_entered_time=now,
        start_time=now,
        vnf_instance_id=instance_id,
        operation=op,
        is_automatic_invocation=False,
        operation_params=msgspec.to_builtins(request),
        is_cancel_pending=False,
    )
