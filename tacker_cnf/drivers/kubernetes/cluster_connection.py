"""The connection to a cluster, as a VimConnectionInfo defines it."""

import re
import ssl
import tempfile
from typing import Any, ClassVar, Final

from tacker_cnf import errors
from tacker_cnf.drivers import vim_connection
from tacker_cnf.drivers.base import RegisteredVim
from tacker_cnf.drivers.vim_connection import CA
from tacker_cnf.sol.common import VimConnectionInfo

VIM_TYPE: Final = "ETSINFV.KUBERNETES.V_1"


def of_vim(vim: RegisteredVim) -> VimConnectionInfo:
    """Convert a registered VIM."""
    cred = vim.auth_cred
    secrets = ("bearer_token", "client_cert", "client_key")
    ca = {CA: cred[CA]} if CA in cred else {}
    return VimConnectionInfo(
        vim_id=vim.id,
        vim_type=VIM_TYPE,
        interface_info={"endpoint": vim.auth_url, **ca},
        access_info={name: cred[name] for name in secrets if name in cred},
        extra=dict(vim.extra),
    )


class ClusterConnection(
    vim_connection.VimConnection, frozen=True, kw_only=True
):
    """The attributes of a VimConnectionInfo of a cluster."""

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
                "accessInfo.bearer_token: it contains a character that no "
                "token has, such as a space or a line break."
            )

    def ssl_context(self) -> ssl.SSLContext:
        """Create the TLS context with the CA and the client certificate.

        :raises InvalidVimConnection: a certificate or key is not valid PEM
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
                    "client_cert or client_key: not valid PEM, or the key "
                    f"does not belong to the certificate: {error}."
                ) from error
        return context
