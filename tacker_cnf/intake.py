"""The one door by which an operation begins, or is decided about.

All checks come first, without a lock; then one transaction, in which the
store says who was first; then the wake-up.
"""

import datetime
import uuid
from collections.abc import Mapping
from typing import Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.db import instances, op_occs, vims
from tacker_cnf.db.session import (
    ReferenceError,  # noqa: A004
    Store,
    transaction,
)
from tacker_cnf.drivers.base import Deadline, InfraTask
from tacker_cnf.drivers.registry import Registry
from tacker_cnf.lcm import operations, target, vnfcs
from tacker_cnf.lcm.states import Event
from tacker_cnf.rpc import Client
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.lcm_request import HealVnfRequest
from tacker_cnf.sol.vnf_instance import InstantiationState, VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import (
    LcmOperationStateType,
    LcmOperationType,
    VnfLcmOpOcc,
)
from tacker_cnf.vims import connection

#: seconds a wake-up message may take before the sweep does without it
PATIENCE: Final = 5.0


class Intake:
    """Accepts operations; the conductors do the rest."""

    def __init__(
        self, store: Store, catalogue: Packages, drivers: Registry, rpc: Client
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._drivers = drivers
        self._rpc = rpc

    def start(
        self, instance_id: str, op: LcmOperationType, request: SolType
    ) -> str:
        """Begin an operation and give the id of its occurrence.

        :raises NotFound: there is no such instance
        :raises WrongState: the instance is not in the state it has to be in
        :raises OperationInProgress: another operation holds the instance
        :raises BadRequest: the request cannot be carried out as it is
        """
        instance, vim_connections = self._look(instance_id, op, request)
        self._check(instance, request, vim_connections)
        now = datetime.datetime.now(datetime.UTC)
        op_occ = _new(instance_id, op, request, now)
        self._accept(op_occ, vim_connections, now)
        self._rpc.wake(op_occ.id)
        return op_occ.id

    @transaction
    def _look(
        self, instance_id: str, op: LcmOperationType, request: SolType
    ) -> tuple[VnfInstance, dict[str, VimConnectionInfo]]:
        with self._store.reader() as session:
            instance = instances.get(session, instance_id)
            # who holds it says more than in which state it is meanwhile
            instances.check_free(session, instance_id)
            operations.check_state(op, instance)
            # an instance that runs stays where it is
            asked = instance.vim_connection_info or getattr(
                request, "vim_connection_info", {}
            )
            return instance, connection.name(session, asked)

    def _check(
        self,
        instance: VnfInstance,
        request: SolType,
        vim_connections: Mapping[str, VimConnectionInfo],
    ) -> None:
        package = self._catalogue.tree(instance.vnfd_id)
        current = target.of_instance(instance)
        self._drivers.of(vim_connections).validate(
            InfraTask(
                instance=instance,
                package=package,
                vim_connections=vim_connections,
                current=current,
                target=target.wanted(request, current, package.vnfd),
                parameters=getattr(request, "additional_params", {}),
                deadline=Deadline.within(0),
                heals=isinstance(request, HealVnfRequest),
                vnfcs=vnfcs.named(request, instance),
            )
        )

    @transaction
    def _accept(
        self,
        op_occ: VnfLcmOpOcc,
        vim_connections: Mapping[str, VimConnectionInfo],
        now: datetime.datetime,
    ) -> None:
        facts = operations.OPERATIONS[op_occ.operation]
        instance_id = op_occ.vnf_instance_id
        used = [c.vim_id for c in vim_connections.values() if c.vim_id]
        with self._store.writer() as session:
            instances.reserve(session, instance_id, op_occ.id, facts.needs)
            try:
                vims.use(session, instance_id, used)
                # from here on the VIMs cannot go; were they there till now?
                connection.name(session, vim_connections)
            except (ReferenceError, errors.InvalidVimConnection):
                raise errors.Conflict("The VIM was just deleted.") from None
            op_occs.add(session, op_occ, vim_connections, now, PATIENCE)

    def sync(self, instance_id: str) -> None:
        """Have a conductor look what the VIM has made of an instance.

        :raises NotFound: there is no such instance
        :raises WrongState: the instance is not instantiated
        :raises OperationInProgress: an operation holds the instance
        :raises Unavailable: no conductor can be asked
        """
        self._check_sync(instance_id)
        self._rpc.sync(instance_id)

    @transaction
    def _check_sync(self, instance_id: str) -> None:
        with self._store.reader() as session:
            instance = instances.get(session, instance_id)
            if instance.instantiation_state != InstantiationState.INSTANTIATED:
                raise errors.WrongState(
                    f"VNF instance {instance_id} is "
                    f"{instance.instantiation_state}; it has nothing on a VIM."
                )
            instances.check_free(session, instance_id)

    @transaction
    def _decide(self, op_occ_id: str, event: Event) -> VnfLcmOpOcc:
        now = datetime.datetime.now(datetime.UTC)
        with self._store.writer() as session:
            return op_occs.decide(session, op_occ_id, event, now, PATIENCE)

    def retry(self, op_occ_id: str) -> None:
        """Try a failed operation again.

        :raises NotFound: there is no such operation
        :raises WrongState: it has not failed
        """
        self._decide(op_occ_id, Event.RETRY)
        self._rpc.wake(op_occ_id)

    def rollback(self, op_occ_id: str) -> None:
        """Restore what was before a failed operation.

        :raises NotFound: there is no such operation
        :raises WrongState: it has not failed, or cannot be rolled back
        """
        self._decide(op_occ_id, Event.ROLLBACK)
        self._rpc.wake(op_occ_id)

    def fail(self, op_occ_id: str) -> VnfLcmOpOcc:
        """Leave a failed operation as it is, and let others come.

        :raises NotFound: there is no such operation
        :raises WrongState: it has not failed
        """
        return self._decide(op_occ_id, Event.GIVE_UP)


def _new(
    instance_id: str,
    op: LcmOperationType,
    request: SolType,
    now: datetime.datetime,
) -> VnfLcmOpOcc:
    return VnfLcmOpOcc(
        id=str(uuid.uuid4()),
        operation_state=LcmOperationStateType.STARTING,
        state_entered_time=now,
        start_time=now,
        vnf_instance_id=instance_id,
        operation=op,
        is_automatic_invocation=False,
        operation_params=msgspec.to_builtins(request),
        is_cancel_pending=False,
    )
