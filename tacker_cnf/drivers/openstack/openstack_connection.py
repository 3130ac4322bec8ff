"""Address and credentials of an OpenStack, from a VimConnectionInfo."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from tacker_cnf import errors
from tacker_cnf.drivers import vim_connection
from tacker_cnf.drivers.base import RegisteredVim
from tacker_cnf.drivers.vim_connection import CA
from tacker_cnf.sol.common import VimConnectionInfo

#: the keys of accessInfo that each method of authentication requires
_PASSWORD_KEYS: Final = (
    "username",
    "password",
    "project",
    "userDomain",
    "projectDomain",
)
_APPLICATION_CREDENTIAL_KEYS: Final = (
    "applicationCredentialId",
    "applicationCredentialSecret",
)


VIM_TYPE: Final = "ETSINFV.OPENSTACK_KEYSTONE.V_3"


def of_vim(vim: RegisteredVim) -> VimConnectionInfo:
    """Convert a registered VIM."""
    cred, project = vim.auth_cred, vim.vim_project
    access = {
        "username": cred.get("username"),
        "password": cred.get("password"),
        "region": vim.extra.get("region"),
        "project": project.get("name"),
        "projectDomain": project.get("project_domain_name"),
        "userDomain": cred.get("user_domain_name"),
        "applicationCredentialId": cred.get("application_credential_id"),
        "applicationCredentialSecret": cred.get(
            "application_credential_secret"
        ),
    }
    verify = str(cred.get("cert_verify", "True")).lower() != "false"
    return VimConnectionInfo(
        vim_id=vim.id,
        vim_type=VIM_TYPE,
        interface_info={
            "endpoint": vim.auth_url,
            "skipCertificateVerification": not verify,
            **({CA: cred[CA]} if cred.get(CA) else {}),
        },
        access_info={k: v for k, v in access.items() if v is not None},
        extra=dict(vim.extra),
    )


class Connection(vim_connection.VimConnection, frozen=True, kw_only=True):
    """The attributes read of the VimConnectionInfo of an OpenStack."""

    server: ClassVar[str] = "Keystone"

    region: str | None = None
    #: the credentials in accessInfo
    access: Mapping[str, str]

    @staticmethod
    def login_attributes(access: dict[str, Any]) -> dict[str, Any]:
        names = (*_PASSWORD_KEYS, *_APPLICATION_CREDENTIAL_KEYS)
        return {
            "region": access.get("region"),
            "access": {n: access[n] for n in names if access.get(n)},
        }

    @property
    def uses_application_credential(self) -> bool:
        """Whether to use the application credential, which has a project."""
        return all(
            name in self.access for name in _APPLICATION_CREDENTIAL_KEYS
        )

    def check(self) -> None:
        super().check()
        missing = [name for name in _PASSWORD_KEYS if name not in self.access]
        if missing and not self.uses_application_credential:
            raise errors.InvalidVimConnection(
                f"accessInfo: {', '.join(missing)} is required by Keystone, "
                f"or {' and '.join(_APPLICATION_CREDENTIAL_KEYS)}."
            )

    def credentials(self) -> dict[str, Any]:
        """Return the keyword arguments of the keystoneauth plugin."""
        access = self.access
        if self.uses_application_credential:
            return {
                "application_credential_id": access[
                    _APPLICATION_CREDENTIAL_KEYS[0]
                ],
                "application_credential_secret": access[
                    _APPLICATION_CREDENTIAL_KEYS[1]
                ],
            }
        return {
            "username": access["username"],
            "password": access["password"],
            "project_name": access["project"],
            "user_domain_name": access["userDomain"],
            "project_domain_name": access["projectDomain"],
        }
