"""VNF packages as rows (SOL003 10.5.2.2)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import listing, models
from tacker_cnf.db.filtering import Column
from tacker_cnf.db.listing import Position, Wanted
from tacker_cnf.db.types import EnumName
from tacker_cnf.sol.vnf_package import (
    OnboardingState,
    OperationalState,
    UsageState,
)

Row = models.VnfPackage

#: what a list leaves out unless it is asked for (SOL003 10.4.2.3.2)
HEAVY: Final = frozenset(
    {
        "software_images",
        "additional_artifacts",
        "user_defined_data",
        "checksum",
    }
)
_USED: Final = sa.exists(models.VnfInstance.vnfd_id).where(
    models.VnfInstance.vnfd_id == Row.vnfd_id
)
_USAGE: Final = sa.type_coerce(
    sa.case(
        (_USED, UsageState.IN_USE.value), else_=UsageState.NOT_IN_USE.value
    ),
    EnumName(UsageState),
)
COLUMNS: Final[Mapping[str, Column]] = {
    "id": Row.id,
    "vnfd_id": Row.vnfd_id,
    "vnf_provider": Row.vnf_provider,
    "vnf_product_name": Row.vnf_product_name,
    "vnf_software_version": Row.vnf_software_version,
    "vnfd_version": Row.vnfd_version,
    "onboarding_state": Row.onboarding_state,
    "operational_state": Row.operational_state,
    "usage_state": _USAGE,
    # of the content, which it names
    "checksum": Row.content_id,
    "additional_artifacts": Row.additional_artifacts,
    "user_defined_data": Row.user_defined_data,
}


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


def find(
    session: orm.Session, wanted: Wanted
) -> Iterator[tuple[Position, dict[str, Any]]]:
    """List packages, the oldest first: where each stands, and what is in its
    wanted columns.
    """
    order = (Row.created_at, Row.id)
    return listing.rows(session, COLUMNS, order, wanted)


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
        get(session, package_id)  # or it was deleted meanwhile
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


def usage_state(session: orm.Session, package: Row) -> UsageState:
    """Tell whether VNF instances were made from this package."""
    found = session.scalar(sa.select(_USAGE).where(Row.id == package.id))
    return found or UsageState.NOT_IN_USE
