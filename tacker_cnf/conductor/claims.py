"""What one conductor has claimed, and that it goes on saying so."""

import os
import socket
import threading
import uuid

from oslo_log import log

from tacker_cnf.db import op_occs
from tacker_cnf.db.op_occs import Work
from tacker_cnf.db.session import Store, transaction

LOG = log.getLogger(__name__)


class Claims:
    """The operations of this process.

    Only what a thread here really works on is reported: when a thread dies
    with its operation unfinished, the lease runs out and others see it.
    """

    def __init__(self, store: Store, lease: float) -> None:
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4()}"
        self._store = store
        self._lease = lease
        self._held: set[str] = set()
        self._lock = threading.Lock()

    @transaction
    def take(self, op_occ_id: str) -> Work | None:
        """Claim an operation; None when somebody living has it."""
        with self._store.writer() as session:
            work = op_occs.claim(session, op_occ_id, self.owner, self._lease)
        if work:
            with self._lock:
                self._held.add(op_occ_id)
        return work

    def let_go(self, op_occ_id: str) -> None:
        """Report an operation no longer."""
        with self._lock:
            self._held.discard(op_occ_id)

    def report(self) -> None:
        """Renew the leases, once."""
        with self._lock:
            held = tuple(self._held)
        if held:
            self._renew(held)

    @transaction
    def _renew(self, held: tuple[str, ...]) -> None:
        with self._store.writer() as session:
            op_occs.heartbeat(session, self.owner, held, self._lease)

    @transaction
    def give_back(self) -> bool:
        """Let others take over at once what is left here, if anything is."""
        with self._lock:
            held = tuple(self._held)
            self._held.clear()
        if held:
            LOG.warning("Leaving %d operations to others", len(held))
            with self._store.writer() as session:
                op_occs.give_back(session, self.owner)
        return bool(held)
