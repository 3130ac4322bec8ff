"""The conductor process: claims operations and runs their steps."""

import contextlib
import functools
import traceback
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from oslo_config import cfg
from oslo_log import log

from tacker_cnf import context, errors, metrics, rpc, tracing
from tacker_cnf.audit import AuditTrail
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.catalogue.uploads import Uploads
from tacker_cnf.conductor import recovery
from tacker_cnf.conductor.claims import Claim, Claims
from tacker_cnf.conductor.instance_sync import InstanceSync
from tacker_cnf.conductor.management_scripts import ManagementScripts
from tacker_cnf.conductor.operation_recorder import OperationRecorder
from tacker_cnf.conductor.package_fetcher import PackageFetcher
from tacker_cnf.conductor.run import Run
from tacker_cnf.conductor.runner import Runner
from tacker_cnf.conductor.steps import Steps
from tacker_cnf.conductor.synchronizer import Synchronizer
from tacker_cnf.conductor.vim_resolver import ResolvedVims, VimResolver
from tacker_cnf.db import conductors, idempotency, op_occs
from tacker_cnf.db.op_occs import ClaimedOperation, WaitingOperation
from tacker_cnf.db.session import (
    DATABASE_DOWN,
    RowsLocked,
    Store,
    first_line,
    severity,
    transaction,
)
from tacker_cnf.drivers.base import TaskContext
from tacker_cnf.drivers.progress import ResourceProgress
from tacker_cnf.drivers.registry import DriverRegistry
from tacker_cnf.lcm import grant_overrides, secret_masking
from tacker_cnf.lcm.operations import registry
from tacker_cnf.lcm.operations.registry import OPERATIONS
from tacker_cnf.lcm.redaction import VIM_CONNECTIONS
from tacker_cnf.lcm.script_output import InstanceChanges
from tacker_cnf.lcm.secret_masking import SecretMasker
from tacker_cnf.nfvo.base import Nfvo
from tacker_cnf.runtime import fair_places
from tacker_cnf.runtime.cancellation import CancelToken, Deadline
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.runtime.fair_places import FairPlaces
from tacker_cnf.runtime.periodic_tasks import (
    RENEWAL_RETRY_DELAY_S,
    PeriodicTasks,
)
from tacker_cnf.runtime.work_queue import WorkQueue
from tacker_cnf.scripts.limits import limits_of
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType, VnfLcmOpOcc

LOG = log.getLogger(__name__)

#: seconds between two writes of the progress of operations
PUBLISH_INTERVAL_S: Final = 1.0
#: the most seconds between two checks for expired leases
MAX_LEASE_CHECK_INTERVAL_S: Final = 1.0

#: seconds between two deletions of expired idempotency keys, and of
#: temporary directories that scripts of lost conductors left
CLEANUP_INTERVAL_S: Final = 600.0
#: operations that wait for a script or a delayed change without a worker,
#: shared by the projects as the workers are; each has a thread and a lease
MAX_YIELDING: Final = 256


class Conductor:
    """Runs operations, one in each worker thread."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        store: Store,
        catalogue: Packages,
        drivers: DriverRegistry,
        nfvo: Nfvo,
        audit: AuditTrail,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._clock = clock
        self._conf = conf.conductor
        self._key_lifetime = conf.api.idempotency_lifetime
        self._script_limits = limits_of(conf)
        self._store = store
        self._catalogue = catalogue
        self._vim_resolver = VimResolver(store, drivers)
        self._nfvo = nfvo
        self._audit = audit
        self._best_effort = conf.nfvo.fallback_best_effort
        self.claims = Claims(store, self._conf.lease, clock)
        self.synchronizer = Synchronizer(
            self._conf,
            store,
            drivers,
            InstanceSync(store, catalogue, drivers, self._conf.lease, clock),
            self.claims.owner,
            clock,
        )
        self.package_fetcher = PackageFetcher(
            Uploads(store, conf, catalogue, clock=clock),
            self.synchronizer.lease_set,
            clock,
        )
        #: IDs of operations; their projects, and the VIMs of each, take turns
        self.queue = WorkQueue(
            self._run_operation,
            self._conf.workers,
            "operation",
            [
                fair_places.share(self._conf.workers, percent)
                for percent in (self._conf.project_share, self._conf.vim_share)
            ],
            FairPlaces(
                MAX_YIELDING,
                [fair_places.share(MAX_YIELDING, self._conf.project_share)],
            ),
        )
        self._max_scripts = conf.scripts.max_running
        self._scripts = FairPlaces(
            self._max_scripts,
            [fair_places.share(self._max_scripts, self._conf.project_share)],
        )
        self._periodic_tasks = PeriodicTasks(severity, clock)
        self._listener: rpc.Listener | None = None
        #: IDs of operations whose rows were locked at the last claim
        self._locked: set[str] = set()

    def start(self, transport: Any) -> None:
        """Start the RPC listener, the periodic tasks and the synchronizer.

        :param transport: of oslo.messaging
        """
        endpoint = rpc.ConductorEndpoint(
            self.queue.put,
            self.claims.check_cancel,
            self.synchronizer.synchronize,
            self.package_fetcher.queue.put,
            self._store.notify_listeners,
        )
        self._listener = rpc.Listener(transport, self.claims.owner, endpoint)
        self._script_limits.temporary_directories.sweep()
        self._listener.start()
        self.report()
        tasks = self._periodic_tasks
        lease = self._conf.lease
        tasks.start(self.report, lease / 3, RENEWAL_RETRY_DELAY_S)
        tasks.start(self.claims.report, lease / 3, RENEWAL_RETRY_DELAY_S)
        tasks.start(
            self.claims.check_leases,
            min(lease / 10, MAX_LEASE_CHECK_INTERVAL_S),
        )
        tasks.start(self.claims.publish, PUBLISH_INTERVAL_S)
        tasks.start(self.sweep, self._conf.sweep_interval)
        tasks.start(self.delete_expired_keys, CLEANUP_INTERVAL_S)
        tasks.start(
            self._script_limits.temporary_directories.sweep, CLEANUP_INTERVAL_S
        )
        tasks.start(self.package_fetcher.sweep, self._conf.sweep_interval)
        self.synchronizer.start()

    def stop(self) -> bool:
        """Claim nothing more, wait for running operations, release the rest.

        :returns: whether all work of this process has ended; if not, the
            process must exit at once, since other conductors take it over
        """
        self.queue.close()
        fetched = self.package_fetcher.stop()
        self.synchronizer.stop()
        disconnected = not self._listener or self._listener.stop()
        try:
            self.claims.requeue()
        except DATABASE_DOWN as error:
            reason = first_line(error)
            LOG.warning("Operations not requeued: error=%s", reason)
        self.queue.join(self._conf.stop_timeout)
        self._periodic_tasks.stop()
        self._periodic_tasks.join()
        try:
            conductors.unregister(self._store, self.claims.owner)
        except DATABASE_DOWN as error:
            reason = first_line(error)
            LOG.debug("Conductor unregistration failed: error=%s", reason)
        return not self.claims.release_all() and fetched and disconnected

    def report(self) -> None:
        """Renew the registration of this conductor."""
        conductors.report(self._store, self.claims.owner, self._conf.lease)

    def sweep(self) -> None:
        """Queue the operations that no live conductor has claimed."""
        for waiting in self._list_unclaimed():
            self.queue.put(*waiting)

    @transaction
    def delete_expired_keys(self) -> None:
        """Delete the expired idempotency keys."""
        with self._store.writer() as session:
            idempotency.delete_expired(session, self._key_lifetime)

    @transaction
    def _list_unclaimed(self) -> tuple[WaitingOperation, ...]:
        with self._store.reader() as session:
            return tuple(op_occs.list_unclaimed(session))

    def _run_operation(self, op_occ_id: str) -> None:
        claimed = None
        context.enter_request(None)  # it is known when the row was read
        try:
            claimed = self.claims.acquire(op_occ_id)
            self._locked.discard(op_occ_id)
            if claimed:
                instance_id = claimed[0].op_occ.vnf_instance_id
                self.synchronizer.begin_operation(instance_id)
                self._execute(*claimed)
        except errors.LeaseLost:
            metrics.LEASES_LOST.inc()
            LOG.warning("Lease lost: operation=%s", op_occ_id)
            if claimed:
                # a request of it may have been in flight
                self.synchronizer.suspect(claimed[0].op_occ.vnf_instance_id)
        except RowsLocked:
            LOG.log(
                log.DEBUG if op_occ_id in self._locked else log.INFO,
                "Operation locked, the sweep claims it: operation=%s",
                op_occ_id,
            )
            self._locked.add(op_occ_id)
        except DATABASE_DOWN as error:
            LOG.warning(
                "Operation interrupted: operation=%s error=%s",
                op_occ_id,
                first_line(error),
            )
        except Exception:
            LOG.exception("Operation interrupted: operation=%s", op_occ_id)
        finally:
            self.claims.release(op_occ_id)
            if claimed:
                self._end_operation(claimed[0].op_occ)

    def _end_operation(self, op_occ: VnfLcmOpOcc) -> None:
        self.synchronizer.end_operation(op_occ.vnf_instance_id)
        # a VIM that a grant named is found by the next periodic refresh
        if OPERATIONS[op_occ.operation].assigns_vims:
            self.synchronizer.refresh_watches(op_occ.vnf_instance_id)

    def _execute(self, claimed_op: ClaimedOperation, claim: Claim) -> None:
        op_occ = claimed_op.op_occ
        context.enter_request(
            op_occ.request_id, op_occ.project_id, claimed_op.requested_by
        )
        with tracing.span(
            op_occ.operation,
            tracing.Kind.CONSUMER,
            vnf_lcm_op_occ_id=op_occ.id,
            vnf_instance_id=op_occ.vnf_instance_id,
        ):
            self._run_steps(claimed_op, claim)

    def _run_steps(self, claimed_op: ClaimedOperation, claim: Claim) -> None:
        op_occ = claimed_op.op_occ
        recorder = self._recorder(claimed_op, claim)
        problem = recovery.takeover_problem(
            claimed_op, may_resume=self._conf.resume_infra
        )
        if problem and op_occ.operation_state == S.STARTING:
            recorder.fail(problem)  # no step had run
            return
        try:
            run = claim.persist(lambda: self._prepare(claimed_op))
            runner = self._runner(run, claimed_op, claim, recorder)
        except (*DATABASE_DOWN, errors.LeaseLost):
            raise  # the lease expires, and a conductor claims it again
        except Exception as error:  # noqa: BLE001
            masker = _masker_of_request(claimed_op)
            LOG.warning(
                "Operation preparation failed: operation=%s error=%s",
                op_occ.id,
                masker("".join(traceback.format_exception(error))),
            )
            recorder.fail(problem or masker.problem(error))
            return
        if problem:
            runner.record_abandoned(run, claimed_op.step, problem)
            return
        LOG.info(
            "Operation started: operation=%s type=%s state=%s "
            "vnf_instance_id=%s",
            op_occ.id,
            op_occ.operation,
            op_occ.operation_state,
            op_occ.vnf_instance_id,
        )
        runner.run(run, claimed_op.step if claimed_op.lost_owner else None)

    def _recorder(
        self, claimed_op: ClaimedOperation, claim: Claim
    ) -> OperationRecorder:
        return OperationRecorder(self._store, claimed_op, claim, self._audit)

    def _runner(
        self,
        run: Run,
        claimed_op: ClaimedOperation,
        claim: Claim,
        recorder: OperationRecorder,
    ) -> Runner:
        token = claim.cancel_token
        # built if there is progress to report
        masker = functools.cache(run.build_masker)
        timeout = self._timeout_of(run.op_occ.operation)
        deadline = Deadline.within(
            timeout + (run.change.grace or 0), self._clock
        )
        context = TaskContext(
            deadline=deadline,
            cancel_token=token,
            script_place=lambda seconds: self._script_place(
                run.op_occ.project_id, token, seconds
            ),
            wait_idle=lambda seconds: self._wait_idle(token, seconds),
            report_progress=lambda text: claim.progress.report(masker()(text)),
            report_resource=lambda resource: claim.progress.report_resource(
                _masked(resource, masker())
            ),
            expect=claim.progress.expect,
            save_log=recorder.save_log,
            saved_checkpoint=claimed_op.checkpoint,
            save_checkpoint=recorder.save_checkpoint,
        )
        scripts = ManagementScripts(
            self._script_limits,
            self._vim_resolver,
            recorder,
            context,
        )
        steps = Steps(
            self._nfvo,
            self._vim_resolver,
            scripts,
            recorder,
            claim,
            context,
            best_effort=self._best_effort,
        )
        return Runner(steps, scripts, recorder, claim)

    def _prepare(self, claimed_op: ClaimedOperation) -> Run:
        """Read and compute the values of an operation."""
        op_occ = claimed_op.op_occ
        operation = OPERATIONS[op_occ.operation]
        request = registry.request_of(op_occ)
        if claimed_op.stored is None:
            raise errors.NotFound(
                f"There is no VNF instance {op_occ.vnf_instance_id}."
            )
        instance = claimed_op.stored.instance
        project_id = instance.project_id
        vims = self._resolve_vims(
            grant_overrides.vim_connections(
                operation,
                request,
                claimed_op.vim_connections,
                claimed_op.grant,
            ),
            project_id,
        )
        package = self._catalogue.unpacked(instance.vnfd_id, project_id)
        vnfd_id = operation.next_vnfd_id(request, instance)
        next_package = (
            self._catalogue.unpacked(vnfd_id, project_id) if vnfd_id else None
        )
        requested = operation.change(
            request,
            instance,
            (next_package or package).vnfd,
            package.vnfd if next_package else None,
        )
        return Run(
            op_occ=op_occ,
            request=request,
            instance=instance,
            package=package,
            next_package=next_package,
            vims=vims,
            change=grant_overrides.change(
                operation, requested, claimed_op.grant
            ),
            grant_request=claimed_op.grant_request,
            grant=claimed_op.grant,
            script_changes=claimed_op.script_changes or InstanceChanges(),
            public_names=self._store.public_names,
        )

    @transaction
    def _resolve_vims(
        self, requested: Mapping[str, VimConnectionInfo], project_id: str
    ) -> ResolvedVims:
        with self._store.reader() as session:
            return self._vim_resolver.resolve(session, requested, project_id)

    def _wait_idle(self, cancel_token: CancelToken, seconds: float) -> None:
        """Wait before a delayed change, and yield the worker meanwhile.

        :raises VnfmError: the operation was cancelled, or its lease was lost
        """
        with self.queue.yield_worker(cancel_token):
            cancel_token.wait_idle(seconds)

    @contextlib.contextmanager
    def _script_place(
        self, project_id: str, cancel_token: CancelToken, seconds: float
    ) -> Iterator[None]:
        """Wait until a script may run, and run it in this block; yield the
        worker meanwhile.

        :param seconds: the longest time to wait
        :raises ScriptFailed: it could not run in this time
        :raises VnfmError: the operation was cancelled, or its lease was lost
        """
        with self.queue.yield_worker(cancel_token):
            place = self._scripts.acquire((project_id,), seconds, cancel_token)
            if place is None:
                raise errors.ScriptFailed(
                    "The script did not run in the time of the operation: "
                    f"{self._max_scripts} others ran ([scripts] max_running) "
                    "or waited before it. Retry the operation."
                )
            try:
                yield
            finally:
                self._scripts.release(place)

    def _timeout_of(self, op: LcmOperationType) -> float:
        own = self._conf[f"{op.lower()}_timeout"]
        return float(own or self._conf.operation_timeout)


def _masked(
    resource: ResourceProgress, masker: SecretMasker
) -> ResourceProgress:
    return msgspec.structs.replace(
        resource,
        name=masker(resource.name),
        message=resource.message and masker(resource.message),
    )


def _masker_of_request(claimed_op: ClaimedOperation) -> SecretMasker:
    """Build the masker of what is not shown of a request."""
    connections = {VIM_CONNECTIONS: claimed_op.vim_connections}
    return SecretMasker(
        secret_masking.secrets_of(
            claimed_op.op_occ.operation_params,
            msgspec.to_builtins(connections, enc_hook=str),
        )
    )
