"""Who calls: bearer tokens and client certificates."""

import secrets
from collections.abc import Mapping
from typing import Any

from tacker_cnf.sandbox import errors
from tacker_cnf.sandbox.calls import User

MASTERS = "system:masters"
_AUTHENTICATED = "system:authenticated"


class Identities:
    """The users of one cluster."""

    def __init__(self) -> None:
        self._tokens: dict[str, User] = {}

    def issue(self, name: str, *groups: str, uid: str = "") -> str:
        """Make a token for a user."""
        token = secrets.token_urlsafe(32)
        self._tokens[token] = User(name, (*groups, _AUTHENTICATED), uid)
        return token

    def of_token(self, token: str) -> User | None:
        """Find the user of a token."""
        return self._tokens.get(token)

    def identify(
        self, headers: Mapping[str, str], certificate: Mapping[str, Any] | None
    ) -> User:
        """Tell who sends a request.

        :raises ApiError: 401, the token is unknown
        """
        if certificate:
            return _of_certificate(certificate)
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if not scheme:
            return User("system:anonymous", ("system:unauthenticated",))
        user = self._tokens.get(token.strip())
        if scheme.lower() != "bearer" or user is None:
            raise errors.unauthorized()
        return user


def _of_certificate(certificate: Mapping[str, Any]) -> User:
    name, groups = "", []
    for part in certificate.get("subject", ()):
        for key, value in part:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    return User(name, (*groups, _AUTHENTICATED))
