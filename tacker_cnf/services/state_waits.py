"""Lets requests wait for the state of lifecycle operations, without a thread
or a connection to the database for each of them.
"""

import contextlib
import threading
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, InvalidStateError
from typing import Final, NamedTuple

from tacker_cnf.context import RequestContext
from tacker_cnf.db import op_occs
from tacker_cnf.db.session import DATABASE_ERRORS, Store
from tacker_cnf.services.slots import Slots
from tacker_cnf.sol.vnf_lcm_op_occ import LcmOperationStateType

#: seconds between two reads of the states, unless this process has announced
#: an event
READ_INTERVAL_S: Final = 0.2


class _Condition(NamedTuple):
    """What a request waits for: that an operation has another state."""

    op_occ_id: str
    states: AbstractSet[LcmOperationStateType]


class StateWaits:
    """The waits of a process; one thread reads the states for all of them,
    with one statement. It exists only while there is a wait.

    :param slots: limits the number of waits
    """

    def __init__(self, store: Store, slots: Slots) -> None:
        self._store = store
        self._slots = slots
        self._waits: dict[Future[None], _Condition] = {}
        self._has_thread = False
        self._lock = threading.Lock()
        self._announced = threading.Event()
        store.listeners.append(self._announced.set)

    def begin(
        self,
        context: RequestContext,
        op_occ_id: str,
        states: AbstractSet[LcmOperationStateType],
    ) -> Future[None]:
        """Return a future that is done when an operation has none of these
        states, or is deleted. Cancel it to end the wait.

        :raises Unavailable: too many requests wait
        """
        slot = contextlib.ExitStack()
        slot.enter_context(self._slots.take(context.owner.project_id))
        wait = Future[None]()
        with self._lock:
            self._waits[wait] = _Condition(op_occ_id, states)
            starts = not self._has_thread
            self._has_thread = True
        wait.add_done_callback(self._remove)
        wait.add_done_callback(lambda _: slot.close())
        if starts:
            threading.Thread(
                target=self._run, daemon=True, name="state-waits"
            ).start()
        return wait

    def _remove(self, wait: Future[None]) -> None:
        with self._lock:
            del self._waits[wait]

    def _run(self) -> None:
        while waits := self._current():
            with contextlib.suppress(*DATABASE_ERRORS):  # it reads again
                self._end(waits)
            self._announced.wait(READ_INTERVAL_S)
            self._announced.clear()

    def _current(self) -> dict[Future[None], _Condition]:
        with self._lock:
            self._has_thread = bool(self._waits)
            return dict(self._waits)

    def _end(self, waits: dict[Future[None], _Condition]) -> None:
        """Read the states, and end the waits whose condition is true."""
        ids = {condition.op_occ_id for condition in waits.values()}
        states = self._store.read(None, op_occs.list_states, ids)
        for wait, condition in waits.items():
            if states.get(condition.op_occ_id) not in condition.states:
                with contextlib.suppress(InvalidStateError):  # was cancelled
                    wait.set_result(None)
