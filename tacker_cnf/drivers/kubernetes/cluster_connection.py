"""How a cluster is reached: what a VimConnectionInfo says of it."""

import re
import ssl
import tempfile
from typing import Any, ClassVar

from tacker_cnf import errors
from tacker_cnf.drivers import vim_connection


class ClusterConnection(
    vim_connection.VimConnection, frozen=True, kw_only=True
):
    """What a VimConnectionInfo of a cluster has to say."""

    server: ClassVar[str] = "the cluster"

    token: str | None = None
    client_cert: str | None = None
    client_key: str | None = None

    @staticmethod
    def login_attributes(access: dict[str, Any]) -> dict[str, Any]:
        return {
            "token": access.get("bearer_token") or None,
            "client_cert": access.get("client_cert"),
            "client_key": access.get("client_key"),
        }

    def check(self) -> None:
        super().check()
        if not self.token and not (self.client_cert and self.client_key):
            raise errors.InvalidVimConnection(
                "accessInfo: bearer_token, or client_cert and client_key, "
                "is needed to log in to a cluster."
            )
        if self.token and not re.fullmatch(r"[!-~]+", self.token):
            raise errors.InvalidVimConnection(
                "accessInfo.bearer_token: it has a character that no token "
                "has, such as a space or the end of a line."
            )

    def ssl_context(self) -> ssl.SSLContext:
        """Make the TLS side: the CA, and the client's certificate.

        :raises InvalidVimConnection: these are not PEM
        """
        context = super().ssl_context()
        if not (self.client_cert and self.client_key):
            return context
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(self.client_cert + "\n" + self.client_key)
            file.flush()
            try:
                context.load_cert_chain(file.name)
            except (ssl.SSLError, ValueError) as error:
                raise errors.InvalidVimConnection(
                    "client_cert or client_key: it is not valid PEM, or they "
                    f"do not belong together: {error}."
                ) from error
        return context
