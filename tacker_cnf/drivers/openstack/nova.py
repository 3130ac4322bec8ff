"""Requests to Nova: read, start, stop and delete servers."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from tacker_cnf.drivers.openstack import api_errors
from tacker_cnf.drivers.openstack.api import OpenstackApi
from tacker_cnf.drivers.path_segment import quote
from tacker_cnf.runtime.retry_policy import RetryPolicy

T = TypeVar("T")

ERROR: Final = "ERROR"


class AttachedVolume(msgspec.Struct, frozen=True, kw_only=True):
    """A volume attached to a server."""

    id: str
    #: Nova deletes it with the server
    delete_on_termination: bool = False


class Fault(msgspec.Struct, frozen=True):
    """Why a server is in status ERROR."""

    message: str = ""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a server when it was read."""

    #: ACTIVE, ERROR ...
    status: str
    #: task state such as "deleting"; None: no task
    task: str | None = msgspec.field(name="OS-EXT-STS:task_state")
    volumes: tuple[AttachedVolume, ...] = msgspec.field(
        name="os-extended-volumes:volumes_attached", default=()
    )
    fault: Fault = Fault()
    metadata: Mapping[str, str] = {}

    @property
    def has_failed(self) -> bool:
        """Whether the server is in ERROR without a running task."""
        return self.status == ERROR and self.task is None


class _ServerResponse(msgspec.Struct, frozen=True):
    server: Server


class _ConsoleResponse(msgspec.Struct, frozen=True):
    output: str


class Nova:
    """Nova client of one task."""

    def __init__(self, api: OpenstackApi, retry_policy: RetryPolicy) -> None:
        self._api = api
        self._retry_policy = retry_policy

    def is_available(self) -> bool:
        """Return whether the service catalogue has Nova."""
        return self._call(self._has_endpoint)

    def _has_endpoint(self) -> bool:
        try:
            return self._api.servers.get_endpoint() is not None
        except self._api.library.NO_SERVICE:
            return False

    def find(self, server: str) -> Server | None:
        """Find a server by its id; None: not found."""
        body = self._request("GET", f"/servers/{quote(server)}")
        if body is None:
            return None
        return api_errors.decode_response(
            body, _ServerResponse, "compute", "Nova"
        ).server

    def delete(self, server: str) -> None:
        """Start to delete a server, if it exists. The deletion is forced, so
        that a soft-delete interval in Nova does not apply.
        """
        self.act(server, "forceDelete")

    def act(self, server: str, action: str) -> None:
        """Begin an action on a server, if it exists.

        :raises Conflict: the state of the server does not allow it
        """
        self._retry_policy.cancel_token.check()
        path = f"/servers/{quote(server)}/action"
        self._request("POST", path, {action: None})

    def console(self, server: str) -> str:
        """Return what a server has written to its console; empty: nothing
        yet, or it does not exist.
        """
        try:
            body = self._request(
                "POST",
                f"/servers/{quote(server)}/action",
                {"os-getConsoleOutput": {}},
            )
        except api_errors.Conflict:
            return ""  # it is not ready
        if body is None:
            return ""
        return api_errors.decode_response(
            body, _ConsoleResponse, "compute", "Nova"
        ).output

    def _request(
        self, method: str, path: str, body: Any = None
    ) -> bytes | None:
        """Return the body of a response; None: the server does not exist."""
        return self._call(lambda: self._send(method, path, body))

    def _send(self, method: str, path: str, body: Any) -> bytes | None:
        response = self._api.servers.request(
            path, method, json=body, raise_exc=False
        )
        if response.status_code == 404:
            return None
        if response.status_code >= 400:
            raise api_errors.service_error(
                "Nova", response.status_code, response.content
            )
        return bytes(response.content)

    def _call(self, operation: Callable[[], T]) -> T:
        return self._retry_policy.call(lambda: self._api.call(operation))
