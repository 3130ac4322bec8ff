"""The conductor: wakes, claims, carries out, reports, sweeps."""

import datetime
import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from oslo_config import cfg
from oslo_db.exception import DBError
from oslo_log import log

from tacker_cnf import errors, rpc
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.conductor import recovery, runner, steps
from tacker_cnf.conductor.claims import Claims
from tacker_cnf.conductor.steps import Run
from tacker_cnf.conductor.sync import Sync
from tacker_cnf.db import instances, op_occs
from tacker_cnf.db.op_occs import Result, Work
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.drivers.base import Deadline
from tacker_cnf.drivers.registry import Registry
from tacker_cnf.lcm import changes, operations, target
from tacker_cnf.lcm.outcome import InfraResult
from tacker_cnf.lcm.states import Event
from tacker_cnf.nfvo.base import Nfvo
from tacker_cnf.scripts.runner import bounds_of
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.vims import connection

LOG = log.getLogger(__name__)

#: instances that one conductor synchronizes at once
SYNCS: Final = 4


class Conductor:
    """Carries operations out, as many at once as it has workers."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        store: Store,
        catalogue: Packages,
        drivers: Registry,
        nfvo: Nfvo,
    ) -> None:
        self._conf = conf.conductor
        self._script_bounds = bounds_of(conf)
        self._store = store
        self._catalogue = catalogue
        self._drivers = drivers
        self._nfvo = nfvo
        self._sync = Sync(store, catalogue, drivers)
        self.claims = Claims(store, self._conf.lease)
        self._pool = ThreadPoolExecutor(
            self._conf.workers, thread_name_prefix="operation"
        )
        self._syncs = ThreadPoolExecutor(SYNCS, thread_name_prefix="sync")
        #: ids of operations, and of instances to be synchronized
        self._queued: set[str] = set()
        self._lock = threading.Lock()
        #: nothing new is taken; then nothing is done any more
        self._stopping = threading.Event()
        self._stopped = threading.Event()
        self._clocks: list[threading.Thread] = []
        self._server: Any = None

    def start(self, transport: Any) -> None:
        """Listen to wake-up calls, report, and sweep, until stop."""
        endpoint = rpc.Endpoint(self.run, self.synchronize)
        self._server = rpc.server(transport, self.claims.owner, endpoint)
        self._server.start()
        self._clock(self._conf.lease / 3, self.claims.report)
        self._clock(self._conf.sweep_interval, self.sweep)

    def stop(self) -> bool:
        """Take no more, wait for what runs, leave the rest to others.

        :returns: whether all that ran here has ended; if not, the process
            must end at once, for others go on with it
        """
        self._stopping.set()
        if self._server:
            self._server.stop()
            self._server.wait()
        with self._lock:
            self._queued.clear()
        done = threading.Thread(
            target=self._pool.shutdown,
            kwargs={"wait": True, "cancel_futures": True},
            daemon=True,
        )
        done.start()
        done.join(self._conf.stop_timeout)
        self._stopped.set()
        for clock in self._clocks:
            clock.join()
        self._syncs.shutdown(wait=False, cancel_futures=True)
        return not self.claims.give_back()

    def _clock(self, interval: float, act: Callable[[], None]) -> None:
        def tick() -> None:
            while not self._stopped.wait(interval):
                try:
                    act()
                except Exception:
                    LOG.exception("%s will be tried again", act.__name__)

        clock = threading.Thread(target=tick, daemon=True, name=act.__name__)
        clock.start()
        self._clocks.append(clock)

    def run(self, op_occ_id: str) -> None:
        """Put an operation in line, unless it is there."""
        with self._lock:
            if op_occ_id in self._queued or self._stopping.is_set():
                return
            self._queued.add(op_occ_id)
        self._pool.submit(self._work, op_occ_id)

    def synchronize(self, instance_id: str) -> None:
        """Put the synchronization of an instance in line."""
        with self._lock:
            if instance_id in self._queued or self._stopping.is_set():
                return
            self._queued.add(instance_id)
        self._syncs.submit(self._sync_now, instance_id)

    def _sync_now(self, instance_id: str) -> None:
        with self._lock:
            # what is asked for from here on wants another look
            self._queued.discard(instance_id)
        try:
            self._sync.once(instance_id)
        except errors.VnfmError as error:
            LOG.warning("%s was not synchronized: %s", instance_id, error)
        except Exception:
            LOG.exception("%s was not synchronized", instance_id)

    def sweep(self) -> None:
        """Look for what a lost message or a lost conductor left."""
        for op_occ_id in self._forgotten():
            self.run(op_occ_id)

    @transaction
    def _forgotten(self) -> tuple[str, ...]:
        with self._store.reader() as session:
            return tuple(op_occs.forgotten(session))

    def _work(self, op_occ_id: str) -> None:
        try:
            work = self.claims.take(op_occ_id)
            if work:
                self._carry_out(work)
        except errors.LostClaim:
            LOG.warning("Operation %s was taken over", op_occ_id)
        except Exception:
            LOG.exception("Operation %s was dropped", op_occ_id)
        finally:
            self.claims.let_go(op_occ_id)
            with self._lock:
                self._queued.discard(op_occ_id)

    def _carry_out(self, work: Work) -> None:
        problem = recovery.verdict(work, may_resume=self._conf.resume_infra)
        if problem is None:
            try:
                run = self._prepare(work)
            except DBError:
                raise  # the lease runs out, and somebody tries again
            except Exception as error:
                LOG.exception("%s cannot begin", work.op_occ.id)
                problem = errors.problem_of(error)
        if problem is not None:
            result = Result(step=work.step, error=problem)
            self._record(work, Event.FAIL, result, None)
            return
        LOG.info("%s: %s", work.op_occ.id, work.op_occ.operation)
        keep = functools.partial(self._keep, work)
        runner.carry_out(run, steps.plan(run), keep)

    def _prepare(self, work: Work) -> Run:
        """Gather what the steps need."""
        op_occ = work.op_occ
        request = operations.request_of(op_occ)
        instance, reached_by = self._look(work)
        package = self._catalogue.tree(instance.vnfd_id)
        current = target.of_instance(instance)
        return Run(
            op_occ=op_occ,
            request=request,
            instance=instance,
            package=package,
            vim_connections=work.vim_connections,
            reached_by=reached_by,
            driver=self._drivers.of(work.vim_connections),
            nfvo=self._nfvo,
            deadline=Deadline.within(self._conf.operation_timeout),
            script_bounds=self._script_bounds,
            current=current,
            target=target.wanted(request, current, package.vnfd),
            notes=work.notes,
            note=functools.partial(self._note, work),
            resumes_at=work.step if work.lost_owner else None,
            grant_request=work.grant_request,
            grant=work.grant,
        )

    @transaction
    def _look(
        self, work: Work
    ) -> tuple[VnfInstance, dict[str, VimConnectionInfo]]:
        with self._store.reader() as session:
            instance = instances.get(session, work.op_occ.vnf_instance_id)
            return instance, connection.complete(session, work.vim_connections)

    @transaction
    def _note(self, work: Work, notes: tuple[str, ...]) -> None:
        with self._store.writer() as session:
            op_occs.note(session, work, notes)

    def _keep(
        self,
        work: Work,
        run: Run,
        event: Event,
        step: str | None,
        problem: ProblemDetails | None,
        found: InfraResult | None,
    ) -> None:
        before = run.instance.instantiated_vnf_info
        result = Result(
            step=step,
            error=problem,
            grant_request=run.grant_request,
            grant=run.grant,
            resource_changes=changes.between(before, found) if found else None,
        )
        self._record(work, event, result, run)

    @transaction
    def _record(
        self, work: Work, event: Event, result: Result, run: Run | None
    ) -> None:
        now = datetime.datetime.now(datetime.UTC)
        with self._store.writer() as session:
            if run and event == Event.DONE:
                instances.update(session, steps.reached(run))
            state = op_occs.record(session, work, event, result, now)
        LOG.info("%s is %s", work.op_occ.id, state)
