"""The external NFVO as one that is called over HTTP."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx
import msgspec
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.http_client import authorization, clients
from tacker_cnf.sol.authentication import SubscriptionAuthentication

#: most bytes of an answer that is read whole
MAX_RESPONSE_BYTES: Final = 16 * 1024 * 1024
#: most characters of another's error that are told on
MAX_DETAIL_CHARS: Final = 1000
#: a way of authentication -> its parameters, and the options they are in
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
    """An answer that was read whole."""

    status: int
    headers: httpx.Headers
    content: bytes

    @property
    def error_detail(self) -> str:
        """What an error says: the detail of its ProblemDetails, if any."""
        try:
            problem = msgspec.json.decode(self.content, type=_Problem)
        except (msgspec.DecodeError, UnicodeDecodeError):
            problem = _Problem()
        detail = problem.detail or problem.title or "it does not say why"
        return detail[:MAX_DETAIL_CHARS]


class _Problem(msgspec.Struct):
    """What is read of a ProblemDetails, which others may fill badly."""

    title: str | None = None
    detail: str | None = None


class NfvoClient:
    """The NFVO: where it is, and how it knows us."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.url: str = conf.nfvo.endpoint.rstrip("/")
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
        """Make one request and read the answer whole.

        :raises PeerUnreachable: nobody answers, or not to the end
        :raises PeerFailed: the answer is too large, or there is no token
        """
        with self.stream(method, path, headers, body) as response:
            content = bytearray()
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MAX_RESPONSE_BYTES:
                    raise errors.PeerFailed("The NFVO's answer is too large.")
            return NfvoResponse(
                response.status_code, response.headers, bytes(content)
            )

    @contextlib.contextmanager
    def stream(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Iterator[httpx.Response]:
        """Make one request; the answer is read by the caller, piece by piece.

        :raises PeerUnreachable: nobody answers, or not to the end
        :raises PeerFailed: there is no token
        """
        url = self.url + path
        with (
            clients.translated_errors(url),
            _map_protocol_errors(),
            self._client.stream(
                method, url, headers=dict(headers), content=body
            ) as response,
        ):
            yield response


@contextlib.contextmanager
def _map_protocol_errors() -> Iterator[None]:
    """Count a connection that was cut among those that are not there."""
    try:
        yield
    except httpx.RemoteProtocolError as error:
        raise errors.PeerUnreachable(
            f"The NFVO's answer was cut short: {error}."
        ) from None


def authentication_of(
    conf: cfg.ConfigOpts,
) -> SubscriptionAuthentication | None:
    """Read how the NFVO wants us to prove who we are.

    :raises VnfmError: an option that this needs is missing, or not valid
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
        raise errors.VnfmError(f"[nfvo] {option} is needed for {auth_type}.")
    return value
