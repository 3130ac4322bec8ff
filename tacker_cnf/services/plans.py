"""Plans of operations: of those that do not run, what they would change on the
VIM; of the others, what was planned and done.

Nothing is written or reserved, and the NFVO is not asked; an operation may have
the VNF instance meanwhile.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.catalogue.unpacked import PackageSource
from tacker_cnf.context import RequestContext
from tacker_cnf.db import instances, op_occs, plans, shown_names
from tacker_cnf.db.op_occs import ClaimedOperation
from tacker_cnf.db.session import Session, Store
from tacker_cnf.drivers import exact_plan
from tacker_cnf.drivers.base import InfraTask
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.lcm import (
    grant_overrides,
    grant_plan,
    plan_outcome,
    redaction,
    states,
)
from tacker_cnf.lcm.change import current_state, flavour_of
from tacker_cnf.lcm.operations import registry
from tacker_cnf.lcm.operations.registry import OPERATIONS
from tacker_cnf.lcm.shown_names import ADDITIONAL_PARAMS, ShownNames
from tacker_cnf.lcm.states import Event
from tacker_cnf.lcm.vnf_plan import ActionType, Composition, VnfPlan
from tacker_cnf.nfvo.local import LocalNfvo
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.scripts import compat
from tacker_cnf.services import operations, slots
from tacker_cnf.services.operations import OperationService
from tacker_cnf.services.slots import Slots
from tacker_cnf.services.vim_connections import NamedVims, VimConnections
from tacker_cnf.sol.base import SolType
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.grant import GrantRequest
from tacker_cnf.sol.lcm_request import VnfInfoModificationRequest
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType, VnfLcmOpOcc

#: warning of an operation of which the scripts alone change the VIM
SCRIPTS_CHANGE: Final = (
    "The operation itself changes nothing on the VIM; what its scripts change "
    "is known only when they run."
)
#: warning if an NFVO grants the operations
GRANT_UNKNOWN: Final = (
    "The NFVO is not asked: its grant may choose other zones, images or VIMs."
)
#: error if it would also choose the VIM
NO_VIM: Final = (
    "vimConnectionInfo: no VIM is named. The NFVO would name it in its grant, "
    "which a dry run does not request: name the VIM in the request."
)
#: attributes of a plan: the operation that has the instance
Holder = Mapping[str, Any]
#: an instance, and the VIMs of an operation with their credentials
Snapshot = tuple[VnfInstance, Mapping[str, VimConnectionInfo], Holder]


class PlanService:
    """Plans operations, retries and rollbacks exactly, by reading the VIM;
    reads the plans of operations that have run.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        store: Store,
        catalogue: PackageSource,
        drivers: DriverRegistry,
        operation_service: OperationService,
        local_nfvo: LocalNfvo,
        peer_slots: Slots,
    ) -> None:
        self._store = store
        self._peer_slots = peer_slots
        self._catalogue = catalogue
        self._drivers = drivers
        self._vim_connections = VimConnections(drivers)
        self._operations = operation_service
        self._local_nfvo = local_nfvo
        #: seconds in which the VIM has to be read
        self._timeout = conf.api.dry_run_timeout
        #: whether an NFVO grants the operations
        self._has_nfvo = bool(conf.nfvo.endpoint)
        #: whether it may ignore placement constraints that it cannot meet
        self._best_effort = conf.nfvo.fallback_best_effort
        self._public_names = store.public_names
        self._script_slots = slots.for_scripts(conf)
        self._replaces_scripts = conf.scripts.replace_reference_drivers

    def plan(
        self,
        context: RequestContext,
        instance_id: str,
        op: LcmOperationType,
        request: SolType,
    ) -> VnfPlan:
        """Plan an operation.

        :raises NotFound: the instance does not exist
        :raises WrongState: the state of the instance does not allow it
        :raises BadRequest: the request is not valid for the instance
        :raises VnfdNotUsable: no enabled package has the requested VNFD
        :raises IncompatibleVnfd: the instance is not compatible with the VNFD
        :raises InfraError: the VIM cannot be read, or the operation is not
            possible on it
        :raises Unavailable: too many dry runs run scripts
        """
        instance, connections, holder = self._store.read(
            context, _read, self._vim_connections, instance_id, op, request
        )
        task = self._operations.infra_task(instance, op, request, connections)
        grant_request = self._grant_request(task, op, request)
        grant = self._local_nfvo.grant(
            grant_request, CancelToken(), Deadline.within(self._timeout)
        )
        task = dataclasses.replace(
            task,
            operation_id=grant_request.vnf_lcm_op_occ_id,
            grant_request=grant_request,
            grant=grant,
        )
        return msgspec.structs.replace(
            self._plan(op, task),
            grant_request=grant_request,
            **holder,
        )

    def plan_modification(
        self,
        context: RequestContext,
        instance_id: str,
        request: VnfInfoModificationRequest,
    ) -> VnfPlan:
        """Plan a modification: the scripts that it runs.

        :raises NotFound: the instance does not exist
        :raises BadRequest: the request is not valid for the instance
        :raises VnfdNotUsable: no enabled package has the requested VNFD
        :raises IncompatibleVnfd: the instance is not compatible with the VNFD
        """
        instance, named, holder = self._store.read(
            context,
            _read_for_modification,
            self._vim_connections,
            instance_id,
            request,
        )
        self._operations.check_modification(instance, request, named)
        return msgspec.structs.replace(self._plan_scripts(instance), **holder)

    def plan_decision(
        self, context: RequestContext, op_occ_id: str, event: Event
    ) -> VnfPlan:
        """Plan the retry or the rollback of a failed operation.

        :raises NotFound: the operation does not exist
        :raises WrongState: the operation is not FAILED_TEMP, or of a type
            without rollback
        :raises InfraError: the VIM cannot be read, or the operation is not
            possible on it
        """
        failed, instance, connections = self._store.read(
            context, _read_failed, self._vim_connections, op_occ_id, event
        )
        op = failed.op_occ.operation
        if not OPERATIONS[op].changes_vim:
            return self._plan_scripts(
                instance, is_rollback=event is Event.ROLLBACK
            )
        request = registry.request_of(failed.op_occ)
        task = self._operations.infra_task(instance, op, request, connections)
        task = dataclasses.replace(
            task,
            change=grant_overrides.change(
                OPERATIONS[op], task.change, failed.grant
            ),
            operation_id=op_occ_id,
            grant_request=failed.grant_request,
            grant=failed.grant,
        )
        if event is Event.ROLLBACK:
            return self._plan(op, task.restoring(), failed, is_rollback=True)
        return _as_retry(self._plan(op, task, failed), failed.op_occ)

    def get(self, context: RequestContext, op_occ_id: str) -> VnfPlan:
        """Return the plan of the latest attempt of an operation.

        :raises NotFound: the operation does not exist, or has no plan
        """
        return self._store.read(context, _get, op_occ_id)

    def _grant_request(
        self, task: InfraTask, op: LcmOperationType, request: SolType
    ) -> GrantRequest:
        """Build the request for a grant of an operation that is not stored."""
        change = task.change
        before = task.current_package or task.package
        return grant_plan.build(
            operations.new_op_occ(task.instance, op, request),
            request,
            task.instance,
            change.current,
            change.desired,
            flavour_of(before.vnfd, change.first_state.flavour_id),
            names=ShownNames(
                vnfd=before.vnfd.public_names, operator=self._public_names
            ),
            new_flavour=flavour_of(task.package.vnfd, change.state.flavour_id),
            best_effort=self._best_effort,
        )

    def _plan(
        self,
        op: LcmOperationType,
        task: InfraTask,
        failed: ClaimedOperation | None = None,
        *,
        is_rollback: bool = False,
    ) -> VnfPlan:
        """Plan what the driver of the VIM does for a task.

        :param failed: the operation that is retried or rolled back
        :raises Unavailable: too many requests wait for peers
        """
        if self._has_nfvo and not task.vim_connections:
            raise errors.InvalidVimConnection(NO_VIM)
        driver = self._drivers.for_connections(task.vim_connections)
        with self._peer_slots.take(task.instance.project_id):
            plan = exact_plan.make(
                driver,
                task,
                self._timeout,
                cancel_token=CancelToken(),
                saved_checkpoint=failed.checkpoint if failed else None,
                script_place=lambda _: self._script_slots.take(
                    task.instance.project_id
                ),
            )
        asks_nfvo = self._has_nfvo and not failed
        change = task.change
        # a rollback runs the scripts of the flavour that the VNF changed to
        after = change.first_state if is_rollback else change.state
        return VnfPlan(
            vnf_instance_id=task.instance.id,
            operation=op,
            is_rollback=is_rollback,
            current=Composition.of_state(change.current),
            desired=Composition.of_state(change.desired),
            actions=plan.actions,
            warnings=(
                *plan.warnings,
                *((GRANT_UNKNOWN,) if asks_nfvo else ()),
            ),
            scripts=self._scripts(
                op,
                task.instance,
                after.flavour_id,
                is_rollback=is_rollback,
            )
            | dict(plan.scripts),
        )

    def _plan_scripts(
        self, instance: VnfInstance, *, is_rollback: bool = False
    ) -> VnfPlan:
        """Plan a modification, which changes nothing but by its scripts."""
        state = current_state(instance)
        scripts = {}
        if state:
            scripts = self._scripts(
                LcmOperationType.MODIFY_INFO,
                instance,
                state.flavour_id,
                is_rollback=is_rollback,
            )
        return VnfPlan(
            vnf_instance_id=instance.id,
            operation=LcmOperationType.MODIFY_INFO,
            is_rollback=is_rollback,
            scripts=scripts,
            warnings=(SCRIPTS_CHANGE,) if scripts else (),
        )

    def _scripts(
        self,
        op: LcmOperationType,
        instance: VnfInstance,
        flavour_id: str,
        *,
        is_rollback: bool,
    ) -> dict[str, str]:
        """Return the management scripts of an operation, by their hooks."""
        package = self._catalogue.unpacked(
            instance.vnfd_id, instance.project_id
        )
        hook = OPERATIONS[op].hook
        suffix = "_rollback" if is_rollback else ""
        found = {
            f"{hook}{suffix}_{phase}": compat.select_script(
                flavour_of(package.vnfd, flavour_id).scripts,
                hook,
                phase,
                package.path,
                is_rollback=is_rollback,
                replaces=self._replaces_scripts,
            )
            for phase in ("start", "end")
        }
        return {name: script for name, script in found.items() if script}


def _get(session: Session, op_occ_id: str) -> VnfPlan:
    # first of all: the client may not use the operation
    found = op_occs.load(session, op_occ_id)
    plan = plans.get(session, op_occ_id)
    if plan is None:
        raise errors.NotFound(_describe_missing(found.op_occ))
    state, error = found.op_occ.operation_state, found.op_occ.error
    if (
        error
        and state not in states.ACTIVE
        and not plan_outcome.is_known(plan)
    ):
        plan = plan_outcome.failed_by_error(plan, error.detail)
    return msgspec.structs.replace(
        plan,
        operation_state=state,
        grant_request=None
        if plan.is_rollback
        else _shown_request(session, found),
        resource_changes=found.op_occ.resource_changes,
    )


def _shown_request(
    session: Session, operation: ClaimedOperation
) -> GrantRequest | None:
    """Return the request for a grant; one of an earlier release may have
    parameters that are not shown.
    """
    request = operation.grant_request
    if request is None:
        return None
    names = shown_names.of_instance(session, request.vnf_instance_id)
    parameters = redaction.shown_only(
        request.additional_params, ADDITIONAL_PARAMS, names
    )
    return msgspec.structs.replace(request, additional_params=parameters)


def _as_retry(plan: VnfPlan, failed: VnfLcmOpOcc) -> VnfPlan:
    """Return a plan as that of a retry; without a change, it waits for what
    the failed attempt waited for.
    """
    warnings = plan.warnings
    if all(a.type is ActionType.UNCHANGED for a in plan.actions):
        detail = f": {failed.error.detail}" if failed.error else "."
        warning = (
            "Nothing is left to change: the retry waits until the VNF is "
            f"ready. The last attempt failed{detail}"
        )
        warnings = (*warnings, warning)
    return msgspec.structs.replace(plan, is_retry=True, warnings=warnings)


def _describe_missing(op_occ: VnfLcmOpOcc) -> str:
    """Return why an operation has no plan."""
    if not OPERATIONS[op_occ.operation].changes_vim:
        return (
            f"Operation {op_occ.id} has no plan: {op_occ.operation} changes the "
            "VIM only by its scripts."
        )
    if op_occ.operation_state in states.ACTIVE:
        return (
            f"Operation {op_occ.id} has no plan yet: it is "
            f"{op_occ.operation_state}, and plans when it begins to change the "
            "VIM. Retry later."
        )
    return (
        f"Operation {op_occ.id} has no plan: it is {op_occ.operation_state}, "
        "and stopped before it began to change the VIM, or ran in a release "
        "without plans."
    )


def _read(
    session: Session,
    vim_connections: VimConnections,
    instance_id: str,
    op: LcmOperationType,
    request: SolType,
) -> Snapshot:
    stored = instances.load(session, instance_id)
    instance = stored.instance
    named = operations.name_vims(
        session, vim_connections, instance, op, request
    )
    complete = vim_connections.complete(session, named.connections)
    return instance, complete, _holder(session, stored.holder)


def _read_for_modification(
    session: Session,
    vim_connections: VimConnections,
    instance_id: str,
    request: VnfInfoModificationRequest,
) -> tuple[VnfInstance, NamedVims, Holder]:
    stored = instances.load(session, instance_id)
    named = operations.name_modified_vims(
        session, vim_connections, stored, request
    )
    return stored.instance, named, _holder(session, stored.holder)


def _holder(session: Session, op_occ_id: str | None) -> Holder:
    if op_occ_id is None:
        return {}
    op_occ = op_occs.get(session, op_occ_id)
    return {
        "operation_in_progress": op_occ_id,
        "operation_in_progress_state": op_occ.operation_state,
    }


def _read_failed(
    session: Session,
    vim_connections: VimConnections,
    op_occ_id: str,
    event: Event,
) -> tuple[ClaimedOperation, VnfInstance, Mapping[str, VimConnectionInfo]]:
    """Return a failed operation, its instance, and its VIMs with their
    credentials.
    """
    failed = op_occs.load(session, op_occ_id)
    op_occ = failed.op_occ
    registry.check_decision(op_occ.operation, op_occ.operation_state, event)
    requested = grant_overrides.vim_connections(
        OPERATIONS[op_occ.operation],
        registry.request_of(op_occ),
        failed.vim_connections,
        failed.grant,
    )
    instance = instances.get(session, op_occ.vnf_instance_id)
    named: Mapping[str, VimConnectionInfo] = {}
    if requested:
        named = vim_connections.name(
            session, requested, instance.project_id
        ).connections
    return (
        failed,
        instance,
        vim_connections.complete(session, named),
    )
