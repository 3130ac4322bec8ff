"""A client of the API, and of its stream of events."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, Final, Self

OP_OCCS: Final = "/vnflcm/v2/vnf_lcm_op_occs"
ACTIVE: Final = frozenset({"STARTING", "PROCESSING", "ROLLING_BACK"})
STATE: Final = "VnfLcmOperationOccurrenceNotification"
PROGRESS: Final = "OperationProgress"
OPERATION_TIMEOUT_S: Final = 600.0
#: seconds after which a request that waits for an operation is repeated
WAIT_S: Final = 30
#: seconds without a byte after which a request fails; a stream has a comment
#: every 15 seconds
SILENCE_TIMEOUT_S: Final = 60.0
#: seconds between two attempts to read the stream of events
RETRY_DELAY_S: Final = 0.2


class DemoFailed(Exception):
    """A step of the demo failed.

    :param status: the HTTP status, where the API refused a request
    """

    def __init__(self, detail: str, status: int = 0) -> None:
        super().__init__(detail)
        self.status = status


class ApiClient:
    """A client of the API."""

    def __init__(self, api: str) -> None:
        self.api = api

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        kind: str = "application/json",
    ) -> tuple[Any, Any]:
        """Send a request; return its JSON and its headers.

        :raises DemoFailed: it is refused, or has no response
        """
        headers = {}
        if body is not None:
            headers["Content-Type"] = kind
            body = (
                body if isinstance(body, bytes) else json.dumps(body).encode()
            )
        with self._open(method, path, body, headers) as response:
            text = response.read()
            return (json.loads(text) if text else None), response.headers

    def _open(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        url = path if path.startswith("http") else self.api + path
        request = urllib.request.Request(
            url, body, {"Version": "2.0.0"} | (headers or {}), method=method
        )
        try:
            return urllib.request.urlopen(request, timeout=SILENCE_TIMEOUT_S)
        except urllib.error.HTTPError as error:
            problem = json.loads(error.read())
            raise DemoFailed(
                f"{method} {path}: {problem['status']} {problem['detail']}",
                problem["status"],
            ) from None
        except OSError as error:
            raise DemoFailed(f"{method} {path}: {error}") from None

    def wait_operation(self, op_occ_url: str) -> Any:
        """Wait until an operation has ended.

        :raises DemoFailed: it has not, in time
        """
        until = time.monotonic() + OPERATION_TIMEOUT_S
        while time.monotonic() < until:
            op_occ, _ = self.call("GET", f"{op_occ_url}?wait={WAIT_S}")
            if op_occ["operationState"] not in ACTIVE:
                return op_occ
        raise _not_ended(op_occ_url)

    def follow(self, instance_id: str) -> "OperationEvents":
        """Return the events of an instance's operations from now on."""
        return OperationEvents(self, instance_id)

    def stream(self, path: str, last_id: str | None) -> Any:
        """Open a stream of events, after the one with an id."""
        headers = {"Last-Event-ID": last_id} if last_id else {}
        return self._open("GET", path, headers=headers)


class OperationEvents:
    """The events of an instance's operations."""

    def __init__(self, rest: ApiClient, instance_id: str) -> None:
        self._rest = rest
        self._path = f"/events?vnf_instance_id={instance_id}&type={STATE}&type={PROGRESS}"
        self._last_id: str | None = None
        self._stream = rest.stream(self._path, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def until_ended(self, op_occ_url: str) -> Iterator[Any]:
        """Yield the timelines of an operation until it has ended.

        :raises DemoFailed: it has not ended in time
        """
        op_occ_id = op_occ_url.rsplit("/", 1)[-1]
        until = time.monotonic() + OPERATION_TIMEOUT_S
        while time.monotonic() < until:
            for kind, data in self._messages():
                if data["vnfLcmOpOccId"] != op_occ_id:
                    continue
                if kind == PROGRESS:
                    yield data.get("timeline", ())
                elif data["operationState"] not in ACTIVE:
                    return
            # the stream has ended; a change may be in no event of the next
            time.sleep(RETRY_DELAY_S)
            self._stream = self._rest.stream(self._path, self._last_id)
            op_occ, _ = self._rest.call("GET", op_occ_url)
            if op_occ["operationState"] not in ACTIVE:
                return
        raise _not_ended(op_occ_url)

    def _messages(self) -> Iterator[tuple[str, Any]]:
        """Yield the messages of a stream until it ends."""
        fields: dict[str, str] = {}
        try:
            for raw in self._stream:
                name, _, value = raw.decode().rstrip("\n").partition(": ")
                if name:
                    fields[name] = value
                    continue
                self._last_id = fields.get("id", self._last_id)
                if "data" in fields:
                    yield fields["event"], json.loads(fields["data"])
                fields = {}
        except (OSError, http.client.HTTPException):
            return  # the caller connects again


def _not_ended(op_occ_url: str) -> DemoFailed:
    return DemoFailed(f"{op_occ_url} has not ended in {OPERATION_TIMEOUT_S} s")
