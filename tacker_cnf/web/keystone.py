"""Log in and out at Keystone (Identity API v3)."""

import datetime
from typing import Any, Final

import msgspec
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.api.authentication import AUTHTOKEN
from tacker_cnf.http_client import clients
from tacker_cnf.http_client.exchange import ExchangeLimits
from tacker_cnf.services.slots import Slots
from tacker_cnf.web import sessions
from tacker_cnf.web.sessions import Session

#: limits of an exchange with Keystone
TIMEOUT_S: Final = 10.0
MAX_RESPONSE_BYTES: Final = 1_000_000
#: the places are not those of a project
_PLACES: Final = "log-in"


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """What a user types to log in."""

    user: str
    password: str
    user_domain: str
    project: str
    project_domain: str


class _Name(msgspec.Struct):
    name: str


class _Token(msgspec.Struct):
    expires_at: datetime.datetime
    user: _Name
    project: _Name | None = None


class _Body(msgspec.Struct):
    token: _Token


class Keystone:
    """The Keystone that checks the tokens of clients.

    :param log_ins: limits the requests that log in
    :param log_outs: limits those that log out, which any number of requests
        to log in do not prevent
    """

    def __init__(
        self, conf: cfg.ConfigOpts, log_ins: Slots, log_outs: Slots
    ) -> None:
        self._conf = conf
        self._log_ins = log_ins
        self._log_outs = log_outs
        options = conf[AUTHTOKEN]
        client_options = msgspec.structs.replace(
            clients.options_from_conf(conf),
            **({"ca_file": options.cafile} if options.cafile else {}),
            **({"verify": False} if options.insecure else {}),
        )
        self._client = clients.client(client_options)

    def log_in(self, credentials: Credentials) -> Session:
        """Return the session of a user.

        :raises Unauthorized: Keystone rejects the credentials
        :raises Unavailable: Keystone does not answer, or too many users log
            in
        """
        response = self._request(
            self._log_ins, "POST", json={"auth": _request(credentials)}
        )
        if response.status_code in {400, 401, 403}:
            raise errors.Unauthorized(
                "Keystone rejects the user, the password, the project or "
                "their domains."
            )
        token = response.headers.get("X-Subject-Token")
        if response.status_code != 201 or not token:
            raise errors.PeerFailed(
                f"Keystone answered with status {response.status_code}."
            )
        try:
            body = msgspec.json.decode(response.content, type=_Body).token
        except msgspec.DecodeError:
            raise errors.PeerFailed(
                "Keystone sent an invalid response."
            ) from None
        return sessions.new_session(
            token=token,
            expires_at=body.expires_at,
            user=body.user.name,
            project=body.project.name if body.project else "",
        )

    def log_out(self, token: str) -> None:
        """Revoke a token.

        :raises Unavailable: Keystone does not answer, or fails, or too many
            users log out
        """
        headers = {"X-Auth-Token": token, "X-Subject-Token": token}
        response = self._request(self._log_outs, "DELETE", headers=headers)
        # one that has expired or was revoked before is not found
        if response.status_code not in {204, 401, 404}:
            raise errors.PeerFailed(
                f"Keystone answered with status {response.status_code}."
            )

    def _request(self, slots: Slots, method: str, **options: Any) -> Any:
        url = f"{self._url()}/auth/tokens"
        limits = ExchangeLimits(
            timeout=TIMEOUT_S, max_bytes=MAX_RESPONSE_BYTES
        )
        with slots.take(_PLACES), clients.translated_errors(url):
            return self._client.request(
                method, url, extensions={"limits": limits}, **options
            )

    def _url(self) -> str:
        """Return the URL of Keystone's API.

        It is an option of an authentication plugin, which is known when
        keystonemiddleware has loaded that.
        """
        options = self._conf[AUTHTOKEN]
        if options.auth_section:
            options = self._conf[options.auth_section]
        url = str(options.auth_url).rstrip("/")
        return url if url.endswith("/v3") else f"{url}/v3"


def _request(credentials: Credentials) -> dict[str, Any]:
    return {
        "identity": {
            "methods": ["password"],
            "password": {
                "user": {
                    "name": credentials.user,
                    "domain": {"name": credentials.user_domain},
                    "password": credentials.password,
                }
            },
        },
        "scope": {
            "project": {
                "name": credentials.project,
                "domain": {"name": credentials.project_domain},
            }
        },
    }
