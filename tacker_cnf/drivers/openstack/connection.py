"""How an OpenStack is reached: what a VimConnectionInfo says of it."""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from tacker_cnf import errors
from tacker_cnf.drivers import connection

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


class Connection(connection.Connection, frozen=True, kw_only=True):
    """What a VimConnectionInfo of an OpenStack has to say."""

    server: ClassVar[str] = "Keystone"

    region: str | None = None
    #: accessInfo, as far as it logs in
    access: Mapping[str, str]

    @staticmethod
    def login(access: dict[str, Any]) -> dict[str, Any]:
        names = (*_PASSWORD, *_APPLICATION)
        return {
            "region": access.get("region"),
            "access": {n: access[n] for n in names if access.get(n)},
        }

    @property
    def by_application(self) -> bool:
        """Whether an application credential logs in; it has a project."""
        return all(name in self.access for name in _APPLICATION)

    def check(self) -> None:
        super().check()
        missing = [name for name in _PASSWORD if name not in self.access]
        if missing and not self.by_application:
            raise errors.InvalidVimConnection(
                f"accessInfo: {', '.join(missing)} is needed to log in to "
                f"Keystone, or {' and '.join(_APPLICATION)}."
            )

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
