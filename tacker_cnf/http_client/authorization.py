"""Client authentication: httpx's flows for the methods of SOL013."""

import asyncio
import base64
import contextlib
import hashlib
import ssl
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from pathlib import Path
from typing import Annotated, Final
from urllib import parse

import httpx
import msgspec

from tacker_cnf import errors
from tacker_cnf.http_client.clients import HttpClientOptions
from tacker_cnf.runtime.cancellation import Deadline
from tacker_cnf.sol.authentication import (
    AuthType,
    ParamsOauth2ClientCert,
    ParamsOauth2ClientCredentials,
    SubscriptionAuthentication,
)

#: seconds before its expiry at which a token is no longer used
TOKEN_EXPIRY_MARGIN_S: Final = 10.0
#: lifetime in seconds of a token without expires_in
DEFAULT_TOKEN_LIFETIME_S: Final = 300.0

Request = httpx.Request
Response = httpx.Response


class Token(msgspec.Struct, frozen=True):
    """IETF RFC 6749, 5.1."""

    access_token: Annotated[str, msgspec.Meta(pattern=r"^[!-~]+\Z")]
    expires_in: float = DEFAULT_TOKEN_LIFETIME_S


class OAuth2(httpx.Auth):
    """IETF RFC 6749, 4.4: a token is fetched once, used until it expires,
    and renewed when a server rejects it (401).

    An object is used by threads or by one event loop, not by both.

    :param build_token_request: builds the request for a token
    """

    def __init__(self, build_token_request: Callable[[], Request]) -> None:
        self._build_token_request = build_token_request
        self._token = ""
        self._expiry = Deadline(0.0)
        self._lock = threading.Lock()
        self._async_lock = asyncio.Lock()

    def sync_auth_flow(
        self, request: Request
    ) -> Generator[Request, Response, None]:
        with self._lock:
            if not self._is_token_valid():
                response = yield self._build_token_request()
                response.read()
                self._store_token(response)
        used_token = self._authorize(request)
        if (yield request).status_code != 401:
            return
        with self._lock:
            if used_token == self._token:  # no other thread has renewed it
                response = yield self._build_token_request()
                response.read()
                self._store_token(response)
        self._authorize(request)
        yield request

    async def async_auth_flow(
        self, request: Request
    ) -> AsyncGenerator[Request, Response]:
        async with self._async_lock:
            if not self._is_token_valid():
                response = yield self._build_token_request()
                await response.aread()
                self._store_token(response)
        used_token = self._authorize(request)
        if (yield request).status_code != 401:
            return
        async with self._async_lock:
            if used_token == self._token:
                response = yield self._build_token_request()
                await response.aread()
                self._store_token(response)
        self._authorize(request)
        yield request

    def _is_token_valid(self) -> bool:
        return bool(self._token) and not self._expiry.passed

    def _authorize(self, request: Request) -> str:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return self._token

    def _store_token(self, response: Response) -> None:
        """Store the token of a response.

        :raises PeerFailed: the response contains no token
        """
        host = response.request.url.netloc.decode()
        if response.status_code != 200:
            raise errors.PeerFailed(
                f"The token endpoint {host} answered {response.status_code}."
            )
        try:
            token = msgspec.json.decode(response.content, type=Token)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise errors.PeerFailed(
                f"The response of the token endpoint {host} has no valid "
                "token."
            ) from None
        self._token = token.access_token
        self._expiry = Deadline.within(
            token.expires_in - TOKEN_EXPIRY_MARGIN_S
        )


def _with_client_password(params: ParamsOauth2ClientCredentials) -> httpx.Auth:
    def build_token_request() -> Request:
        request = _token_request(params.token_endpoint, {})
        # IETF RFC 6749, 2.3.1: encoded as a form first
        client_credentials = (params.client_id, params.client_password)
        identity = httpx.BasicAuth(*map(parse.quote_plus, client_credentials))
        return next(identity.auth_flow(request))

    return OAuth2(build_token_request)


def _with_client_certificate(params: ParamsOauth2ClientCert) -> httpx.Auth:
    """Return a flow whose token requests authenticate by the client
    certificate of the TLS connection (RFC 8705, 2).
    """
    client_id = {"client_id": params.client_id}
    return OAuth2(lambda: _token_request(params.token_endpoint, client_id))


def _token_request(endpoint: str, extra_fields: Mapping[str, str]) -> Request:
    return Request(
        "POST",
        endpoint,
        headers={"Accept": "application/json"},
        data={"grant_type": "client_credentials", **extra_fields},
    )


def _basic(authentication: SubscriptionAuthentication) -> httpx.Auth:
    assert authentication.params_basic
    params = authentication.params_basic
    return httpx.BasicAuth(params.user_name, params.password)


def _client_credentials(
    authentication: SubscriptionAuthentication,
) -> httpx.Auth:
    assert authentication.params_oauth2_client_credentials
    return _with_client_password(
        authentication.params_oauth2_client_credentials
    )


def _client_cert(authentication: SubscriptionAuthentication) -> httpx.Auth:
    assert authentication.params_oauth2_client_cert
    return _with_client_certificate(authentication.params_oauth2_client_cert)


#: the authentication methods in order of preference
AUTH_FLOWS: Final[
    Mapping[AuthType, Callable[[SubscriptionAuthentication], httpx.Auth]]
] = {
    AuthType.OAUTH2_CLIENT_CERT: _client_cert,
    AuthType.OAUTH2_CLIENT_CREDENTIALS: _client_credentials,
    AuthType.BASIC: _basic,
    AuthType.TLS_CERT: lambda _: httpx.Auth(),
}
CERTIFICATE_AUTH_TYPES: Final = frozenset(
    {AuthType.TLS_CERT, AuthType.OAUTH2_CLIENT_CERT}
)


def flow(authentication: SubscriptionAuthentication | None) -> httpx.Auth:
    """Return the preferred one of the methods that a peer accepts."""
    if authentication is None:
        return httpx.Auth()
    auth_type = next(
        auth_type
        for auth_type in AUTH_FLOWS
        if auth_type in authentication.auth_type
    )
    return AUTH_FLOWS[auth_type](authentication)


def needs_client_certificate(
    authentication: SubscriptionAuthentication | None,
) -> bool:
    """Check whether a peer requires our client certificate."""
    return (
        authentication is not None
        and not CERTIFICATE_AUTH_TYPES.isdisjoint(authentication.auth_type)
    )


def check(
    authentication: SubscriptionAuthentication | None,
    client_options: HttpClientOptions,
) -> None:
    """Check that this service has the client certificate a peer requires.

    :raises Unprocessable: this service has no certificate, or a different one
    """
    if authentication is None or not needs_client_certificate(authentication):
        return
    if not client_options.client_certificate:
        raise errors.Unprocessable(
            "authentication: this service has no client certificate for "
            f"{' or '.join(sorted(CERTIFICATE_AUTH_TYPES & set(authentication.auth_type)))}."
        )
    cert_params = authentication.params_oauth2_client_cert
    if cert_params is None:
        return
    with contextlib.suppress(ValueError, OSError):
        if thumbprint(client_options.client_certificate) == (
            cert_params.certificate_ref.value
        ):
            return
    raise errors.Unprocessable(
        "authentication: certificateRef is not the thumbprint of the client "
        "certificate of this service."
    )


def thumbprint(path: str) -> str:
    """Return the SHA-256 of the first certificate in a file, in base64url.

    :raises ValueError: the file has no certificate
    :raises OSError: the file cannot be read
    """
    pem = Path(path).read_text(encoding="ascii")
    start, end = pem.index(ssl.PEM_HEADER), pem.index(ssl.PEM_FOOTER)
    der = ssl.PEM_cert_to_DER_cert(pem[start : end + len(ssl.PEM_FOOTER)])
    digest = hashlib.sha256(der).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
