"""Requests to the REST API, and what their responses mean."""

import contextlib
import http.client
import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib import parse

import requests
import urllib3
from keystoneauth1 import exceptions
from keystoneauth1.adapter import Adapter

from tacker_cnf.cli import failures
from tacker_cnf.cli.api_types import Problem, convert

INSTANCES: Final = "/vnflcm/v2/vnf_instances"
OP_OCCS: Final = "/vnflcm/v2/vnf_lcm_op_occs"
PACKAGES: Final = "/vnfpkgm/v1/vnf_packages"
VIMS: Final = "/v1.0/vims"
EVENTS: Final = "/events"
LCM_VERSION: Final = "2.0.0"

CONNECT_TIMEOUT_S: Final = 10.0
#: longest silence of a server that works on a request
READ_TIMEOUT_S: Final = 300.0
#: repetitions of a request whose connection broke
RETRIES: Final = 2
MAX_RESPONSE_BYTES: Final = 64 * 1024 * 1024
_CHUNK_BYTES: Final = 65536
#: control characters, which a terminal would obey, but for tab and newline
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

Query = Mapping[str, str | Sequence[str]]


class RestClient:
    """Sends requests to one endpoint."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def get(self, path: str, query: Query | None = None) -> Any:
        """Read a resource."""
        return _parse(self._request("GET", path, params=query)[1])

    def list_all(
        self, path: str, query: Query | None = None
    ) -> Iterator[dict[str, Any]]:
        """Read a list, page by page (SOL013 5.4.2)."""
        url, params = path, query
        while url:
            response, content = self._request("GET", url, params=params)
            yield from convert(_parse(content), list[dict[str, Any]])
            following = response.links.get("next", {}).get("url", "")
            query_string = parse.urlsplit(following).query
            url = f"{path}?{query_string}" if query_string else ""
            params = None

    def post(
        self, path: str, body: Any = None, *, repeatable: bool = True
    ) -> tuple[requests.Response, Any]:
        """Create a resource or start a task.

        :param repeatable: whether the resource accepts an Idempotency-Key, by
            which the request may be sent again when its connection broke
        """
        headers, retries = {}, 0
        if repeatable:
            headers, retries = {"Idempotency-Key": str(uuid.uuid4())}, RETRIES
        response, content = self._request(
            "POST", path, json=body, headers=headers, connect_retries=retries
        )
        return response, _parse(content) if content else None

    def preview(self, path: str, body: Any) -> str:
        """Request the plan of a task, as text."""
        _, content = self._request(
            "POST",
            path,
            json=body,
            params={"dry_run": "true"},
            headers={"Accept": "text/plain"},
        )
        return printable(content.decode(errors="replace"))

    def patch(self, path: str, body: Any) -> None:
        """Modify a resource by a merge patch."""
        self._request(
            "PATCH",
            path,
            data=json.dumps(body),
            headers={"Content-Type": "application/merge-patch+json"},
        )

    def put(self, path: str, content: Any, media_type: str) -> None:
        """Upload a content."""
        headers = {"Content-Type": media_type}
        self._request("PUT", path, data=content, headers=headers)

    def delete(self, path: str) -> None:
        """Delete a resource."""
        self._request("DELETE", path)

    @contextlib.contextmanager
    def stream(
        self, path: str, query: Query, headers: Mapping[str, str], silence: int
    ) -> Iterator[Iterator[bytes]]:
        """Yield the content of a response as it arrives.

        :param silence: seconds after which the connection counts as lost
        """
        response = self._send(
            "GET",
            path,
            params=query,
            headers={"Accept": "text/event-stream", **headers},
            timeout=(CONNECT_TIMEOUT_S, silence),
        )
        with contextlib.closing(response), _connection_errors():
            if response.status_code != 200:
                raise _rejection(response, _read(response))
            yield iter(lambda: response.raw.read1(_CHUNK_BYTES), b"")

    def _request(
        self, method: str, path: str, **options: Any
    ) -> tuple[requests.Response, bytes]:
        options.setdefault("timeout", (CONNECT_TIMEOUT_S, READ_TIMEOUT_S))
        if method == "GET":
            options.setdefault("connect_retries", RETRIES)
        response = self._send(method, path, **options)
        with contextlib.closing(response), _connection_errors():
            content = _read(response)
        if not 200 <= response.status_code < 300:
            raise _rejection(response, content)
        return response, content

    def _send(
        self, method: str, path: str, **options: Any
    ) -> requests.Response:
        headers = {"Accept": "application/json", **options.pop("headers", {})}
        if path.startswith("/vnflcm/"):
            headers["Version"] = LCM_VERSION
        with _connection_errors():
            # a redirection could send the token to another server
            response: requests.Response = self._adapter.request(
                path,
                method,
                headers=headers,
                raise_exc=False,
                redirect=False,
                stream=True,
                **options,
            )
        return response


def printable(text: str) -> str:
    """Replace control characters, which could deceive at a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


@contextlib.contextmanager
def _connection_errors() -> Iterator[None]:
    try:
        yield
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise failures.ConnectionLost(
            f"The connection to the server broke: {_root_cause(error)}."
        ) from error
    except exceptions.ConnectFailure as error:
        attempt = str(error).split(": ", 1)[0]
        raise failures.ConnectionLost(
            f"{attempt}: {_root_cause(error)}."
        ) from error
    except exceptions.ClientException as error:
        raise failures.CommandFailed(str(error)) from error


def _root_cause(error: BaseException) -> BaseException:
    """Return the first error of the connection; the others only repeat it."""
    found, cause = error, error.__cause__ or error.__context__
    while cause:
        if isinstance(cause, OSError | http.client.HTTPException):
            found = cause
        cause = cause.__cause__ or cause.__context__
    return found


def _read(response: requests.Response) -> bytes:
    """Read the content of a response, up to a limit."""
    content = bytearray()
    for chunk in response.iter_content(_CHUNK_BYTES):
        content += chunk
        if len(content) > MAX_RESPONSE_BYTES:
            raise failures.InvalidResponse(
                f"The response of the server has more than "
                f"{MAX_RESPONSE_BYTES} bytes."
            )
    return bytes(content)


def _parse(content: bytes) -> Any:
    try:
        return printable_json(json.loads(content))
    except (ValueError, RecursionError):
        raise failures.InvalidResponse(
            "The response of the server is not JSON; is the endpoint that of "
            "a VNF manager?"
        ) from None


def printable_json(value: Any) -> Any:
    """Replace the control characters in all texts of a JSON value."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [printable_json(entry) for entry in value]
    if isinstance(value, dict):
        return {
            printable(key): printable_json(entry)
            for key, entry in value.items()
        }
    return value


def _rejection(
    response: requests.Response, content: bytes
) -> failures.RequestRejected:
    """Return the error of a response, with its request id."""
    status = response.status_code
    facts = [f"HTTP {status}"]
    if request_id := response.headers.get("X-Openstack-Request-Id"):
        facts.append(f"request {printable(request_id)}")
    kind = failures.NotFound if status == 404 else failures.RequestRejected
    return kind(f"{_detail(response, content)} ({', '.join(facts)})", status)


def _detail(response: requests.Response, content: bytes) -> str:
    with contextlib.suppress(failures.InvalidResponse):
        problem = convert(_parse(content), Problem)
        if text := problem.detail or problem.title:
            return text
    status = f"{response.status_code} {response.reason or ''}".strip()
    return f"The server answered {printable(status)}."
