"""The part of a VIM connection that all types of VIM share."""

import ssl
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.drivers.base import RegisteredVim
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.sol.common import VimConnectionInfo

LOG = log.getLogger(__name__)

#: key of auth_cred and interfaceInfo: PEM
CA: Final = "ssl_ca_cert"


def of_any_vim(vim: RegisteredVim) -> VimConnectionInfo:
    """Convert a registered VIM, for drivers without a layout of their own."""
    return VimConnectionInfo(
        vim_id=vim.id,
        vim_type=vim.type,
        interface_info={"endpoint": vim.auth_url},
        access_info=dict(vim.auth_cred),
        extra=dict(vim.extra),
    )


def check_endpoints(
    ssrf_policy: SsrfPolicy, connections: Mapping[str, VimConnectionInfo]
) -> None:
    """Check the endpoints of a request before the VIMs are used. Host names
    are resolved and checked when the service connects.

    :raises InvalidVimConnection: an endpoint is not allowed
    """
    for key, info in connections.items():
        endpoint = info.interface_info.get("endpoint")
        if not endpoint:
            continue  # that of the registered VIM
        try:
            ssrf_policy.check_url(str(endpoint))
        except errors.Forbidden as error:
            raise errors.InvalidVimConnection(
                f"vimConnectionInfo.{key}.interfaceInfo.endpoint: {error}"
            ) from None


class VimConnection(msgspec.Struct, frozen=True, kw_only=True):
    """The attributes of a VimConnectionInfo that all types of VIM need."""

    #: what the endpoint belongs to, for messages
    server: ClassVar[str]

    endpoint: str
    #: PEM; None: the CAs of the operating system
    ca: str | None = None
    unverified: bool = False

    @classmethod
    def from_info(cls, info: VimConnectionInfo) -> Self:
        """Convert a VimConnectionInfo.

        :raises InvalidVimConnection: an attribute is missing or malformed
        """
        interface, access = info.interface_info, info.access_info
        attributes = {
            "endpoint": interface.get("endpoint") or "",
            "ca": interface.get(CA) or access.get(CA),
            "unverified": interface.get("skipCertificateVerification", False),
            **cls.login_attributes(access),
        }
        try:
            connection = msgspec.convert(attributes, cls)
        except msgspec.ValidationError as error:
            raise errors.InvalidVimConnection(
                f"The VIM connection is not valid: {error}."
            ) from None
        connection.check()
        return connection

    @staticmethod
    def login_attributes(access: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes of a subclass, read from accessInfo."""
        raise NotImplementedError

    def check(self) -> None:
        """Check that all required attributes are present.

        :raises InvalidVimConnection: an attribute is missing or malformed
        """
        if not self.endpoint.startswith(("https://", "http://")):
            raise errors.InvalidVimConnection(
                f"interfaceInfo.endpoint: it is not the URL of {self.server}; "
                "it has to begin with https:// or http://."
            )

    def ssl_context(self) -> ssl.SSLContext:
        """Create the TLS context.

        :raises InvalidVimConnection: the CA is not PEM
        """
        try:
            context = ssl.create_default_context(cadata=self.ca or None)
        except (ssl.SSLError, ValueError) as error:
            raise errors.InvalidVimConnection(
                f"ssl_ca_cert: not valid PEM: {error}."
            ) from error
        if self.unverified:
            LOG.warning(
                "TLS verification disabled: endpoint=%s", self.endpoint
            )
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context
