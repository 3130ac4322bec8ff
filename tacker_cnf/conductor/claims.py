"""The operations that one conductor has claimed, and their leases."""

import contextlib
import os
import socket
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.conductor.operation_progress import (
    OperationProgress,
    Snapshot,
)
from tacker_cnf.db import op_occs
from tacker_cnf.db.op_occs import ClaimedOperation, RenewedOperations
from tacker_cnf.db.session import (
    DATABASE_DOWN,
    UNREACHABLE,
    RowsLocked,
    Store,
    first_line,
    transaction,
)
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.runtime.lease import Lease
from tacker_cnf.sol.vnf_lcm_op_occ import CancelModeType

LOG = log.getLogger(__name__)
T = TypeVar("T")

#: seconds between two attempts to reach an unreachable database
DATABASE_RETRY_DELAY_S: Final = 0.5
#: how often a claim of a locked row is retried
CLAIM_RETRIES: Final = 2
#: seconds between two attempts to claim a locked row
CLAIM_RETRY_S: Final = 0.1
#: a request is sent only if one third of the lease remains
LEASE_MARGIN_DIVISOR: Final = 3


class Claim:
    """The claim of one operation: its lease, cancellation and progress.

    :param lease: seconds
    :param op_occ_id: of the operation, for the log
    """

    def __init__(
        self,
        lease: float,
        clock: Clock = SYSTEM_CLOCK,
        op_occ_id: str | None = None,
    ) -> None:
        self.progress = OperationProgress(op_occ_id, clock)
        self._seconds = lease
        self._clock = clock
        self._lease = Lease.new(lease / LEASE_MARGIN_DIVISOR, clock)
        self.cancel_token = CancelToken(self._lease, clock)
        self._lost = threading.Event()
        self._lock = threading.Lock()
        self.is_claimed = False

    def renew(self, since: float) -> None:
        """Record that the lease was renewed.

        :param since: boottime before the request to the database
        """
        with self._lock:
            if not self._lost.is_set():
                self._lease.renew(since + self._seconds)
                self.is_claimed = True

    def check_lease(self) -> None:
        """Mark the operation as lost if its lease has expired by the clock of
        this host.
        """
        if self.is_claimed and not self._lease.remaining:
            self.mark_lost()

    def mark_lost(self) -> None:
        """Stop all work: another conductor may claim the operation."""
        with self._lock:
            self._lost.set()
            self._lease.renew(0.0)
        self.cancel_token.cancel(errors.LeaseLost(), forceful=True)

    def cancel(self, mode: CancelModeType) -> None:
        """Cancel the operation on behalf of a client."""
        self.cancel_token.cancel(
            errors.Cancelled(f"The operation was cancelled ({mode})."),
            forceful=mode == CancelModeType.FORCEFUL,
        )

    def persist(self, func: Callable[[], T]) -> T:
        """Run a transaction; retry until the lease has expired, or, if the
        database responds with errors, for the length of a lease.

        :raises LeaseLost: the lease has expired
        :raises Exception: one of DATABASE_DOWN, after the length of a lease
        """
        failing_since: float | None = None
        while True:
            try:
                return func()
            except DATABASE_DOWN as error:
                self.check_lease()
                if not isinstance(error, UNREACHABLE):
                    now = self._clock.boottime()
                    failing_since = failing_since or now
                    if now - failing_since > self._seconds:
                        raise
                LOG.debug("Transaction retried: error=%s", first_line(error))
            if self._clock.wait(self._lost, DATABASE_RETRY_DELAY_S):
                raise errors.LeaseLost


class Claims:
    """The claims of this process.

    Only the lease of an operation that a thread works on is renewed: if a
    thread dies, the lease expires and another conductor claims the operation.
    """

    def __init__(
        self, store: Store, lease: float, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4()}"
        self._store = store
        self._lease = lease
        self._clock = clock
        self._claims: dict[str, Claim] = {}
        self._lock = threading.Lock()

    def acquire(self, op_occ_id: str) -> tuple[ClaimedOperation, Claim] | None:
        """Claim an operation; return None if a live conductor has it.

        :raises RowsLocked: another transaction locks its row
        """
        claim = Claim(self._lease, self._clock, op_occ_id)
        with self._lock:
            # before the claim, so that check_cancel() misses no cancel
            self._claims[op_occ_id] = claim
        since, claimed_op = self._claim_with_retries(op_occ_id)
        if claimed_op is None:
            return None
        claim.renew(since)
        claim.progress.resume(claimed_op.op_occ.timeline)
        return claimed_op, claim

    def _claim_with_retries(
        self, op_occ_id: str
    ) -> tuple[float, ClaimedOperation | None]:
        """Claim an operation; retry if its row is locked.

        :returns: boottime before the request, and the operation if claimed
        :raises RowsLocked: the row is still locked
        """
        for _ in range(CLAIM_RETRIES):
            with contextlib.suppress(RowsLocked):
                return self._clock.boottime(), self._claim(op_occ_id)
            self._clock.sleep(CLAIM_RETRY_S)
        return self._clock.boottime(), self._claim(op_occ_id)

    @transaction
    def _claim(self, op_occ_id: str) -> ClaimedOperation | None:
        with self._store.writer() as session:
            return op_occs.claim(session, op_occ_id, self.owner, self._lease)

    def release(self, op_occ_id: str) -> None:
        """Remove the claim of an operation."""
        with self._lock:
            self._claims.pop(op_occ_id, None)

    def _claimed(self) -> dict[str, Claim]:
        with self._lock:
            claimed = self._claims.items()
            return {key: claim for key, claim in claimed if claim.is_claimed}

    def report(self) -> None:
        """Renew the leases; stop lost and cancelled operations.

        :raises Exception: the database is unreachable
        :raises RowsLocked: other transactions lock some rows; retry these
            soon
        """
        claimed = self._claimed()
        if not claimed:
            return
        since, renewed = self._renew(tuple(claimed))
        for op_occ_id, claim in claimed.items():
            if op_occ_id in renewed.cancel_modes:
                claim.renew(since)
                if mode := renewed.cancel_modes[op_occ_id]:
                    claim.cancel(mode)
            elif op_occ_id not in renewed.locked:
                claim.mark_lost()
        if renewed.locked:
            raise RowsLocked(", ".join(sorted(renewed.locked)))

    @transaction
    def _renew(
        self, claimed: tuple[str, ...]
    ) -> tuple[float, RenewedOperations]:
        since = self._clock.boottime()
        with self._store.writer() as session:
            return since, op_occs.heartbeat(
                session, self.owner, claimed, self._lease
            )

    def check_leases(self) -> None:
        """Stop operations with an expired lease; needs no database."""
        for claim in self._claimed().values():
            claim.check_lease()

    def check_cancel(self, op_occ_id: str) -> None:
        """Read whether an operation was cancelled, and stop it.

        If the database is unreachable, the next renewal reads it.
        """
        with self._lock:
            claim = self._claims.get(op_occ_id)
        try:
            mode = self._read_cancel_mode(op_occ_id) if claim else None
        except DATABASE_DOWN:
            return  # the store has logged it
        if claim and mode:
            claim.cancel(mode)

    @transaction
    def _read_cancel_mode(self, op_occ_id: str) -> CancelModeType | None:
        with self._store.reader() as session:
            return op_occs.get_cancel_mode(session, op_occ_id)

    def publish(self) -> None:
        """Write the new progress of the operations to the database."""
        new = {
            op_occ_id: claim.progress
            for op_occ_id, claim in self._claimed().items()
            if not claim.progress.is_published
        }
        for op_occ_id, snapshot in (self._publish(new) if new else {}).items():
            new[op_occ_id].mark_published(snapshot)

    @transaction
    def _publish(
        self, new: Mapping[str, OperationProgress]
    ) -> Mapping[str, Snapshot]:
        with self._store.writer() as session:
            # read when the row is locked, so that no step ends meanwhile
            return op_occs.publish_progress(
                session, self.owner, new, lambda key: new[key].unpublished()
            )

    def requeue(self) -> None:
        """Release operations that wait for their grant.

        :raises DBError: the database is unreachable
        """
        for op_occ_id, claim in self._claimed().items():
            if self._requeue(op_occ_id):
                claim.mark_lost()

    @transaction
    def _requeue(self, op_occ_id: str) -> bool:
        with self._store.writer() as session:
            return op_occs.requeue(session, self.owner, op_occ_id)

    def release_all(self) -> bool:
        """Release all operations at once; return whether there were any."""
        claimed = self._claimed()
        if not claimed:
            return False
        LOG.warning("Operations released: count=%d", len(claimed))
        for claim in claimed.values():
            claim.mark_lost()
        self._expire_leases()
        return True

    @transaction
    def _expire_leases(self) -> None:
        with self._store.writer() as session:
            op_occs.expire_leases(session, self.owner)
