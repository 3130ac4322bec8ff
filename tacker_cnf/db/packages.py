"""VNF packages (SOL003 10.5.2.2)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import listing, models
from tacker_cnf.db.filtering import Column
from tacker_cnf.db.session import ReferenceError  # noqa: A004
from tacker_cnf.db.types import EnumName
from tacker_cnf.list_query import ListQuery, Position
from tacker_cnf.sol.problem import ProblemDetails
from tacker_cnf.sol.vnf_package import (
    OnboardingState,
    OperationalState,
    UploadVnfPackageFromUriRequest,
    UsageState,
)

Row = models.VnfPackage

#: states of a package that is being fetched from a URI
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
    # the content ID is the checksum
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
    """Return one package.

    :param lock: lock its row until the end of the transaction; it has to be
        the first read of the transaction, or MariaDB returns older values
    :raises NotFound: the package does not exist
    """
    package = session.get(Row, package_id, with_for_update=lock or None)
    if package is None:
        raise _not_found(package_id)
    return package


def _not_found(package_id: str) -> errors.NotFound:
    return errors.NotFound(f"There is no VNF package {package_id}.")


def get_attributes(session: orm.Session, package_id: str) -> dict[str, Any]:
    """Return one package: column -> value, as find() does.

    :raises NotFound: the package does not exist
    """
    row = session.execute(
        sa.select(*(c.label(name) for name, c in COLUMNS.items())).where(
            Row.id == package_id
        )
    ).one_or_none()
    if row is None:
        raise _not_found(package_id)
    return {n: v for n, v in row._mapping.items() if v is not None}  # noqa: SLF001


def find(
    session: orm.Session, query: ListQuery
) -> Iterator[tuple[Position, dict[str, Any]]]:
    """List packages, oldest first: position, and requested column -> value."""
    order = (Row.created_at, Row.id)
    return listing.rows(session, COLUMNS, order, query)


def get_content_id_by_vnfd(session: orm.Session, vnfd_id: str) -> str | None:
    """Return the content ID of a VNFD; None: no package has the VNFD."""
    return session.scalar(
        sa.select(Row.content_id).where(Row.vnfd_id == vnfd_id)
    )


def get_id_by_vnfd(session: orm.Session, vnfd_id: str) -> str | None:
    """Return the package ID of a VNFD; None: no package has the VNFD."""
    return session.scalar(sa.select(Row.id).where(Row.vnfd_id == vnfd_id))


def is_signed(session: orm.Session, content_id: str) -> bool:
    """Return whether a valid signature of this content was verified."""
    return bool(
        session.scalar(
            sa.select(
                sa.exists().where(
                    Row.content_id == content_id,
                    Row.package_security_option.is_not(None),
                )
            )
        )
    )


def vnfd_text(session: orm.Session, vnfd_id: str) -> str | None:
    """Return the parsed VNFD of a package, as JSON."""
    return session.scalar(sa.select(Row.vnfd).where(Row.vnfd_id == vnfd_id))


def check_usable(session: orm.Session, vnfd_id: str) -> None:
    """Check that VNF instances can be created from a VNFD.

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
    """Record that an operation changes an instance to a VNFD, so that its
    package cannot be deleted.

    :raises VnfdNotUsable: no package has this VNFD, or it is disabled
    """
    check_usable(session, vnfd_id)
    table = models.VnfdUse
    try:
        session.add(table(vnf_instance_id=instance_id, vnfd_id=vnfd_id))
        session.flush()
    except ReferenceError:
        raise errors.VnfdNotUsable(
            f"The VNF package of VNFD {vnfd_id} has just been deleted."
        ) from None


def onboard(
    session: orm.Session,
    package_id: str,
    content: Row,
    attempt: int | None = None,
) -> None:
    """Store the content of a package, once.

    :param attempt: the attempt that has fetched it; None: it was uploaded
    :raises WrongState: the package has content already, or another attempt
        fetches it
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
    """Check that a package has no content, and is not being fetched.

    :raises WrongState: it has content, or is being fetched
    """
    state = package.onboarding_state
    if state == OnboardingState.ONBOARDED:
        raise errors.WrongState(
            f"VNF package {package.id} already has its content."
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
    """Record the URI from which to fetch a package.

    :raises WrongState: it has content already, or is being fetched
    """
    statement = (
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
    result = cast("sa.CursorResult[Any]", session.execute(statement))
    if result.rowcount != 1:
        check_empty(get(session, package_id))
        raise errors.WrongState(f"VNF package {package_id} has changed.")


def list_uploads(session: orm.Session) -> Sequence[str]:
    """List the packages to fetch."""
    return session.scalars(
        sa.select(Row.id)
        .where(Row.onboarding_state.in_(_UPLOAD_STATES))
        .order_by(Row.created_at)
    ).all()


def claim_upload(
    session: orm.Session, package_id: str
) -> tuple[UploadVnfPackageFromUriRequest, int] | None:
    """Start to fetch a package; return the request and the number of the
    attempt. None: it is not to be fetched.
    """
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
    """Release a package for another attempt; this one does not count."""
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
    """Record that a package was fetched and is being checked.

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
            f"VNF package {package_id} was deleted, or another conductor "
            "fetches it."
        )


def fail_upload(
    session: orm.Session,
    package_id: str,
    attempt: int,
    problem: ProblemDetails,
) -> None:
    """Set a package to CREATED again, if no later attempt fetches it."""
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
    """Return whether a package has this content."""
    return bool(
        session.scalar(
            sa.select(sa.exists().where(Row.content_id == content_id))
        )
    )
