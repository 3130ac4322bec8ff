"""Authentication by bearer tokens and client certificates."""

import secrets
from collections.abc import Mapping
from typing import Any

from kubernetes_sandbox import errors
from kubernetes_sandbox.api_request import User
from kubernetes_sandbox.objects import Obj, name_of, namespace_of, uid_of

MASTERS = "system:masters"
_AUTHENTICATED = "system:authenticated"


class Authenticator:
    """The users of a cluster."""

    def __init__(self) -> None:
        self._tokens: dict[str, User] = {}

    def issue(self, name: str, *groups: str, uid: str = "") -> str:
        """Create a token for a user."""
        token = secrets.token_urlsafe(32)
        self.accept(token, name, *groups, uid=uid)
        return token

    def issue_account(self, account: Obj) -> str:
        """Create a token for a service account."""
        namespace = namespace_of(account)
        return self.issue(
            f"system:serviceaccount:{namespace}:{name_of(account)}",
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            uid=uid_of(account),
        )

    def accept(
        self, token: str, name: str, *groups: str, uid: str = ""
    ) -> None:
        """Accept a given token for a user."""
        self._tokens[token] = User(name, (*groups, _AUTHENTICATED), uid)

    def revoke(self, token: str) -> None:
        """Revoke a token."""
        self._tokens.pop(token, None)

    def of_token(self, token: str) -> User | None:
        """Return the user of a token."""
        return self._tokens.get(token)

    def identify(
        self, headers: Mapping[str, str], certificate: Mapping[str, Any] | None
    ) -> User:
        """Return the user of a request.

        :raises ApiError: 401, the token is unknown
        """
        if certificate:
            return _of_certificate(certificate)
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return User("system:anonymous", ("system:unauthenticated",))
        user = self._tokens.get(token.strip())
        if user is None:
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
