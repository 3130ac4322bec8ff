"""Wake the dispatchers when this process records an event."""

import threading
import time
from typing import Final

from tacker_cnf import rpc
from tacker_cnf.db.session import Store

#: seconds between two messages, each of which every conductor processes
INTERVAL_S: Final = 0.2


class NotificationWaker:
    """Sends the conductors one message for all events since the last one, the
    first at once.

    No request waits for the broker. A message may be lost: dispatchers poll.
    """

    def __init__(self, store: Store, conductors: rpc.ConductorClient) -> None:
        self._conductors = conductors
        self._pending = threading.Event()
        threading.Thread(
            target=self._run, daemon=True, name="notification-waker"
        ).start()
        store.listeners.append(self._pending.set)

    def _run(self) -> None:
        while self._pending.wait():
            self._pending.clear()
            self._conductors.notify()
            time.sleep(INTERVAL_S)
