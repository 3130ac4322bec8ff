"""VNF packages: create, onboard, enable, read, delete (SOL003 clause 10)."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from tacker_cnf import errors
from tacker_cnf.catalogue import unpacked
from tacker_cnf.catalogue.download_policy import DownloadPolicy
from tacker_cnf.catalogue.packages import Packages, empty_package
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.context import Owner, RequestContext
from tacker_cnf.db import (
    idempotency,
    listing,
    models,
    outbox,
    packages,
    quotas,
    scope,
    sharing,
)
from tacker_cnf.db.quotas import Resource
from tacker_cnf.db.session import (
    ReferenceError,  # noqa: A004
    Session,
    Store,
)
from tacker_cnf.lcm import merge
from tacker_cnf.list_query import ListQuery, Position
from tacker_cnf.preconditions import Preconditions
from tacker_cnf.rpc import ConductorClient
from tacker_cnf.services.idempotency import run_once
from tacker_cnf.services.slots import Slots
from tacker_cnf.sol.common import Checksum
from tacker_cnf.sol.package_notification import PackageChangeType
from tacker_cnf.sol.vnf_package import (
    AuthType,
    OnboardingState,
    OperationalState,
    UploadVnfPackageFromUriRequest,
    VnfPkgInfo,
    VnfPkgInfoModifications,
)

#: attributes that the database can compare
COMPARABLE: Final = listing.comparable(packages.COLUMNS)
#: whether a policy allows the client something, by the owner of the resource
OwnerCheck = Callable[[Owner], bool]


class PackageService:
    """Creates, onboards, enables, reads and deletes VNF packages."""

    def __init__(
        self,
        store: Store,
        catalogue: Packages,
        policy: DownloadPolicy,
        rpc: ConductorClient,
        upload_slots: Slots,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._policy = policy
        self._rpc = rpc
        self._upload_slots = upload_slots

    def create(
        self,
        context: RequestContext,
        user_defined_data: dict[str, Any],
        preconditions: Preconditions,
    ) -> VnfPkgInfo:
        """Create a package without content.

        :raises QuotaExceeded: the project may have no more packages
        :raises DuplicateRequest: another request with this key is in progress
        """
        package_id = run_once(
            self._store,
            context,
            preconditions,
            lambda: self._store.write(
                context,
                _add,
                user_defined_data,
                preconditions,
                context.owner,
            ),
        )
        return self.get(context, package_id)

    def get(self, context: RequestContext, package_id: str) -> VnfPkgInfo:
        """Return a package.

        :raises NotFound: there is no package of this id
        """
        return self._store.read(context, _get, package_id, context.owner)

    @contextlib.contextmanager
    def find(
        self, context: RequestContext, query: ListQuery
    ) -> Iterator[Iterator[tuple[Position, VnfPkgInfo]]]:
        """List packages and their positions, the oldest first."""
        with self._store.reader(context) as session:
            yield (
                (position, _to_info(attributes))
                for position, attributes in packages.find(session, query)
            )

    def modify(
        self,
        context: RequestContext,
        package_id: str,
        modifications: VnfPkgInfoModifications,
    ) -> None:
        """Enable or disable a package, share it, or change its
        userDefinedData.

        :raises NotFound: there is no such package
        :raises Conflict: it cannot be shared, or its sharing cannot end
        :raises WrongState: the package is not onboarded, or in this state
            already
        """
        self._store.write(context, _modify, package_id, modifications)

    def delete(self, context: RequestContext, package_id: str) -> None:
        """Delete a package that is disabled and has no instances.

        :raises NotFound: there is no such package
        :raises WrongState: the package is enabled, or has VNF instances
        """
        with self._catalogue.content.lock() as locked:
            try:
                orphan = self._store.write(context, _delete, package_id)
            except ReferenceError:
                raise errors.WrongState(
                    f"VNF package {package_id} has VNF instances; delete them "
                    "first."
                ) from None
            if orphan:
                locked.remove(orphan)

    def onboard(
        self,
        context: RequestContext,
        package_id: str,
        source: BinaryIO,
        length: int | None,
        allows_code: OwnerCheck,
    ) -> None:
        """Receive, verify and store the content of a package.

        :param allows_code: whether the client may upload a package with code
        :raises Forbidden: it contains code, and the client may not upload it
        :raises NotFound: there is no such package
        :raises WrongState: the package has content already
        :raises Conflict: another package contains this VNFD
        :raises Unavailable: too many uploads are being received
        :raises PayloadTooLarge: the upload is too large
        :raises QuotaExceeded: the project may have no such large package
        :raises InsufficientStorage: the disk has no space for it
        :raises InvalidPackage: the CSAR, its signature or its VNFD is not
            valid
        """
        owner = self._store.read(context, _check_empty, package_id)
        with self._upload_slots.take(owner.project_id):
            self._catalogue.onboard(
                package_id, source, length, allows_code=allows_code(owner)
            )

    def request_upload(
        self,
        context: RequestContext,
        package_id: str,
        request: UploadVnfPackageFromUriRequest,
        allows_code: OwnerCheck,
    ) -> None:
        """Request that a conductor fetches the content of a package.

        :param allows_code: whether the client may upload a package with code
        :raises Forbidden: the configuration does not allow the URL
        :raises BadRequest: the URL is not valid, or the authType is not
            supported
        :raises NotFound: there is no such package
        :raises WrongState: the package has content already, or is being
            fetched
        :raises QuotaExceeded: the project has no bytes of packages left
        """
        if request.auth_type == AuthType.OAUTH2_CLIENT_CREDENTIALS:
            raise errors.BadRequest("authType: only BASIC is supported.")
        self._policy.check(request.address_information)
        project_id = self._store.write(
            context, _begin_upload, package_id, request, allows_code
        )
        self._rpc.fetch(package_id, project_id)

    def get_csar(
        self, context: RequestContext, package_id: str
    ) -> tuple[Path, str]:
        """Return the CSAR of a package, and the id of its content.

        :raises NotFound: there is no such package
        :raises WrongState: the package has no content yet
        """
        content_id, _ = self._content_and_vnfd_id(context, package_id)
        return self._catalogue.content.csar(content_id), content_id

    def get_artifact(
        self, context: RequestContext, package_id: str, path: str
    ) -> tuple[Path, str]:
        """Return a file of a package, and the id of the package's content.

        :raises NotFound: there is no such package, or no such file in it
        :raises WrongState: the package has no content yet
        """
        content_id, _ = self._content_and_vnfd_id(context, package_id)
        root = self._catalogue.content.unpacked(content_id)
        file = unpacked.find_file(root, path)
        if file is None:
            raise errors.NotFound(
                f"VNF package {package_id} has no artifact {path}."
            )
        return file, content_id

    def get_unpacked(
        self, context: RequestContext, package_id: str
    ) -> UnpackedPackage:
        """Return an onboarded package with its parsed VNFD.

        :raises NotFound: there is no such package
        :raises WrongState: the package has no content yet
        :raises VnfdNotUsable: the package was deleted meanwhile
        """
        return self._catalogue.unpacked_content(
            *self._content_and_vnfd_id(context, package_id)
        )

    def temporary_file(self) -> BinaryIO:
        """Create a file that is deleted when it is closed."""
        return self._catalogue.content.temporary_file()

    def _content_and_vnfd_id(
        self, context: RequestContext, package_id: str
    ) -> tuple[str, str]:
        """Return the content id and the VNFD id of a package."""
        package = self._store.read(context, packages.get, package_id)
        if package.content_id is None or package.vnfd_id is None:
            raise errors.WrongState(
                f"VNF package {package_id} has no content yet."
            )
        return package.content_id, package.vnfd_id


def _add(
    session: Session,
    user_defined_data: dict[str, Any],
    preconditions: Preconditions,
    owner: Owner,
) -> str:
    quotas.reserve(session, owner.project_id, Resource.VNF_PACKAGES)
    package = empty_package(user_defined_data, owner)
    idempotency.record(session, preconditions, package.id)
    packages.add(session, package)
    return package.id


def _get(session: Session, package_id: str, client: Owner) -> VnfPkgInfo:
    attributes = packages.get_attributes(session, package_id)
    if attributes["project_id"] == client.project_id:
        package = session.get_one(models.VnfPackage, package_id)
        attributes["shared_with"] = tuple(
            sharing.list_projects(session, package)
        )
    return _to_info(attributes)


def _check_empty(session: Session, package_id: str) -> Owner:
    """Check that a package has no content; return its owner."""
    package = packages.get(session, package_id)
    packages.check_empty(package)
    return scope.owner_of(package)


def _begin_upload(
    session: Session,
    package_id: str,
    request: UploadVnfPackageFromUriRequest,
    allows_code: OwnerCheck,
) -> str:
    """Record the request, and return the project of the package."""
    # read first: the client may use it
    owner = scope.owner_of(packages.get(session, package_id))
    quotas.check_remaining(session, owner.project_id, Resource.PACKAGE_BYTES)
    packages.begin_upload(
        session, package_id, request, allows_code=allows_code(owner)
    )
    return owner.project_id


def _modify(
    session: Session, package_id: str, modifications: VnfPkgInfoModifications
) -> None:
    package = packages.get(session, package_id, lock=True)
    if modifications.operational_state is not None:
        _check_change(package, modifications.operational_state)
        package.operational_state = modifications.operational_state
    if (
        modifications.is_public is not None
        or modifications.shared_with is not None
    ):
        packages.check_onboarded(package)
        sharing.share(
            session,
            package,
            is_public=modifications.is_public,
            projects=modifications.shared_with,
        )
    if modifications.user_defined_data is not None:
        package.user_defined_data = merge.patched(
            package.user_defined_data, modifications.user_defined_data
        )
    if modifications.operational_state is not None:
        outbox.announce_package(
            session, package_id, PackageChangeType.OP_STATE_CHANGE
        )


def _delete(session: Session, package_id: str) -> str | None:
    """Delete a package; return its content if no other package has it."""
    package = packages.get(session, package_id, lock=True)
    content_id = package.content_id
    _check_disabled(package)
    if package.onboarding_state == OnboardingState.ONBOARDED:
        outbox.announce_package(
            session, package_id, PackageChangeType.PKG_DELETE
        )
    packages.delete(session, package)
    session.flush()
    if content_id is None or packages.content_in_use(session, content_id):
        return None
    return content_id


def _check_change(
    package: models.VnfPackage, new_state: OperationalState
) -> None:
    packages.check_onboarded(package)
    if package.operational_state == new_state:
        raise errors.WrongState(
            f"VNF package {package.id} is {new_state} already."
        )


def _check_disabled(package: models.VnfPackage) -> None:
    if package.operational_state == OperationalState.ENABLED:
        raise errors.WrongState(
            f"VNF package {package.id} is ENABLED; disable it first."
        )


def _to_info(attributes: Mapping[str, Any]) -> VnfPkgInfo:
    content_id = attributes.get("checksum")
    checksum = content_id and Checksum(algorithm="SHA-256", hash=content_id)
    return VnfPkgInfo(**dict(attributes, checksum=checksum))
