"""VNF packages as rows (SOL003 10.5.2.2)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import listing, models
from tacker_cnf.db.filtering import Column
from tacker_cnf.db.listing import ListQuery, Position
from tacker_cnf.db.session import ReferenceError  # noqa: A004
from tacker_cnf.db.types import EnumName
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_package import (
    OnboardingState,
    OperationalState,
    UploadVnfPackageFromUriRequest,
    UsageState,
)

Row = models.VnfPackage

#: what a list leaves out unless it is asked for (SOL005 9.4.2.3.2)
EXCLUDED_BY_DEFAULT: Final = frozenset(
    {
        "software_images",
        "additional_artifacts",
        "user_defined_data",
        "checksum",
        "onboarding_failure_details",
    }
)
#: states of a package that is fetched from elsewhere
_UPLOAD_STATES: Final = (OnboardingState.UPLOADING, OnboardingState.PROCESSING)
_USED: Final = sa.or_(
    sa.exists(models.VnfInstance.vnfd_id).where(
        models.VnfInstance.vnfd_id == Row.vnfd_id
    ),
    sa.exists(models.VnfdUse.vnfd_id).where(
        models.VnfdUse.vnfd_id == Row.vnfd_id
    ),
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
    "package_security_option": Row.package_security_option,
    "signing_certificate": Row.signing_certificate,
    "additional_artifacts": Row.additional_artifacts,
    "user_defined_data": Row.user_defined_data,
    "onboarding_failure_details": Row.onboarding_failure_details,
}


def add(session: orm.Session, package: Row) -> None:
    session.add(package)


def get(session: orm.Session, package_id: str, *, lock: bool = False) -> Row:
    """Read one package.

    :param lock: let nobody change it until the end of the transaction; this
        is to come first there, or MariaDB goes on with what was before
    :raises NotFound: there is none of this id
    """
    package = session.get(Row, package_id, with_for_update=lock or None)
    if package is None:
        raise errors.NotFound(f"There is no VNF package {package_id}.")
    return package


def find(
    session: orm.Session, query: ListQuery
) -> Iterator[tuple[Position, dict[str, Any]]]:
    """List packages, the oldest first: where each stands, and what is in its
    wanted columns.
    """
    order = (Row.created_at, Row.id)
    return listing.rows(session, COLUMNS, order, query)


def get_content_id_by_vnfd(session: orm.Session, vnfd_id: str) -> str | None:
    """Tell which content holds a VNFD; None when no package has it."""
    return session.scalar(
        sa.select(Row.content_id).where(Row.vnfd_id == vnfd_id)
    )


def get_id_by_vnfd(session: orm.Session, vnfd_id: str) -> str | None:
    """Tell which package holds a VNFD; None: there is none."""
    return session.scalar(sa.select(Row.id).where(Row.vnfd_id == vnfd_id))


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


def record_use(session: orm.Session, instance_id: str, vnfd_id: str) -> None:
    """Keep the package of a VNFD that an operation takes an instance to.

    :raises VnfdNotUsable: no package has this VNFD, or it is disabled
    """
    check_usable(session, vnfd_id)
    table = models.VnfdUse
    try:
        session.add(table(vnf_instance_id=instance_id, vnfd_id=vnfd_id))
        session.flush()
    except ReferenceError:
        raise errors.VnfdNotUsable(
            f"The VNF package of VNFD {vnfd_id} was just deleted."
        ) from None


def onboard(
    session: orm.Session,
    package_id: str,
    content: Row,
    attempt: int | None = None,
) -> None:
    """Give a package its content, once.

    :param attempt: the try that has fetched it; None: it was created only

    :raises WrongState: it has content already, or it is fetched elsewhere
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
            "package_security_option",
            "signing_certificate",
            "additional_artifacts",
            "vnfd",
        )
    }
    result = session.connection().execute(
        sa.update(Row)
        .where(
            Row.id == package_id,
            _is_attempt(OnboardingState.PROCESSING, attempt)
            if attempt
            else Row.onboarding_state == OnboardingState.CREATED,
        )
        .values(
            onboarding_state=OnboardingState.ONBOARDED,
            operational_state=OperationalState.ENABLED,
            onboarding_failure_details=None,
            upload=None,
            upload_attempt=None,
            **values,
        )
    )
    if result.rowcount != 1:
        check_empty(get(session, package_id))  # or it was deleted meanwhile
        raise errors.WrongState(f"VNF package {package_id} has changed.")


def check_empty(package: Row) -> None:
    """Make sure that a package has no content, and gets none.

    :raises WrongState: it has, or it does
    """
    state = package.onboarding_state
    if state == OnboardingState.ONBOARDED:
        raise errors.WrongState(
            f"VNF package {package.id} has its content already."
        )
    if state != OnboardingState.CREATED:
        raise errors.WrongState(f"VNF package {package.id} is {state}.")


def _is_attempt(
    state: OnboardingState, attempt: int
) -> sa.ColumnElement[bool]:
    return sa.and_(
        Row.onboarding_state == state, Row.upload_attempt == attempt
    )


def begin_upload(
    session: orm.Session,
    package_id: str,
    upload: UploadVnfPackageFromUriRequest,
) -> None:
    """Note from where a package is to be fetched.

    :raises WrongState: it has content already, or it is being fetched
    """
    result = session.connection().execute(
        sa.update(Row)
        .where(
            Row.id == package_id,
            Row.onboarding_state == OnboardingState.CREATED,
        )
        .values(
            onboarding_state=OnboardingState.UPLOADING,
            onboarding_failure_details=None,
            upload=upload,
            upload_attempt=0,
        )
    )
    if result.rowcount != 1:
        check_empty(get(session, package_id))
        raise errors.WrongState(f"VNF package {package_id} has changed.")


def list_uploads(session: orm.Session) -> Sequence[str]:
    """Tell which packages are to be fetched."""
    return session.scalars(
        sa.select(Row.id)
        .where(Row.onboarding_state.in_(_UPLOAD_STATES))
        .order_by(Row.created_at)
    ).all()


def claim_upload(
    session: orm.Session, package_id: str
) -> tuple[UploadVnfPackageFromUriRequest, int] | None:
    """Begin to fetch a package, or begin again; tell which try this is."""
    package = session.get(Row, package_id, with_for_update=True)
    if (
        package is None
        or package.onboarding_state not in _UPLOAD_STATES
        or package.upload is None
    ):
        return None
    attempt = (package.upload_attempt or 0) + 1
    package.onboarding_state = OnboardingState.UPLOADING
    package.upload_attempt = attempt
    return package.upload, attempt


def release_upload(
    session: orm.Session, package_id: str, attempt: int
) -> None:
    """Leave a package to the next try, as if this one had not been."""
    session.connection().execute(
        sa.update(Row)
        .where(
            Row.id == package_id,
            _is_attempt(OnboardingState.UPLOADING, attempt),
        )
        .values(upload_attempt=attempt - 1)
    )


def process_upload(
    session: orm.Session, package_id: str, attempt: int
) -> None:
    """Note that a package is fetched and is to be checked.

    :raises WrongState: it was deleted, or another conductor fetches it
    """
    result = session.connection().execute(
        sa.update(Row)
        .where(
            Row.id == package_id,
            _is_attempt(OnboardingState.UPLOADING, attempt),
        )
        .values(onboarding_state=OnboardingState.PROCESSING)
    )
    if result.rowcount != 1:
        raise errors.WrongState(
            f"VNF package {package_id} is no longer to be fetched here."
        )


def fail_upload(
    session: orm.Session,
    package_id: str,
    attempt: int,
    problem: ProblemDetails,
) -> None:
    """Make a package CREATED again, if this try to fetch it is the last."""
    session.connection().execute(
        sa.update(Row)
        .where(
            Row.id == package_id,
            Row.onboarding_state.in_(_UPLOAD_STATES),
            Row.upload_attempt == attempt,
        )
        .values(
            onboarding_state=OnboardingState.CREATED,
            onboarding_failure_details=problem,
            upload=None,
            upload_attempt=None,
        )
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
