"""A Nova with the servers of a test."""

from typing import Any

from tacker_cnf.drivers.openstack.nova import AttachedVolume, Server


class Servers:
    """A Nova that returns the next state of a server at each read."""

    def __init__(self, *, existing: bool = True) -> None:
        self._existing = existing
        self._states: dict[str, list[Server]] = {}
        self.done: list[Any] = []
        #: raised by each deletion
        self.delete_error: Exception | None = None

    def add_server(
        self, id_: str, *volumes: str, temporary: bool = False, **more: Any
    ) -> None:
        """Add a server, or the state of one at its next read."""
        attached = tuple(
            AttachedVolume(id=volume, delete_on_termination=temporary)
            for volume in volumes
        )
        attributes = {"status": "ACTIVE", "task": None, **more}
        state = Server(volumes=attached, **attributes)
        self._states.setdefault(id_, []).append(state)

    def is_available(self) -> bool:
        return self._existing

    def find(self, server: str) -> Server | None:
        states = self._states.get(server)
        return states.pop(0) if states else None

    def delete(self, server: str) -> None:
        if self.delete_error:
            raise self.delete_error
        self.done.append(f"delete {server}")
