"""Tells the conductors that this process has something to be told."""

import threading

from tacker_cnf import rpc
from tacker_cnf.db.session import Store


class NotificationWaker:
    """Sends one message for all that happened since the last; no request
    waits for the broker. One that is lost is no failure: dispatchers poll.
    """

    def __init__(self, store: Store, conductors: rpc.Client) -> None:
        self._conductors = conductors
        self._pending = threading.Event()
        threading.Thread(
            target=self._run, daemon=True, name="notification-waker"
        ).start()
        store.listeners.append(self._pending.set)

    def _run(self) -> None:
        while self._pending.wait():
            self._pending.clear()
            self._conductors.tell()
