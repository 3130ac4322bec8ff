"""How an OpenStack is reached: what a VimConnectionInfo says of it."""

import ssl
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.sol.common import VimConnectionInfo

LOG = log.getLogger(__name__)

#: what each way to log in needs, in the words of accessInfo
_PASSWORD: Final = (
    "username",
    "password",
    "project",
    "userDomain",
    "projectDomain",
)
_APPLICATION: Final = (
    "applicationCredentialId",
    "applicationCredentialSecret",
)


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """What a VimConnectionInfo of an OpenStack has to say."""

    #: of Keystone
    endpoint: str
    #: PEM; None: those that the operating system trusts
    ca: str | None = None
    unverified: bool = False
    region: str | None = None
    #: accessInfo, as far as it logs in
    access: Mapping[str, str]

    @classmethod
    def of(cls, info: VimConnectionInfo) -> "Connection":
        """Read it.

        :raises InvalidVimConnection: it says too little, or nonsense
        """
        interface, access = info.interface_info, info.access_info
        names = (*_PASSWORD, *_APPLICATION)
        plain = {
            "endpoint": interface.get("endpoint") or "",
            "ca": interface.get("ssl_ca_cert") or access.get("ssl_ca_cert"),
            "unverified": interface.get("skipCertificateVerification", False),
            "region": access.get("region"),
            "access": {n: access[n] for n in names if access.get(n)},
        }
        try:
            made = msgspec.convert(plain, cls)
        except msgspec.ValidationError as error:
            raise errors.InvalidVimConnection(
                f"The VIM connection is not valid: {error}."
            ) from None
        made.check()
        return made

    @property
    def by_application(self) -> bool:
        """Whether an application credential logs in; it has a project."""
        return all(name in self.access for name in _APPLICATION)

    def check(self) -> None:
        """Make sure that all is said that is needed.

        :raises InvalidVimConnection: it is not
        """
        if not self.endpoint.startswith(("https://", "http://")):
            raise errors.InvalidVimConnection(
                "interfaceInfo.endpoint: the URL of Keystone is needed, "
                f"{self.endpoint!r} is none."
            )
        missing = [name for name in _PASSWORD if name not in self.access]
        if missing and not self.by_application:
            raise errors.InvalidVimConnection(
                f"accessInfo: {', '.join(missing)} is needed to log in to "
                f"Keystone, or {' and '.join(_APPLICATION)}."
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

    def credentials(self) -> dict[str, Any]:
        """Give the arguments of keystoneauth's plugin."""
        access = self.access
        if self.by_application:
            return {
                "application_credential_id": access[_APPLICATION[0]],
                "application_credential_secret": access[_APPLICATION[1]],
            }
        return {
            "username": access["username"],
            "password": access["password"],
            "project_name": access["project"],
            "user_domain_name": access["userDomain"],
            "project_domain_name": access["projectDomain"],
        }
