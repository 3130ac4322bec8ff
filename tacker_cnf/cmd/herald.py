"""Tells the conductors that this process has something to be told."""

import threading

from tacker_cnf import rpc
from tacker_cnf.db.session import Store


class Herald:
    """Sends one message for all that happened since the last; no request
    waits for the broker. One that is lost is no failure: dispatchers poll.
    """

    def __init__(self, store: Store, conductors: rpc.Client) -> None:
        self._conductors = conductors
        self._new = threading.Event()
        threading.Thread(target=self._run, daemon=True, name="herald").start()
        store.listeners.append(self._new.set)

    def _run(self) -> None:
        while self._new.wait():
            self._new.clear()
            self._conductors.tell()
