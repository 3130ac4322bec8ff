"""HTTP client of an external NFVO."""

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

import httpx
import msgspec
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.http_client import authorization, clients
from tacker_cnf.http_client.exchange import ExchangeLimits
from tacker_cnf.sol.authentication import SubscriptionAuthentication

#: maximum length of the NFVO's error detail that our errors quote
MAX_DETAIL_CHARS: Final = 1000
#: authType -> name of its parameters, and parameter -> option in [nfvo]
AUTH_PARAMS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "BASIC": (
        "paramsBasic",
        {"userName": "user_name", "password": "password"},
    ),
    "OAUTH2_CLIENT_CREDENTIALS": (
        "paramsOauth2ClientCredentials",
        {
            "clientId": "client_id",
            "clientPassword": "client_password",
            "tokenEndpoint": "token_endpoint",
        },
    ),
}


class NfvoResponse(msgspec.Struct, frozen=True):
    """A response with its complete body."""

    status: int
    headers: httpx.Headers
    content: bytes

    @property
    def error_detail(self) -> str:
        """Return detail or title of a ProblemDetails body, if it has one."""
        try:
            problem = msgspec.json.decode(self.content, type=_Problem)
        except (msgspec.DecodeError, UnicodeDecodeError):
            problem = _Problem()
        detail = problem.detail or problem.title or "no reason given"
        return detail[:MAX_DETAIL_CHARS]


class _Problem(msgspec.Struct):
    """The attributes read of a ProblemDetails, which may be malformed."""

    title: str | None = None
    detail: str | None = None


class NfvoClient:
    """Sends authenticated requests to the NFVO at [nfvo] endpoint."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.url: str = conf.nfvo.endpoint.rstrip("/")
        self._download_timeout: float = conf.catalogue.upload_timeout
        client_options = clients.options_from_conf(conf)
        authentication = authentication_of(conf)
        authorization.check(authentication, client_options)
        self._client = clients.client(
            client_options,
            use_client_certificate=authorization.needs_client_certificate(
                authentication
            ),
            auth=authorization.flow(authentication),
        )

    def call(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> NfvoResponse:
        """Send one request and read the complete response.

        :raises PeerUnreachable: the NFVO cannot be reached, or the response
            is incomplete
        :raises PeerFailed: the response is too large, or the token endpoint
            issued no token
        """
        with self._send(method, path, headers, body) as response:
            return NfvoResponse(
                response.status_code, response.headers, response.read()
            )

    def download(
        self, path: str, headers: Mapping[str, str]
    ) -> AbstractContextManager[httpx.Response]:
        """Request a file; the caller reads it in chunks.

        :raises PeerUnreachable: the NFVO cannot be reached, or the response
            is incomplete
        :raises PeerFailed: the token endpoint issued no token
        """
        extensions = {"limits": ExchangeLimits.of_file(self._download_timeout)}
        return self._send("GET", path, headers, None, extensions)

    @contextlib.contextmanager
    def _send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        extensions: Mapping[str, Any] = {},
    ) -> Iterator[httpx.Response]:
        url = self.url + path
        with (
            clients.translated_errors(url),
            _map_protocol_errors(),
            self._client.stream(
                method,
                url,
                headers=dict(headers),
                content=body,
                extensions=dict(extensions),
            ) as response,
        ):
            yield response


@contextlib.contextmanager
def _map_protocol_errors() -> Iterator[None]:
    """Raise PeerUnreachable for a connection closed within a response."""
    try:
        yield
    except httpx.RemoteProtocolError as error:
        raise errors.PeerUnreachable(
            f"The NFVO's response is incomplete: {error}."
        ) from None


def authentication_of(
    conf: cfg.ConfigOpts,
) -> SubscriptionAuthentication | None:
    """Read the authentication at the NFVO from the configuration.

    :raises VnfmError: an option that the auth_type requires is missing or not
        valid
    """
    auth_type = conf.nfvo.auth_type
    if auth_type == "NONE":
        return None
    authentication: dict[str, Any] = {"authType": [auth_type]}
    if auth_type in AUTH_PARAMS:
        name, options = AUTH_PARAMS[auth_type]
        authentication[name] = {
            attribute: _required_option(conf, auth_type, option)
            for attribute, option in options.items()
        }
    try:
        return msgspec.convert(authentication, SubscriptionAuthentication)
    except msgspec.ValidationError as error:
        raise errors.VnfmError(f"[nfvo]: {error}.") from None


def _required_option(conf: cfg.ConfigOpts, auth_type: str, option: str) -> Any:
    value = conf.nfvo[option]
    if not value:
        raise errors.VnfmError(
            f"[nfvo] {option} is required for auth_type {auth_type}."
        )
    return value
