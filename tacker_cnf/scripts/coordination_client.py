"""Client of the coordination API (SOL002 10) for scripts of packages.

The names, arguments and results are those of the reference implementation,
whose scripts import them.
"""

import time
from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.http_client import authorization, clients
from tacker_cnf.http_client.clients import HttpClientOptions
from tacker_cnf.http_client.retry_after import retry_after
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.sol.authentication import SubscriptionAuthentication

API_VERSION: Final = "1.0.0"
#: seconds to wait for a coordination, unless a script sets them
DEFAULT_TIMEOUT_S: Final = 3600.0
#: seconds between requests, unless the server sets them
DEFAULT_INTERVAL_S: Final = 5.0
#: options of the client; a script has no client certificate
OPTIONS: Final = HttpClientOptions()


class SolException(Exception):  # named by the reference
    """A script of a package failed."""

    def __init__(self, sol_detail: str | None = None, **_: object) -> None:
        super().__init__(sol_detail or type(self).__doc__)


class InvalidSubscription(SolException):
    """The authentication is not valid."""


def init(args: object = None, **_: object) -> None:
    """Accept the command line of a service: a script has no options."""


def check_subsc_auth(auth_req: Any, validation: bool = True) -> None:  # noqa: ARG001, FBT002
    """Check a SubscriptionAuthentication (SOL013 8.3.4).

    :raises InvalidSubscription: it is not valid, or requires a client
        certificate
    """
    _authentication(auth_req)


def _authentication(auth_req: Any) -> SubscriptionAuthentication:
    try:
        authentication = msgspec.convert(auth_req, SubscriptionAuthentication)
    except msgspec.ValidationError as error:
        raise InvalidSubscription(f"authentication: {error}") from None
    if authorization.needs_client_certificate(authentication):
        raise InvalidSubscription(
            "authentication: authType requires a client certificate, which a"
            " script does not have; use BASIC or OAUTH2_CLIENT_CREDENTIALS"
        )
    return authentication


def get_http_auth_handle(auth_req: Any) -> Any:
    """Return what HttpClient needs to authenticate.

    :param auth_req: a SubscriptionAuthentication; None: no authentication
    :raises InvalidSubscription: as check_subsc_auth
    """
    return authorization.flow(
        None if auth_req is None else _authentication(auth_req)
    )


def NoAuthHandle(verify: bool = True) -> Any:  # noqa: ARG001, FBT002, N802
    """Return what HttpClient needs to send no credentials; TLS certificates
    are always verified.
    """
    return get_http_auth_handle(None)


class HttpClient:
    """Sends requests with JSON."""

    def __init__(self, auth_handle: Any, version: str | None = None) -> None:
        self._client = clients.client(OPTIONS, auth=auth_handle)
        self._version = version

    def do_request(
        self,
        url: str,
        method: str,
        context: object = None,  # noqa: ARG002
        expected_status: Collection[int] = (),
        *,
        body: Any = None,
        version: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[Any, Any]:
        """Return the response and its decoded body.

        :param expected_status: statuses; empty: all
        :raises SolException: the server is unreachable, or responded with
            another status
        """
        version = version or self._version
        sent_headers = {
            "Accept": "application/json",
            **({"Version": version} if version else {}),
            **(headers or {}),
        }
        try:
            with clients.translated_errors(url):
                response = self._client.request(
                    method, url, json=body, headers=sent_headers
                )
        except errors.VnfmError as error:
            raise SolException(f"{method} {url}: {error}") from None
        if expected_status and response.status_code not in expected_status:
            raise SolException(
                f"{method} {url}: {response.status_code} {response.text:.500}"
            )
        return response, _decoded(response)


def _decoded(response: Any) -> Any:
    """Return the body of a response; None: it has none.

    :raises SolException: a successful response is not JSON
    """
    if not response.content:
        return None
    try:
        return response.json()
    except ValueError as error:
        if not response.is_success:
            return response.text
        request = f"{response.request.method} {response.request.url}"
        raise SolException(f"{request}: {error}") from None


def create_coordination(
    endpoint: str, authentication: Any, coord_request: Any, timeout: Any = None
) -> Any:
    """Request a coordination, wait for its result and return its LcmCoord.

    :param endpoint: URL of the server, without ``/lcmcoord/v1``
    :param timeout: seconds; anything but a number: the default
    :raises InvalidSubscription: the authentication is missing or not valid
    :raises SolException: the server failed, or did not respond in time
    """
    client = HttpClient(
        authorization.flow(_authentication(authentication)), API_VERSION
    )
    deadline = Deadline.within(_seconds(timeout))
    url = f"{endpoint}/lcmcoord/v1/coordinations"
    while True:
        response, body = client.do_request(
            url, "POST", expected_status=(201, 202, 503), body=coord_request
        )
        if response.status_code == 201:
            return body
        if response.status_code == 202:
            break
        _wait(response, deadline)
    coordination_id = response.headers.get("Location", "").rpartition("/")[2]
    if not coordination_id:
        raise SolException(f"POST {url}: the response has no Location")
    while True:
        _wait(response, deadline)
        response, body = client.do_request(
            f"{url}/{coordination_id}", "GET", expected_status=(200, 202)
        )
        if response.status_code == 200:
            return body


def _seconds(timeout: Any) -> float:
    try:
        return float(timeout)
    except (TypeError, ValueError):
        return DEFAULT_TIMEOUT_S


def _wait(response: Any, deadline: Deadline) -> None:
    """Wait until the next request.

    :raises SolException: there is no time left for it
    """
    stated = retry_after(response.headers.get("Retry-After", ""))
    interval = DEFAULT_INTERVAL_S if stated is None else stated
    if interval > deadline.remaining:
        raise SolException("The coordination did not end in time.")
    time.sleep(interval)
