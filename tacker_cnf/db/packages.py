"""VNF packages (SOL003 10.5.2.2)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import sqlalchemy as sa
from sqlalchemy import orm

from tacker_cnf import errors
from tacker_cnf.db import listing, models, scope
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
#: the users of all projects, also in the session of a client: these are
#: tables, which scope does not limit
_INSTANCES: Final = models.VnfInstance.__table__.c
_USES: Final = models.VnfdUse.__table__.c
_USED: Final = sa.or_(
    sa.exists(_INSTANCES.id).where(_INSTANCES.vnf_package_id == Row.id),
    sa.exists(_USES.vnf_instance_id).where(_USES.vnf_package_id == Row.id),
)
_USAGE: Final = sa.type_coerce(
    sa.case(
        (_USED, UsageState.IN_USE.value), else_=UsageState.NOT_IN_USE.value
    ),
    EnumName(UsageState),
)
_SAME_CONTENT: Final = models.VnfPackage.__table__.alias().c
#: the package of a VNFD that a project may use; there is at most one
_OF_VNFD: Final = sa.select(
    Row.id,
    Row.content_id,
    Row.operational_state,
    sa.exists(_SAME_CONTENT.id)
    .where(
        _SAME_CONTENT.content_id == Row.content_id,
        _SAME_CONTENT.package_security_option.is_not(None),
    )
    .label("is_signed"),
).where(
    Row.vnfd_id == sa.bindparam("vnfd_id"),
    scope.usable_by(Row, sa.bindparam("project_id")),
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
    "warnings": Row.onboarding_warnings,
    "project_id": Row.project_id,
    "is_public": Row.is_public,
}


class OnboardedPackage(NamedTuple):
    """A package with content."""

    id: str
    content_id: str
    operational_state: OperationalState
    #: whether a valid signature of this content was verified
    is_signed: bool


class ClaimedUpload(NamedTuple):
    """An attempt to fetch a package."""

    request: UploadVnfPackageFromUriRequest
    #: its number
    attempt: int
    #: whether the client may upload a package with code
    allows_code: bool


def add(session: orm.Session, package: Row) -> None:
    session.add(package)


def get(session: orm.Session, package_id: str, *, lock: bool = False) -> Row:
    """Return one package.

    :param lock: lock its row until the end of the transaction; it has to be
        the first read of the transaction, or MariaDB returns older values
    :raises NotFound: the package does not exist
    :raises Forbidden: the policy does not allow the client this package
    """
    package = session.get(Row, package_id, with_for_update=lock or None)
    if package is None:
        raise _not_found(package_id)
    scope.authorize(session, scope.owner_of(package))
    return package


def _not_found(package_id: str) -> errors.NotFound:
    return errors.NotFound(f"There is no VNF package {package_id}.")


def get_attributes(session: orm.Session, package_id: str) -> dict[str, Any]:
    """Return one package: column -> value, as find() does.

    :raises NotFound: the package does not exist
    :raises Forbidden: the policy does not allow the client this package
    """
    row = scope.rows(
        session,
        sa.select(
            *(c.label(name) for name, c in COLUMNS.items()), Row.user_id
        ).where(Row.id == package_id),
    ).one_or_none()
    if row is None:
        raise _not_found(package_id)
    scope.authorize(session, scope.owner_of(row))
    values = {name: getattr(row, name) for name in COLUMNS}
    return {n: v for n, v in values.items() if v is not None}


def find(
    session: orm.Session, query: ListQuery
) -> Iterator[tuple[Position, dict[str, Any]]]:
    """List packages, oldest first: position, and requested column -> value."""
    order = (Row.created_at, Row.id)
    return listing.rows(session, COLUMNS, order, query)


def find_of_vnfd(
    session: orm.Session, vnfd_id: str, project_id: str
) -> OnboardedPackage | None:
    """Return the package of a VNFD that a project may use; None: no such
    package has the VNFD.
    """
    row = scope.rows(
        session, _OF_VNFD, {"vnfd_id": vnfd_id, "project_id": project_id}
    ).one_or_none()
    return OnboardedPackage(*row) if row else None  # type: ignore[arg-type]


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


def find_vnfd_id(session: orm.Session, package_id: str) -> str | None:
    """Return the VNFD of a package that the client may use; None: no such
    package has one.
    """
    return session.scalar(sa.select(Row.vnfd_id).where(Row.id == package_id))


def check_new_vnfd(
    session: orm.Session, package_id: str, vnfd_id: str
) -> None:
    """Check that no project would have two packages of a VNFD.

    :param package_id: the package that gets content
    :raises NotFound: the package was deleted
    :raises Conflict: another package that its project may use has the VNFD
    """
    package = get(session, package_id)
    project_id = package.project_id
    other = find_of_vnfd(session, vnfd_id, project_id)
    if other and other.id != package_id:
        raise errors.Conflict(
            f"VNF package {other.id} contains the VNFD {vnfd_id} already."
        )


def vnfd_text(session: orm.Session, content_id: str) -> str | None:
    """Return the parsed VNFD of a content, as JSON."""
    return session.scalar(
        sa.select(Row.vnfd).where(Row.content_id == content_id).limit(1)
    )


def get_usable(session: orm.Session, vnfd_id: str, project_id: str) -> str:
    """Return the ID of the package from which a project can create VNF
    instances of a VNFD.

    :raises VnfdNotUsable: no package has this VNFD, or it is disabled
    """
    found = find_of_vnfd(session, vnfd_id, project_id)
    if found is None:
        raise errors.UnknownVnfd(f"No VNF package has the VNFD {vnfd_id}.")
    if found.operational_state is not OperationalState.ENABLED:
        raise errors.VnfdNotUsable(
            f"The VNF package {found.id} of VNFD {vnfd_id} is disabled."
        )
    return found.id


def record_use(
    session: orm.Session, instance_id: str, vnfd_id: str, project_id: str
) -> None:
    """Record that an operation changes an instance to a VNFD, so that its
    package cannot be deleted.

    :param project_id: the project of the instance
    :raises VnfdNotUsable: no package has this VNFD, or it is disabled
    """
    package_id = get_usable(session, vnfd_id, project_id)
    try:
        session.add(
            models.VnfdUse(
                vnf_instance_id=instance_id, vnf_package_id=package_id
            )
        )
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
            "content_bytes",
            "vnfd_id",
            "vnf_provider",
            "vnf_product_name",
            "vnf_software_version",
            "vnfd_version",
            "package_security_option",
            "signing_certificate",
            "additional_artifacts",
            "onboarding_warnings",
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
            upload_allows_code=None,
            upload_attempt=None,
            **values,
        )
    )
    if result.rowcount != 1:
        check_empty(get(session, package_id))  # or it was deleted meanwhile
        raise errors.WrongState(f"VNF package {package_id} has changed.")


def check_onboarded(package: Row) -> None:
    """Check that a package has content.

    :raises WrongState: it has none
    """
    if package.onboarding_state != OnboardingState.ONBOARDED:
        raise errors.WrongState(
            f"VNF package {package.id} is {package.onboarding_state}, "
            "not ONBOARDED."
        )


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
    *,
    allows_code: bool,
) -> None:
    """Record the URI from which to fetch a package.

    :param allows_code: whether the client may upload a package with code
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
            upload_allows_code=allows_code,
            upload_attempt=0,
        )
    )
    result = cast("sa.CursorResult[Any]", session.execute(statement))
    if result.rowcount != 1:
        check_empty(get(session, package_id))
        raise errors.WrongState(f"VNF package {package_id} has changed.")


def list_uploads(session: orm.Session) -> Sequence[tuple[str, str]]:
    """List the packages to fetch, and their projects."""
    rows = scope.rows(
        session,
        sa.select(Row.id, Row.project_id)
        .where(Row.onboarding_state.in_(_UPLOAD_STATES))
        .order_by(Row.created_at),
    )
    return rows.tuples().all()


def claim_upload(
    session: orm.Session, package_id: str
) -> ClaimedUpload | None:
    """Start to fetch a package; None: it is not to be fetched."""
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
    return ClaimedUpload(
        package.upload, attempt, bool(package.upload_allows_code)
    )


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
            upload_allows_code=None,
            upload_attempt=None,
        )
    )


def list_unmeasured(session: orm.Session) -> Sequence[str]:
    """List the content that an earlier release stored, without its size."""
    found = session.scalars(
        sa.select(Row.content_id)
        .where(Row.content_id.is_not(None), Row.content_bytes.is_(None))
        .distinct()
    )
    return [content_id for content_id in found if content_id]


def list_content(session: orm.Session) -> Sequence[tuple[str, str]]:
    """List the packages that have content: ID, and that of the content."""
    rows = scope.rows(
        session,
        sa.select(Row.id, Row.content_id)
        .where(Row.content_id.is_not(None))
        .order_by(Row.created_at),
    )
    return rows.tuples().all()  # type: ignore[return-value]


def set_content_bytes(
    session: orm.Session, content_id: str, size: int
) -> None:
    """Set the size of content, in bytes."""
    session.connection().execute(
        sa.update(Row)
        .where(Row.content_id == content_id)
        .values(content_bytes=size)
    )


def delete(session: orm.Session, package: Row) -> None:
    session.delete(package)


def content_in_use(session: orm.Session, content_id: str) -> bool:
    """Return whether a package of any project has this content."""
    return bool(
        session.scalar(
            sa.select(sa.exists().where(Row.content_id == content_id)),
            execution_options=scope.EVERYWHERE,
        )
    )
