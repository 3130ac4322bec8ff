"""The session of a browser: a cookie that only this service can read.

There is no state of sessions on the server: any API server with the same key
file reads the cookie of another.
"""

import datetime
import secrets
from collections.abc import Iterator
from typing import Final, Literal

import msgspec
from cryptography.fernet import InvalidToken, MultiFernet

COOKIE: Final = "tacker_cnf_session"
#: the longest cookie that browsers accept
MAX_COOKIE_BYTES: Final = 4096


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """What the cookie of a browser contains."""

    #: the secret that each form of the page sends back
    csrf: str
    #: of Keystone; None: not logged in
    token: str | None = None
    expires_at: datetime.datetime | None = None
    #: names that the page shows
    user: str = ""
    project: str = ""
    #: no other value that is encrypted with these keys has it
    kind: Literal["web session"]

    @property
    def is_expired(self) -> bool:
        """Whether its token has expired."""
        now = datetime.datetime.now(datetime.UTC)
        return self.expires_at is not None and self.expires_at <= now


def new_session(**values: str | datetime.datetime) -> Session:
    """Build a session with a secret of its own."""
    return msgspec.convert(
        {"csrf": secrets.token_urlsafe(32), "kind": "web session", **values},
        Session,
    )


class SessionCookies:
    """Reads and writes the cookies of sessions.

    :param keys: those of the service's key file
    """

    def __init__(self, keys: MultiFernet) -> None:
        self._keys = keys

    def read(self, header: str) -> Session | None:
        """Return the session in a Cookie header; None: there is none, or it
        was not written with the keys of this service.

        Another service of the same domain may have set cookies of this name.
        """
        found = (self._decrypt(value) for value in _cookies(header))
        return next((session for session in found if session), None)

    def _decrypt(self, value: str) -> Session | None:
        try:
            text = self._keys.decrypt(value)
            return msgspec.json.decode(text, type=Session)
        except (InvalidToken, ValueError, msgspec.DecodeError):
            return None

    def write(self, session: Session, path: str, *, is_secure: bool) -> str:
        """Return the Set-Cookie header of a session.

        :raises ValueError: it is too long for a cookie
        """
        value = self._keys.encrypt(msgspec.json.encode(session)).decode()
        cookie = f"{COOKIE}={value}; {_attributes(path, is_secure=is_secure)}"
        if len(cookie) > MAX_COOKIE_BYTES:
            raise ValueError("the token is too long for a cookie")
        return cookie


def _cookies(header: str) -> Iterator[str]:
    """Yield the values of the cookies of a session."""
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            yield value


def _attributes(path: str, *, is_secure: bool) -> str:
    # Strict: a link from another site would come without the cookie, and the
    # response would replace it by a new session
    secure = "; Secure" if is_secure else ""
    return f"Path={path}; HttpOnly; SameSite=Lax{secure}"
