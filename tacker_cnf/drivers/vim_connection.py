"""How a VIM is reached: what a VimConnectionInfo says of any."""

import ssl
from typing import Any, ClassVar, Self

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.sol.common import VimConnectionInfo

LOG = log.getLogger(__name__)


class VimConnection(msgspec.Struct, frozen=True, kw_only=True):
    """What a VimConnectionInfo has to say, whatever the VIM."""

    #: of what the endpoint is the URL
    server: ClassVar[str]

    endpoint: str
    #: PEM; None: those that the operating system trusts
    ca: str | None = None
    unverified: bool = False

    @classmethod
    def from_info(cls, info: VimConnectionInfo) -> Self:
        """Read it.

        :raises InvalidVimConnection: it says too little, or nonsense
        """
        interface, access = info.interface_info, info.access_info
        attributes = {
            "endpoint": interface.get("endpoint") or "",
            "ca": interface.get("ssl_ca_cert") or access.get("ssl_ca_cert"),
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
        """Give the attributes of what logs in, of accessInfo."""
        raise NotImplementedError

    def check(self) -> None:
        """Make sure that all is said that is needed.

        :raises InvalidVimConnection: it is not
        """
        if not self.endpoint.startswith(("https://", "http://")):
            raise errors.InvalidVimConnection(
                f"interfaceInfo.endpoint: the URL of {self.server} is needed, "
                f"{self.endpoint!r} is none."
            )

    def ssl_context(self) -> ssl.SSLContext:
        """Make the TLS side.

        :raises InvalidVimConnection: the CA is not PEM
        """
        try:
            context = ssl.create_default_context(cadata=self.ca or None)
        except (ssl.SSLError, ValueError) as error:
            raise errors.InvalidVimConnection(
                f"ssl_ca_cert: it is not valid PEM: {error}."
            ) from error
        if self.unverified:
            LOG.warning("%s is not verified by TLS", self.endpoint)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context
