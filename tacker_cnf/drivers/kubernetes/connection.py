"""How a cluster is reached: what a VimConnectionInfo says of it."""

import re
import ssl
import tempfile

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.sol.common import VimConnectionInfo

LOG = log.getLogger(__name__)


class Connection(msgspec.Struct, frozen=True):
    """What a VimConnectionInfo of a cluster has to say."""

    endpoint: str
    ca: str | None
    token: str | None
    client_cert: str | None
    client_key: str | None
    unverified: bool

    @classmethod
    def of(cls, info: VimConnectionInfo) -> "Connection":
        """Read it.

        :raises InvalidVimConnection: it says too little, or nonsense
        """
        interface, access = info.interface_info, info.access_info
        plain = {
            "endpoint": interface.get("endpoint") or "",
            "ca": interface.get("ssl_ca_cert") or access.get("ssl_ca_cert"),
            "token": access.get("bearer_token") or None,
            "client_cert": access.get("client_cert"),
            "client_key": access.get("client_key"),
            "unverified": interface.get("skipCertificateVerification", False),
        }
        try:
            made = msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise errors.InvalidVimConnection(
                f"The VIM connection is not valid: {error}."
            ) from None
        made.check()
        return made

    def check(self) -> None:
        """Make sure that all is said that is needed.

        :raises InvalidVimConnection: it is not
        """
        if not self.endpoint.startswith(("https://", "http://")):
            raise errors.InvalidVimConnection(
                "interfaceInfo.endpoint: the URL of the cluster is needed, "
                f"{self.endpoint!r} is none."
            )
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
        try:
            context = ssl.create_default_context(cadata=self.ca or None)
            if self.client_cert and self.client_key:
                with tempfile.NamedTemporaryFile("w") as file:
                    file.write(self.client_cert + "\n" + self.client_key)
                    file.flush()
                    context.load_cert_chain(file.name)
        except (ssl.SSLError, ValueError) as error:
            raise errors.InvalidVimConnection(
                f"A certificate or key is not valid PEM: {error}."
            ) from error
        if self.unverified:
            LOG.warning("%s is not verified by TLS", self.endpoint)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context
