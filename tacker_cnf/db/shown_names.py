"""The names in the free-form attributes of VNF instances that are shown."""

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import models
from tacker_cnf.db.session import PUBLIC_NAMES
from tacker_cnf.lcm.shown_names import ShownNames
from tacker_cnf.sol import base
from tacker_cnf.vnfd.model import PublicNames


class _Vnfd(msgspec.Struct, rename="camel"):
    """The part of a stored VNFD that is read here."""

    public_names: PublicNames = PublicNames()


class NamesOfInstances:
    """Reads the names of VNF instances; those of a package once."""

    def __init__(self, session: orm.Session) -> None:
        self._session = session
        self._operator: frozenset[str] = session.info[PUBLIC_NAMES]
        self._packages: dict[str, str | None] = {}
        self._names: dict[str | None, PublicNames] = {None: PublicNames()}

    def of(self, instance_id: str) -> ShownNames:
        """Return the names of an instance, by the VNFD that it has now; of a
        deleted one those that the service and the operator define.
        """
        if instance_id not in self._packages:
            row = models.VnfInstance
            self._packages[instance_id] = self._session.scalar(
                sa.select(row.vnf_package_id).where(row.id == instance_id)
            )
        return ShownNames(
            vnfd=self._of_package(self._packages[instance_id]),
            operator=self._operator,
        )

    def _of_package(self, package_id: str | None) -> PublicNames:
        if package_id not in self._names:
            row = models.VnfPackage
            text = self._session.scalar(
                sa.select(row.vnfd).where(row.id == package_id)
            )
            self._names[package_id] = base.decode(
                text or "{}", _Vnfd
            ).public_names
        return self._names[package_id]


def of_instance(session: orm.Session, instance_id: str) -> ShownNames:
    """Return the names of one VNF instance."""
    return NamesOfInstances(session).of(instance_id)
