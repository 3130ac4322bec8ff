"""The names in the free-form attributes of VNF instances that are shown."""

from typing import Final

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import models, scope
from tacker_cnf.db.session import PACKAGE_NAMES, PUBLIC_NAMES
from tacker_cnf.lcm.shown_names import ShownNames
from tacker_cnf.sol import base
from tacker_cnf.vnfd.model import PublicNames

#: packages whose names are cached; the VNFD of a package never changes
CACHED_PACKAGES: Final = 1024


class _Vnfd(msgspec.Struct, rename="camel"):
    """The part of a stored VNFD that is read here."""

    public_names: PublicNames = PublicNames()


class NamesOfInstances:
    """Reads the names of VNF instances."""

    def __init__(self, session: orm.Session) -> None:
        self._session = session
        #: package -> the names that its VNFD declares
        self._cache: dict[str, PublicNames] = session.info[PACKAGE_NAMES]
        self._found: dict[str, ShownNames] = {}

    def of(self, instance_id: str) -> ShownNames:
        """Return the names of an instance, by the VNFD that it has now; of a
        deleted one those that the service and the operator define.
        """
        if instance_id not in self._found:
            row = models.VnfInstance
            package_id = self._session.scalar(
                sa.select(row.vnf_package_id).where(row.id == instance_id)
            )
            self._found[instance_id] = ShownNames(
                vnfd=self._of_package(package_id)
                if package_id
                else PublicNames(),
                operator=self._session.info[PUBLIC_NAMES],
            )
        return self._found[instance_id]

    def _of_package(self, package_id: str) -> PublicNames:
        names = self._cache.get(package_id)
        if names is None:
            row = models.VnfPackage
            # the client may read the instance
            text = self._session.scalar(
                sa.select(row.vnfd).where(row.id == package_id),
                execution_options=scope.EVERYWHERE,
            )
            names = base.decode(text or "{}", _Vnfd).public_names
            if len(self._cache) >= CACHED_PACKAGES:
                self._cache.clear()
            self._cache[package_id] = names
        return names


def of_instance(session: orm.Session, instance_id: str) -> ShownNames:
    """Return the names of one VNF instance."""
    return NamesOfInstances(session).of(instance_id)
