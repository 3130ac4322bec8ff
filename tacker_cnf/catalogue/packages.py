"""The content of VNF packages: onboard, open, remove."""

import dataclasses
import datetime
import functools
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from oslo_config import cfg
from oslo_log import log

from tacker_cnf import disk_space, errors
from tacker_cnf.catalogue import content
from tacker_cnf.catalogue.content import (
    ContentStore,
    LockedStore,
    UploadLimits,
)
from tacker_cnf.catalogue.package_reader import PackageReader, ParsedPackage
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.context import Owner
from tacker_cnf.db import models, outbox, packages, quotas
from tacker_cnf.db.quotas import Resource
from tacker_cnf.db.session import DuplicateEntry, Session, Store
from tacker_cnf.sol.common import Checksum
from tacker_cnf.sol.vnf_package import (
    OnboardingState,
    OperationalState,
    VnfPackageArtifactInfo,
)
from tacker_cnf.vnfd.csar import Artifact
from tacker_cnf.vnfd.model import Vnfd

LOG = log.getLogger(__name__)

#: number of parsed VNFDs that a process caches
VNFD_CACHE_SIZE: Final = 256
#: the policy by which clients may upload code
UPLOAD_CODE: Final = "os_nfv_orchestration_api:vnf_packages:upload_code"


class Packages:
    """The content of the VNF packages of this installation."""

    def __init__(self, store: Store, conf: cfg.ConfigOpts) -> None:
        self._store = store
        self._reader = PackageReader(conf)
        self._limits = UploadLimits(
            max_bytes=conf.catalogue.max_package_bytes,
            min_free_bytes=conf.catalogue.min_free_bytes,
        )
        self.content = ContentStore(Path(conf.state_path) / "packages")
        self._vnfd = functools.lru_cache(VNFD_CACHE_SIZE)(self._read_vnfd)

    def onboard(
        self,
        package_id: str,
        source: BinaryIO,
        length: int | None,
        *,
        allows_code: bool,
    ) -> None:
        """Receive, verify and store the content of a package.

        Nothing is visible before the one transaction at the end, so there is
        nothing to recover after a crash.

        :param allows_code: whether it may contain code
        :raises Forbidden: it contains code
        :raises NotFound: the package was deleted meanwhile
        :raises WrongState: the package has got content meanwhile
        :raises Conflict: another package contains this VNFD
        :raises PayloadTooLarge: the upload is too large
        :raises QuotaExceeded: the project may not store so much
        :raises InsufficientStorage: the disk has no space for it
        :raises InvalidPackage: the CSAR, its signature or its VNFD is not
            valid
        """
        self._onboard_content(
            source,
            length,
            self._project_of(package_id),
            lambda content: self._commit(package_id, content),
            allows_code=allows_code,
        )

    def onboard_fetched(
        self,
        package_id: str,
        source: BinaryIO,
        length: int | None,
        attempt: int,
        *,
        allows_code: bool,
    ) -> None:
        """Onboard content that was requested by its URL.

        :param attempt: number of the attempt; only the latest one may commit
        :param allows_code: whether it may contain code

        :raises Forbidden: it contains code
        :raises WrongState: the package was deleted, or there is a later
            attempt
        :raises VnfmError: as onboard does
        """
        self._onboard_content(
            source,
            length,
            self._project_of(package_id),
            lambda content: self._commit(package_id, content, attempt=attempt),
            lambda: self._store.write(
                None, packages.process_upload, package_id, attempt
            ),
            allows_code=allows_code,
        )

    def import_package(
        self,
        vnfd_id: str,
        source: BinaryIO,
        user_data: dict[str, Any],
        project_id: str,
    ) -> None:
        """Create and onboard a package of the NFVO for a project; it may
        contain code.

        :raises Conflict: a package contains this VNFD
        :raises PayloadTooLarge: the package is too large
        :raises QuotaExceeded: the project may not store so much, or have no
            more packages
        :raises InsufficientStorage: the disk has no space for it
        :raises InvalidPackage: the CSAR, its signature or its VNFD is not
            valid, or the package has another VNFD
        """

        def commit(content: models.VnfPackage) -> None:
            if content.vnfd_id != vnfd_id:
                raise errors.InvalidPackage(
                    f"The package contains the VNFD {content.vnfd_id}, not "
                    f"{vnfd_id}."
                )
            package = empty_package(user_data, Owner(project_id, None))
            self._commit(package.id, content, package)

        self._store.read(
            None, quotas.check_remaining, project_id, Resource.VNF_PACKAGES
        )
        self._onboard_content(
            source, None, project_id, commit, allows_code=True
        )

    def _project_of(self, package_id: str) -> str:
        package = self._store.read(None, packages.get, package_id)
        return package.project_id

    def _onboard_content(
        self,
        source: BinaryIO,
        length: int | None,
        project_id: str,
        commit: Callable[[models.VnfPackage], None],
        on_received: Callable[[], None] = lambda: None,
        *,
        allows_code: bool,
    ) -> None:
        limits = self._limits_of(project_id)
        with (
            self.content.incoming() as staged,
            disk_space.explain_full_disk(),
        ):
            archive = staged / "package.csar"
            content_id = content.receive(source, archive, limits, length)
            on_received()
            parsed = self._reader.read(archive, staged / "tree")
            if parsed.code and not allows_code:
                raise _code_forbidden(parsed.code)
            content.sync_to_disk(staged)
            row = _content_row(content_id, content.size_of(staged), parsed)
            with self.content.lock() as locked:
                locked.store_content(staged, content_id)
                try:
                    commit(row)
                finally:
                    self._remove_if_unused(locked, content_id)

    def _limits_of(self, project_id: str) -> UploadLimits:
        """Return the limits of an upload of a project.

        The transaction at its end checks its quota again, which other uploads
        may have used meanwhile.
        """

        def check(size: int) -> None:
            if remaining is not None and size > remaining:
                self._store.read(
                    None,
                    quotas.check_remaining,
                    project_id,
                    Resource.PACKAGE_BYTES,
                    size,
                )

        remaining = self._store.read(
            None, quotas.remaining, project_id, Resource.PACKAGE_BYTES
        )
        return dataclasses.replace(self._limits, check_quota=check)

    def _remove_if_unused(self, locked: LockedStore, content_id: str) -> None:
        """Remove content that no package uses."""
        if not self._in_use(content_id):
            locked.remove(content_id)

    def _in_use(self, content_id: str) -> bool:
        return self._store.read(None, packages.content_in_use, content_id)

    def sweep(self) -> None:
        """Remove files and content of uploads whose process was killed;
        measure the content that an earlier release stored.
        """
        self.content.sweep()
        for content_id in self._store.read(None, packages.list_unmeasured):
            size = self.content.size(content_id)
            self._store.write(
                None, packages.set_content_bytes, content_id, size
            )
        for content_id in self.content.ids():
            if not self._in_use(content_id):
                with self.content.lock() as locked:
                    self._remove_if_unused(locked, content_id)

    def _commit(
        self,
        package_id: str,
        content: models.VnfPackage,
        new: models.VnfPackage | None = None,
        attempt: int | None = None,
    ) -> None:
        """Assign content to a package.

        :param new: add this package in the same transaction
        """
        try:
            self._store.write(None, _commit, package_id, content, new, attempt)
        except DuplicateEntry:
            raise errors.Conflict(
                f"Another VNF package contains the VNFD {content.vnfd_id} "
                "already."
            ) from None
        for warning in content.onboarding_warnings or ():
            LOG.warning(
                "VNF package does not conform: package_id=%s warning=%s",
                package_id,
                warning,
            )

    def unpacked(self, vnfd_id: str, project_id: str) -> UnpackedPackage:
        """Return an onboarded package that a project may use, by its VNFD id,
        with its parsed VNFD.

        :raises VnfdNotUsable: no package contains this VNFD
        """
        found = self._store.read(
            None, packages.find_of_vnfd, vnfd_id, project_id
        )
        if found is None:
            raise _not_onboarded(vnfd_id)
        return self._unpacked(found.content_id, vnfd_id, found.is_signed)

    def unpacked_content(
        self, content_id: str, vnfd_id: str
    ) -> UnpackedPackage:
        """Return an onboarded package, by its content, with its parsed VNFD.

        :raises VnfdNotUsable: the package was deleted meanwhile
        """
        is_signed = self._store.read(None, packages.is_signed, content_id)
        return self._unpacked(content_id, vnfd_id, is_signed)

    def _unpacked(
        self, content_id: str, vnfd_id: str, is_signed: bool
    ) -> UnpackedPackage:
        return UnpackedPackage(
            content_id=content_id,
            path=self.content.unpacked(content_id),
            vnfd=self._vnfd(content_id, vnfd_id),
            is_signed=is_signed,
        )

    def _read_vnfd(self, content_id: str, vnfd_id: str) -> Vnfd:
        text = self._store.read(None, packages.vnfd_text, content_id)
        if text is None:
            raise _not_onboarded(vnfd_id)
        return msgspec.json.decode(text, type=Vnfd)


def _not_onboarded(vnfd_id: str) -> errors.UnknownVnfd:
    return errors.UnknownVnfd(f"No VNF package has the VNFD {vnfd_id}.")


def _code_forbidden(code: Sequence[str]) -> errors.Forbidden:
    more = f" and {len(code) - 1} more files" if len(code) > 1 else ""
    return errors.Forbidden(
        f"Policy {UPLOAD_CODE} does not allow this client to upload a VNF "
        f"package that contains code: {code[0]:.200}{more}. A client that the "
        "policy allows, such as a manager of the project, can upload it."
    )


def _commit(
    session: Session,
    package_id: str,
    content: models.VnfPackage,
    new: models.VnfPackage | None,
    attempt: int | None,
) -> None:
    if new:
        quotas.reserve(session, new.project_id, Resource.VNF_PACKAGES)
        packages.add(session, new)
        session.flush()
    package = packages.get(session, package_id, lock=True)
    quotas.reserve(
        session,
        package.project_id,
        Resource.PACKAGE_BYTES,
        content.content_bytes or 0,
    )
    packages.check_new_vnfd(session, package_id, str(content.vnfd_id))
    packages.onboard(session, package_id, content, attempt)
    outbox.announce_package(session, package_id)


def empty_package(
    user_defined_data: dict[str, Any], owner: Owner
) -> models.VnfPackage:
    """Build the row of a new package without content."""
    return models.VnfPackage(
        id=str(uuid.uuid4()),
        onboarding_state=OnboardingState.CREATED,
        operational_state=OperationalState.DISABLED,
        user_defined_data=user_defined_data,
        created_at=datetime.datetime.now(datetime.UTC),
        project_id=owner.project_id,
        user_id=owner.user_id,
    )


def _content_row(
    content_id: str, content_bytes: int, parsed: ParsedPackage
) -> models.VnfPackage:
    """Build a row with the columns that depend on the content."""
    vnfd, signature = parsed.vnfd, parsed.signature
    return models.VnfPackage(
        content_id=content_id,
        content_bytes=content_bytes,
        vnfd_id=vnfd.id,
        vnf_provider=vnfd.provider,
        vnf_product_name=vnfd.product_name,
        vnf_software_version=vnfd.software_version,
        vnfd_version=vnfd.descriptor_version,
        package_security_option=signature.option if signature else None,
        signing_certificate=signature.certificate if signature else None,
        additional_artifacts=tuple(_artifact_infos(parsed.artifacts)),
        onboarding_warnings=parsed.warnings,
        vnfd=msgspec.json.encode(vnfd).decode(),
    )


def _artifact_infos(
    artifacts: Iterable[Artifact],
) -> Iterator[VnfPackageArtifactInfo]:
    for artifact in artifacts:
        if not artifact.algorithm or not artifact.hash:
            continue  # the checksum is mandatory in SOL003
        is_external = artifact.is_external
        yield VnfPackageArtifactInfo(
            artifact_path=None if is_external else artifact.path,
            artifact_uri=artifact.path if is_external else None,
            checksum=Checksum(
                algorithm=artifact.algorithm.upper().replace("SHA", "SHA-"),
                hash=artifact.hash,
            ),
            is_encrypted=False,
            metadata=dict(artifact.metadata),
        )
