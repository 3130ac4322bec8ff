"""The dependencies of the controllers."""

from dataclasses import dataclass

from kubernetes_sandbox.api import Api
from kubernetes_sandbox.deletion import Deletion
from kubernetes_sandbox.event_recorder import EventRecorder
from kubernetes_sandbox.kinds import Kind
from kubernetes_sandbox.store import Store
from kubernetes_sandbox.timers import Timers


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """What all controllers use."""

    api: Api
    deletion: Deletion
    events: EventRecorder
    timers: Timers

    @property
    def store(self) -> Store:
        """The object store."""
        return self.api.store

    def kind(self, key: str) -> Kind:
        """Return a kind by its storage key."""
        return self.api.kinds.stored(key)
