"""What every part of the control plane works with."""

from dataclasses import dataclass

from tacker_cnf.sandbox.api import Api
from tacker_cnf.sandbox.deletion import Deletion
from tacker_cnf.sandbox.event_recorder import EventRecorder
from tacker_cnf.sandbox.kinds import Kind
from tacker_cnf.sandbox.store import Store
from tacker_cnf.sandbox.timers import Timers


@dataclass(frozen=True, slots=True)
class Plane:
    """The control plane's tools."""

    api: Api
    deletion: Deletion
    events: EventRecorder
    timers: Timers

    @property
    def store(self) -> Store:
        """The objects."""
        return self.api.store

    def kind(self, key: str) -> Kind:
        """Find a stored kind."""
        return self.api.kinds.stored(key)
