"""The conductor: wakes, claims, carries out, reports, sweeps."""

from collections.abc import Mapping
from typing import Any, Final

from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors, rpc
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.catalogue.uploads import Uploads
from tacker_cnf.conductor import recovery, runner, steps
from tacker_cnf.conductor.claims import Claims, Hold
from tacker_cnf.conductor.clocks import RENEWAL_RETRY, Clocks
from tacker_cnf.conductor.journal import Journal
from tacker_cnf.conductor.lines import Line
from tacker_cnf.conductor.sites import Site, Sites
from tacker_cnf.conductor.steps import Run
from tacker_cnf.conductor.sync import Sync
from tacker_cnf.conductor.upkeep import Upkeep
from tacker_cnf.conductor.uploads import Fetching
from tacker_cnf.db import conductors, idempotency, instances, op_occs
from tacker_cnf.db.op_occs import Work
from tacker_cnf.db.session import (
    DATABASE_DOWN,
    RowsLocked,
    Store,
    first_line,
    transaction,
)
from tacker_cnf.drivers.registry import Registry
from tacker_cnf.halting import Deadline, Halt
from tacker_cnf.lcm import granted, modification, operations, target
from tacker_cnf.lcm.scripted import InstanceChanges
from tacker_cnf.nfvo.base import Nfvo
from tacker_cnf.scripts.process import bounds_of
from tacker_cnf.sol.common import VimConnectionInfo
from tacker_cnf.sol.vnf_instance import VnfInstance
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType as S
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationType

LOG = log.getLogger(__name__)

#: seconds between two looks at how far the operations are
PUBLISHED: Final = 1.0
#: the most seconds after which work is stopped whose lease has ended
LEASE_CHECK: Final = 1.0

#: seconds between two looks for keys that are too old, and for what the
#: scripts of lost conductors left
FORGETS: Final = 600.0


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
        self._key_lifetime = conf.api.idempotency_lifetime
        self._script_bounds = bounds_of(conf)
        self._store = store
        self._catalogue = catalogue
        self._sites = Sites(store, drivers)
        self._nfvo = nfvo
        self._best_effort = conf.nfvo.fallback_best_effort
        self.claims = Claims(store, self._conf.lease)
        self.upkeep = Upkeep(
            self._conf,
            store,
            drivers,
            Sync(store, catalogue, drivers, self._conf.lease),
            self.claims.owner,
        )
        self.fetching = Fetching(
            Uploads(store, conf, catalogue), self.upkeep.duties
        )
        #: operations
        self.line = Line(self._work, self._conf.workers, "operation")
        self._clocks = Clocks()
        self._listener: rpc.Listener | None = None

    def start(self, transport: Any) -> None:
        """Listen to wake-up calls, report, and sweep, until stop."""
        endpoint = rpc.Endpoint(
            self.line.put,
            self.claims.heed,
            self.upkeep.synchronize,
            self.fetching.line.put,
            self._store.tell,
        )
        self._listener = rpc.Listener(transport, self.claims.owner, endpoint)
        self._script_bounds.scratch.sweep()
        self._listener.start()
        self.report()
        clocks = self._clocks
        lease = self._conf.lease
        clocks.start(self.report, lease / 3, RENEWAL_RETRY)
        clocks.start(self.claims.report, lease / 3, RENEWAL_RETRY)
        clocks.start(self.claims.check_leases, min(lease / 10, LEASE_CHECK))
        clocks.start(self.claims.publish, PUBLISHED)
        clocks.start(self.sweep, self._conf.sweep_interval)
        clocks.start(self.forget_keys, FORGETS)
        clocks.start(self._script_bounds.scratch.sweep, FORGETS)
        clocks.start(self.fetching.sweep, self._conf.sweep_interval)
        self.upkeep.start()

    def stop(self) -> bool:
        """Take no more, wait for what runs, leave the rest to others.

        :returns: whether all that ran here has ended; if not, the process
            must end at once, for others go on with it
        """
        self.line.close()
        fetched = self.fetching.stop()
        self.upkeep.stop()
        disconnected = not self._listener or self._listener.stop()
        try:
            self.claims.hand_on()
        except DATABASE_DOWN as error:
            why = first_line(error)
            LOG.warning("What waits for its grant is kept: %s", why)
        self.line.join(self._conf.stop_timeout)
        self._clocks.stop()
        self._clocks.join()
        try:
            conductors.leave(self._store, self.claims.owner)
        except DATABASE_DOWN:
            LOG.debug("Others see it when the lease has expired")
        return not self.claims.give_back() and fetched and disconnected

    def report(self) -> None:
        """Report that this conductor is alive."""
        conductors.report(self._store, self.claims.owner, self._conf.lease)

    def sweep(self) -> None:
        """Look for what a lost message or a lost conductor left."""
        for op_occ_id in self._forgotten():
            self.line.put(op_occ_id)

    @transaction
    def forget_keys(self) -> None:
        """Forget the Idempotency-Keys that nobody will come with again."""
        with self._store.writer() as session:
            idempotency.forget(session, self._key_lifetime)

    @transaction
    def _forgotten(self) -> tuple[str, ...]:
        with self._store.reader() as session:
            return tuple(op_occs.forgotten(session))

    def _work(self, op_occ_id: str) -> None:
        claimed = None
        try:
            claimed = self.claims.take(op_occ_id)
            if claimed:
                self._carry_out(*claimed)
        except errors.LostClaim:
            LOG.warning("Lease lost: operation %s", op_occ_id)
            if claimed:
                # a request of it may have been under way meanwhile
                work, _ = claimed
                self.upkeep.suspect(work.op_occ.vnf_instance_id)
        except RowsLocked:
            LOG.info("Claim left to the next sweep: operation %s", op_occ_id)
        except DATABASE_DOWN as error:
            LOG.warning("%s was left: %s", op_occ_id, first_line(error))
        except Exception:
            LOG.exception("Operation %s was dropped", op_occ_id)
        finally:
            self.claims.let_go(op_occ_id)
            self.upkeep.look()

    def _carry_out(self, work: Work, hold: Hold) -> None:
        journal = self._journal(work, hold)
        problem = recovery.verdict(work, may_resume=self._conf.resume_infra)
        if problem and work.op_occ.operation_state == S.STARTING:
            journal.fail(problem)  # nothing was done
            return
        try:
            run = hold.persist(lambda: self._prepare(work, hold, journal))
        except (*DATABASE_DOWN, errors.LostClaim):
            raise  # the lease runs out, and somebody tries again
        except Exception as error:
            LOG.exception("%s cannot begin", work.op_occ.id)
            journal.fail(problem or errors.problem_of(error))
            return
        if problem:
            runner.give_up(run, work.step, problem, journal.keep)
            return
        LOG.info("%s: %s", work.op_occ.id, work.op_occ.operation)
        runner.carry_out(run, steps.plan(run), journal.keep)

    def _journal(self, work: Work, hold: Hold) -> Journal:
        return Journal(self._store, work, hold)

    def _prepare(self, work: Work, hold: Hold, journal: Journal) -> Run:
        """Gather what the steps need."""
        op_occ = work.op_occ
        request = operations.request_of(op_occ)
        instance, site = self._look(
            op_occ.vnf_instance_id,
            granted.vim_connections(request, work.vim_connections, work.grant),
        )
        package = self._catalogue.tree(instance.vnfd_id)
        vnfd_id = modification.next_vnfd_id(instance, request)
        following = self._catalogue.tree(vnfd_id) if vnfd_id else None
        current = target.of_instance(instance)
        wanted = target.wanted(
            request,
            current,
            (following or package).vnfd,
            package.vnfd if following else None,
        )
        return Run(
            op_occ=op_occ,
            request=request,
            instance=instance,
            package=package,
            next_package=following,
            vim_connections=site.vim_connections,
            reached_by=site.reached_by,
            driver=site.driver,
            settle=lambda named: hold.persist(
                lambda: self._sites.settle(instance.id, named)
            ),
            nfvo=self._nfvo,
            best_effort=self._best_effort,
            deadline=Deadline.within(
                self._timeout_of(op_occ.operation) + steps.grace(request)
            ),
            script_bounds=self._script_bounds,
            current=current,
            target=granted.target(wanted, request, work.grant),
            notes=work.notes,
            note=journal.note,
            recall=journal.recall,
            remember=journal.remember,
            halt=hold.halt,
            rest=lambda seconds: self._rest(hold.halt, seconds),
            enter=hold.enter,
            tell=hold.tell,
            resumes_at=work.step if work.lost_owner else None,
            grant_request=work.grant_request,
            grant=work.grant,
            said=work.script_changes or InstanceChanges(),
            check_kind=self._sites.check_kind,
            show_log=journal.show_log,
            keep_log=journal.keep_log,
        )

    @transaction
    def _look(
        self, instance_id: str, named: Mapping[str, VimConnectionInfo]
    ) -> tuple[VnfInstance, Site]:
        with self._store.reader() as session:
            instance = instances.get(session, instance_id)
            return instance, self._sites.find(session, named)

    def _rest(self, halt: Halt, seconds: float) -> None:
        """Wait before a change that is to come later; others work meanwhile.

        :raises VnfmError: the work was called off, whichever way
        """
        with self.line.aside():
            halt.rest(seconds)

    def _timeout_of(self, op: LcmOperationType) -> float:
        own = self._conf[f"{op.lower()}_timeout"]
        return float(own or self._conf.operation_timeout)
