"""Servers as Nova knows them."""

from typing import Any

from tacker_cnf.drivers.openstack.nova import Attached, Server


class Servers:
    """A Nova of which each look shows the next state of a server."""

    def __init__(self, *, there: bool = True) -> None:
        self._there = there
        self._states: dict[str, list[Server]] = {}
        self.done: list[Any] = []
        #: why no server is deleted
        self.keeps: Exception | None = None

    def has(
        self, id_: str, *volumes: str, temporary: bool = False, **more: Any
    ) -> None:
        """Let there be a server, or let a later look show it so."""
        attached = tuple(
            Attached(id=volume, delete_on_termination=temporary)
            for volume in volumes
        )
        told = {"status": "ACTIVE", "task": None, **more}
        state = Server(volumes=attached, **told)
        self._states.setdefault(id_, []).append(state)

    def is_there(self) -> bool:
        return self._there

    def find(self, server: str) -> Server | None:
        states = self._states.get(server)
        return states.pop(0) if states else None

    def delete(self, server: str) -> None:
        if self.keeps:
            raise self.keeps
        self.done.append(f"delete {server}")
