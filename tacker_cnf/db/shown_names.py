"""The names in the free-form attributes of VNF instances that are shown."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf.db import models, scope
from tacker_cnf.db.session import PACKAGE_NAMES, PUBLIC_NAMES
from tacker_cnf.lcm.shown_names import DEFAULT, ShownNames
from tacker_cnf.sol import base
from tacker_cnf.vnfd.model import PublicNames

#: packages whose names are cached; the VNFD of a package never changes
CACHED_PACKAGES: Final = 1024
#: entries of a list whose names are read at a time
BATCH_SIZE: Final = 200

T = TypeVar("T")


class _Vnfd(msgspec.Struct, rename="camel"):
    """The part of a stored VNFD that is read here."""

    public_names: PublicNames = PublicNames()


def with_names(
    session: orm.Session,
    entries: Iterable[T],
    instance_id_of: Callable[[T], str],
    *,
    are_used: bool = True,
) -> Iterator[tuple[T, ShownNames]]:
    """Add to each entry of a list the names of its VNF instance.

    :param instance_id_of: returns the ID of the instance of an entry
    :param are_used: whether the entries have free-form attributes; if not,
        nothing is read
    """
    if not are_used:
        yield from ((entry, DEFAULT) for entry in entries)
        return
    remaining = iter(entries)
    while batch := list(itertools.islice(remaining, BATCH_SIZE)):
        names = _read(session, {instance_id_of(entry) for entry in batch})
        for entry in batch:
            yield entry, names[instance_id_of(entry)]


def of_instance(session: orm.Session, instance_id: str) -> ShownNames:
    """Return the names of one VNF instance."""
    return _read(session, {instance_id})[instance_id]


def _read(
    session: orm.Session, instance_ids: set[str]
) -> dict[str, ShownNames]:
    """Return the names of instances, by the VNFDs that they have now; of
    deleted ones those that the service and the operator define.
    """
    row = models.VnfInstance
    found = scope.rows(
        session,
        sa.select(row.id, row.vnf_package_id).where(row.id.in_(instance_ids)),
    )
    names = dict.fromkeys(instance_ids, of_package(session, None))
    for instance_id, package_id in found.all():
        names[instance_id] = of_package(session, package_id)
    return names


def of_package(session: orm.Session, package_id: str | None) -> ShownNames:
    """Return the names of the VNF instances of a package.

    :param package_id: None: of an instance that was deleted
    """
    operator = session.info[PUBLIC_NAMES]
    if package_id is None:
        return ShownNames(operator=operator)
    vnfd = _declared_by(session, package_id)
    return ShownNames(vnfd=vnfd, operator=operator)


def _declared_by(session: orm.Session, package_id: str) -> PublicNames:
    #: package -> the names that its VNFD declares
    cache: dict[str, PublicNames] = session.info[PACKAGE_NAMES]
    names = cache.get(package_id)
    if names is None:
        row = models.VnfPackage
        # the client may read the instance
        text = session.scalar(
            sa.select(row.vnfd).where(row.id == package_id),
            execution_options=scope.EVERYWHERE,
        )
        names = base.decode(text or "{}", _Vnfd).public_names
        if len(cache) >= CACHED_PACKAGES:
            cache.clear()
        cache[package_id] = names
    return names
