"""What is asked of Nova: a server's volumes, and that it goes."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from tacker_cnf.drivers.openstack import api_errors
from tacker_cnf.drivers.openstack.api import OpenstackApi
from tacker_cnf.drivers.retry_policy import RetryPolicy

T = TypeVar("T")

ERROR: Final = "ERROR"


class AttachedVolume(msgspec.Struct, frozen=True, kw_only=True):
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
    volumes: tuple[AttachedVolume, ...] = msgspec.field(
        name="os-extended-volumes:volumes_attached", default=()
    )
    fault: Fault = Fault()

    @property
    def has_failed(self) -> bool:
        """Whether Nova has given up what it was to do."""
        return self.status == ERROR and self.task is None


class _ServerResponse(msgspec.Struct, frozen=True):
    server: Server


class Nova:
    """A Nova, as one task asks things of it."""

    def __init__(self, api: OpenstackApi, retry_policy: RetryPolicy) -> None:
        self._api = api
        self._retry_policy = retry_policy

    def is_available(self) -> bool:
        """Tell whether the OpenStack has a Nova."""
        return self._call(self._has_endpoint)

    def _has_endpoint(self) -> bool:
        try:
            return self._api.servers.get_endpoint() is not None
        except self._api.library.NO_SERVICE:
            return False

    def find(self, server: str) -> Server | None:
        """Find a server by its id; None: it has gone."""
        body = self._request("GET", f"/servers/{server}")
        if body is None:
            return None
        return api_errors.decode_response(
            body, _ServerResponse, "compute", "Nova"
        ).server

    def delete(self, server: str) -> None:
        """Begin to delete a server, for good even where Nova would keep it
        for a while; if it has gone, that is well.
        """
        self._retry_policy.cancel_token.check()
        self._request(
            "POST", f"/servers/{server}/action", {"forceDelete": None}
        )

    def _request(
        self, method: str, path: str, body: Any = None
    ) -> bytes | None:
        """Give the body of an answer; None: there is no such server."""
        return self._call(lambda: self._send(method, path, body))

    def _send(self, method: str, path: str, body: Any) -> bytes | None:
        response = self._api.servers.request(
            path, method, json=body, raise_exc=False
        )
        if response.status_code == 404:
            return None
        if response.status_code >= 400:
            raise api_errors.service_error(
                "Nova", response.status_code, response.text
            )
        return bytes(response.content)

    def _call(self, operation: Callable[[], T]) -> T:
        return self._retry_policy.call(lambda: self._api.call(operation))
