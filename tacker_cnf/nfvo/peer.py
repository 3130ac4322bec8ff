"""The external NFVO as one that is called over HTTP."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx
import msgspec
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.outgoing import authorization, clients
from tacker_cnf.sol.authentication import SubscriptionAuthentication

#: most bytes of an answer that is read whole
MAX_BYTES: Final = 16 * 1024 * 1024
#: most characters of another's error that are told on
MAX_TOLD: Final = 1000
#: a way of authentication -> its parameters, and the options they are in
PARAMS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
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


class Answer(msgspec.Struct, frozen=True):
    """An answer that was read whole."""

    status: int
    headers: httpx.Headers
    content: bytes

    @property
    def told(self) -> str:
        """What an error says: the detail of its ProblemDetails, if any."""
        try:
            problem = msgspec.json.decode(self.content, type=_Problem)
        except (msgspec.DecodeError, UnicodeDecodeError):
            problem = _Problem()
        said = problem.detail or problem.title or "it does not say why"
        return said[:MAX_TOLD]


class _Problem(msgspec.Struct):
    """What is read of a ProblemDetails, which others may fill badly."""

    title: str | None = None
    detail: str | None = None


class Peer:
    """The NFVO: where it is, and how it knows us."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.url: str = conf.nfvo.endpoint.rstrip("/")
        manners = clients.manners_of(conf)
        given = authentication_of(conf)
        authorization.check(given, manners)
        self._client = clients.client(
            manners,
            identified=authorization.is_identified(given),
            auth=authorization.flow(given),
        )

    def call(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> Answer:
        """Make one request and read the answer whole.

        :raises PeerUnreachable: nobody answers, or not to the end
        :raises PeerFailed: the answer is too large, or there is no token
        """
        with self.stream(method, path, headers, body) as answer:
            content = bytearray()
            for chunk in answer.iter_bytes():
                content += chunk
                if len(content) > MAX_BYTES:
                    raise errors.PeerFailed("The NFVO's answer is too large.")
            return Answer(answer.status_code, answer.headers, bytes(content))

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
            clients.told(url),
            _to_the_end(),
            self._client.stream(
                method, url, headers=dict(headers), content=body
            ) as answer,
        ):
            yield answer


@contextlib.contextmanager
def _to_the_end() -> Iterator[None]:
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
    way = conf.nfvo.auth_type
    if way == "NONE":
        return None
    given: dict[str, Any] = {"authType": [way]}
    if way in PARAMS:
        name, options = PARAMS[way]
        given[name] = {
            attribute: _needed(conf, way, option)
            for attribute, option in options.items()
        }
    try:
        return msgspec.convert(given, SubscriptionAuthentication)
    except msgspec.ValidationError as error:
        raise errors.VnfmError(f"[nfvo]: {error}.") from None


def _needed(conf: cfg.ConfigOpts, way: str, option: str) -> Any:
    value = conf.nfvo[option]
    if not value:
        raise errors.VnfmError(f"[nfvo] {option} is needed for {way}.")
    return value
