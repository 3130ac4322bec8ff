"""How a request proves who sent it: httpx's flows for the ways of SOL013."""

import asyncio
import base64
import contextlib
import hashlib
import ssl
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from pathlib import Path
from typing import Annotated, Final
from urllib import parse

import httpx
import msgspec

from tacker_cnf import errors
from tacker_cnf.outgoing.clients import Manners
from tacker_cnf.sol.authentication import (
    AuthType,
    ParamsOauth2ClientCert,
    ParamsOauth2ClientCredentials,
    SubscriptionAuthentication,
)

#: seconds before its end at which a token is no longer used
MARGIN: Final = 10.0
#: seconds a token is good for when its issuer does not tell
UNTOLD: Final = 300.0

Request = httpx.Request
Response = httpx.Response


class Token(msgspec.Struct, frozen=True):
    """IETF RFC 6749, 5.1."""

    access_token: Annotated[str, msgspec.Meta(pattern=r"^[!-~]+\Z")]
    expires_in: float = UNTOLD


class OAuth2(httpx.Auth):
    """IETF RFC 6749, 4.4: a token is fetched once, used until it expires,
    and renewed when it is refused.

    :param ask: makes the request for a token

    One of these is used by threads or by one event loop, not by both.
    """

    def __init__(self, ask: Callable[[], Request]) -> None:
        self._ask = ask
        self._token = ""
        self._until = 0.0
        self._lock = threading.Lock()
        self._turn = asyncio.Lock()

    def sync_auth_flow(
        self, request: Request
    ) -> Generator[Request, Response, None]:
        with self._lock:
            if not self._is_good():
                answer = yield self._ask()
                answer.read()
                self._take(answer)
        used = self._sign(request)
        if (yield request).status_code != 401:
            return
        with self._lock:
            if used == self._token:  # nobody else has renewed it
                answer = yield self._ask()
                answer.read()
                self._take(answer)
        self._sign(request)
        yield request

    async def async_auth_flow(
        self, request: Request
    ) -> AsyncGenerator[Request, Response]:
        async with self._turn:
            if not self._is_good():
                answer = yield self._ask()
                await answer.aread()
                self._take(answer)
        used = self._sign(request)
        if (yield request).status_code != 401:
            return
        async with self._turn:
            if used == self._token:
                answer = yield self._ask()
                await answer.aread()
                self._take(answer)
        self._sign(request)
        yield request

    def _is_good(self) -> bool:
        return bool(self._token) and time.monotonic() < self._until

    def _sign(self, request: Request) -> str:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return self._token

    def _take(self, answer: Response) -> None:
        """Keep a token.

        :raises PeerFailed: the answer has none
        """
        host = answer.request.url.netloc.decode()
        if answer.status_code != 200:
            raise errors.PeerFailed(
                f"The token endpoint {host} answered {answer.status_code}."
            )
        try:
            token = msgspec.json.decode(answer.content, type=Token)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise errors.PeerFailed(
                f"The token endpoint {host} gave no token."
            ) from None
        self._token = token.access_token
        self._until = time.monotonic() + token.expires_in - MARGIN


def _by_password(params: ParamsOauth2ClientCredentials) -> httpx.Auth:
    def ask() -> Request:
        request = _asked(params.token_endpoint, {})
        # IETF RFC 6749, 2.3.1: encoded as a form first
        given = (params.client_id, params.client_password)
        identity = httpx.BasicAuth(*map(parse.quote_plus, given))
        return next(identity.auth_flow(request))

    return OAuth2(ask)


def _by_certificate(params: ParamsOauth2ClientCert) -> httpx.Auth:
    """RFC 8705, 2: the TLS connection proves who asks for the token."""
    client_id = {"client_id": params.client_id}
    return OAuth2(lambda: _asked(params.token_endpoint, client_id))


def _asked(endpoint: str, more: Mapping[str, str]) -> Request:
    return Request(
        "POST",
        endpoint,
        headers={"Accept": "application/json"},
        data={"grant_type": "client_credentials", **more},
    )


def _basic(given: SubscriptionAuthentication) -> httpx.Auth:
    assert given.params_basic
    params = given.params_basic
    return httpx.BasicAuth(params.user_name, params.password)


def _client_credentials(given: SubscriptionAuthentication) -> httpx.Auth:
    assert given.params_oauth2_client_credentials
    return _by_password(given.params_oauth2_client_credentials)


def _client_cert(given: SubscriptionAuthentication) -> httpx.Auth:
    assert given.params_oauth2_client_cert
    return _by_certificate(given.params_oauth2_client_cert)


#: the ways, from the one that is preferred to the one that is not
WAYS: Final[
    Mapping[AuthType, Callable[[SubscriptionAuthentication], httpx.Auth]]
] = {
    AuthType.OAUTH2_CLIENT_CERT: _client_cert,
    AuthType.OAUTH2_CLIENT_CREDENTIALS: _client_credentials,
    AuthType.BASIC: _basic,
    AuthType.TLS_CERT: lambda _: httpx.Auth(),
}
BY_CERTIFICATE: Final = frozenset(
    {AuthType.TLS_CERT, AuthType.OAUTH2_CLIENT_CERT}
)


def flow(given: SubscriptionAuthentication | None) -> httpx.Auth:
    """Choose, of the ways that a peer takes, the one that is preferred."""
    if given is None:
        return httpx.Auth()
    way = next(way for way in WAYS if way in given.auth_type)
    return WAYS[way](given)


def is_identified(given: SubscriptionAuthentication | None) -> bool:
    """Tell whether a peer wants to see our certificate."""
    return given is not None and not BY_CERTIFICATE.isdisjoint(given.auth_type)


def check(given: SubscriptionAuthentication | None, manners: Manners) -> None:
    """Make sure that this service can prove who it is, as a peer wants it.

    :raises Unprocessable: it has no certificate, or not the one that is meant
    """
    if given is None or not is_identified(given):
        return
    if not manners.client_certificate:
        raise errors.Unprocessable(
            "authentication: this service has no client certificate for "
            f"{' or '.join(sorted(BY_CERTIFICATE & set(given.auth_type)))}."
        )
    wanted = given.params_oauth2_client_cert
    if wanted is None:
        return
    with contextlib.suppress(ValueError, OSError):
        if thumbprint(manners.client_certificate) == (
            wanted.certificate_ref.value
        ):
            return
    raise errors.Unprocessable(
        "authentication: certificateRef names another certificate than this "
        "service has."
    )


def thumbprint(path: str) -> str:
    """Tell the SHA-256 of the first certificate in a file, in base64url.

    :raises ValueError: the file has none
    :raises OSError: the file cannot be read
    """
    pem = Path(path).read_text(encoding="ascii")
    start, end = pem.index(ssl.PEM_HEADER), pem.index(ssl.PEM_FOOTER)
    der = ssl.PEM_cert_to_DER_cert(pem[start : end + len(ssl.PEM_FOOTER)])
    digest = hashlib.sha256(der).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
