"""What is asked of Nova: a server's volumes, and that it goes."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from tacker_cnf.drivers.endurance import Endurance
from tacker_cnf.drivers.openstack import refusals
from tacker_cnf.drivers.openstack.link import Link

T = TypeVar("T")

ERROR: Final = "ERROR"


class Attached(msgspec.Struct, frozen=True, kw_only=True):
    """A volume at a server."""

    id: str
    #: Nova deletes it with the server
    delete_on_termination: bool = False


class Fault(msgspec.Struct, frozen=True):
    """Why a server is in the state ERROR."""

    message: str = ""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A server at one moment."""

    #: ACTIVE, ERROR ...
    status: str
    #: what Nova does with it now; None: nothing
    task: str | None = msgspec.field(name="OS-EXT-STS:task_state")
    volumes: tuple[Attached, ...] = msgspec.field(
        name="os-extended-volumes:volumes_attached", default=()
    )
    fault: Fault = Fault()

    @property
    def has_failed(self) -> bool:
        """Whether Nova has given up what it was to do."""
        return self.status == ERROR and self.task is None


class _Answer(msgspec.Struct, frozen=True):
    server: Server


class Nova:
    """A Nova, as one task asks things of it."""

    def __init__(self, link: Link, endurance: Endurance) -> None:
        self._link = link
        self._endurance = endurance

    def is_there(self) -> bool:
        """Tell whether the OpenStack has a Nova."""
        return self._asked(self._look)

    def _look(self) -> bool:
        try:
            return self._link.servers.get_endpoint() is not None
        except self._link.library.NO_SERVICE:
            return False

    def find(self, server: str) -> Server | None:
        """Find a server by its id; None: it has gone."""
        body = self._request("GET", f"/servers/{server}")
        if body is None:
            return None
        return refusals.read(body, _Answer, "compute", "Nova").server

    def delete(self, server: str) -> None:
        """Begin to delete a server, for good even where Nova would keep it
        for a while; if it has gone, that is well.
        """
        self._endurance.halt.check()
        self._request(
            "POST", f"/servers/{server}/action", {"forceDelete": None}
        )

    def _request(
        self, method: str, path: str, body: Any = None
    ) -> bytes | None:
        """Give the body of an answer; None: there is no such server."""
        return self._asked(lambda: self._answer(method, path, body))

    def _answer(self, method: str, path: str, body: Any) -> bytes | None:
        answer = self._link.servers.request(
            path, method, json=body, raise_exc=False
        )
        if answer.status_code == 404:
            return None
        if answer.status_code >= 400:
            raise refusals.of_service("Nova", answer.status_code, answer.text)
        return bytes(answer.content)

    def _asked(self, question: Callable[[], T]) -> T:
        return self._endurance.ask(lambda: self._link.told(question))
