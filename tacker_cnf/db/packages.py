"""VNF packages as rows (SOL003 10.5.2.2)."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import models
from tacker_cnf.sol.vnf_package import (
    OnboardingState,
    OperationalState,
    UsageState,
)

Row = models.VnfPackage


def add(session: orm.Session, package: Row) -> None:
    session.add(package)


def get(session: orm.Session, package_id: str) -> Row:
    """Read one package.

    :raises NotFound: there is none of this id
    """
    package = session.get(Row, package_id)
    if package is None:
        raise errors.NotFound(f"There is no VNF package {package_id}.")
    return package


def find(session: orm.Session) -> Sequence[Row]:
    """List all packages, the oldest first, without their VNFDs."""
    return session.scalars(
        sa.select(Row)
        .options(orm.defer(Row.vnfd))
        .order_by(Row.created_at, Row.id)
    ).all()


def content_id_of_vnfd(session: orm.Session, vnfd_id: str) -> str | None:
    """Tell which content holds a VNFD; None when no package has it."""
    return session.scalar(
        sa.select(Row.content_id).where(Row.vnfd_id == vnfd_id)
    )


def vnfd_text(session: orm.Session, vnfd_id: str) -> str | None:
    """Read the parsed VNFD of a package, as JSON."""
    return session.scalar(sa.select(Row.vnfd).where(Row.vnfd_id == vnfd_id))


def check_usable(session: orm.Session, vnfd_id: str) -> None:
    """Make sure that VNF instances may be made of a VNFD now.

    :raises VnfdNotUsable: no package has this VNFD, or it is disabled
    """
    found = session.execute(
        sa.select(Row.id, Row.operational_state).where(Row.vnfd_id == vnfd_id)
    ).one_or_none()
    if found is None:
        raise errors.VnfdNotUsable(f"No VNF package has the VNFD {vnfd_id}.")
    package_id, state = found
    if state != OperationalState.ENABLED:
        raise errors.VnfdNotUsable(
            f"The VNF package {package_id} of VNFD {vnfd_id} is disabled."
        )


def onboard(session: orm.Session, package_id: str, content: Row) -> None:
    """Give a created package its content, once.

    :raises WrongState: it has content already
    :raises DuplicateEntry: another package has this VNFD (at flush)
    """
    values = {
        column: getattr(content, column)
        for column in (
            "content_id",
            "vnfd_id",
            "vnf_provider",
            "vnf_product_name",
            "vnf_software_version",
            "vnfd_version",
            "additional_artifacts",
            "vnfd",
        )
    }
    got = session.connection().execute(
        sa.update(Row)
        .where(
            Row.id == package_id,
            Row.onboarding_state == OnboardingState.CREATED,
        )
        .values(
            onboarding_state=OnboardingState.ONBOARDED,
            operational_state=OperationalState.ENABLED,
            **values,
        )
    )
    if got.rowcount != 1:
        raise errors.WrongState(
            f"VNF package {package_id} has its content already."
        )


def delete(session: orm.Session, package: Row) -> None:
    session.delete(package)


def content_in_use(session: orm.Session, content_id: str) -> bool:
    """Tell whether any package has this content."""
    return bool(
        session.scalar(
            sa.select(sa.exists().where(Row.content_id == content_id))
        )
    )


def used_vnfds(
    session: orm.Session, vnfd_ids: Sequence[str | None]
) -> frozenset[str]:
    """Tell which of these VNFDs have VNF instances."""
    instance = models.VnfInstance
    return frozenset(
        session.scalars(
            sa.select(instance.vnfd_id)
            .where(instance.vnfd_id.in_([v for v in vnfd_ids if v]))
            .distinct()
        )
    )


def usage_state(session: orm.Session, package: Row) -> UsageState:
    """Tell whether VNF instances were made from this package."""
    if used_vnfds(session, [package.vnfd_id]):
        return UsageState.IN_USE
    return UsageState.NOT_IN_USE
