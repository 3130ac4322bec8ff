"""VNF packages: create, onboard, enable, read, delete (SOL003 clause 10)."""

import contextlib
import datetime
import functools
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.catalogue import content
from tacker_cnf.catalogue.content import ContentStore, LockedStore
from tacker_cnf.catalogue.package_reader import PackageReader, ParsedPackage
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.db import idempotency, models, packages
from tacker_cnf.db.listing import ListQuery, Position
from tacker_cnf.db.session import (
    DuplicateEntry,
    ReferenceError,  # noqa: A004
    Store,
    transaction,
)
from tacker_cnf.lcm import merge
from tacker_cnf.preconditions import NO_PRECONDITIONS, Preconditions
from tacker_cnf.sol.common import Checksum
from tacker_cnf.sol.vnf_package import (
    OnboardingState,
    OperationalState,
    UsageState,
    VnfPackageArtifactInfo,
    VnfPkgInfo,
    VnfPkgInfoModifications,
)
from tacker_cnf.vnfd.csar import Artifact
from tacker_cnf.vnfd.model import Vnfd

#: number of parsed VNFDs that a process caches
VNFD_CACHE_SIZE: Final = 256


class Packages:
    """The VNF packages of this installation."""

    def __init__(self, store: Store, conf: cfg.ConfigOpts) -> None:
        self._store = store
        self._reader = PackageReader(conf)
        self._max_bytes = conf.catalogue.max_package_bytes
        self.content = ContentStore(Path(conf.state_path) / "packages")
        self._vnfd = functools.lru_cache(VNFD_CACHE_SIZE)(self._read_vnfd)

    @transaction
    def create(
        self,
        user_defined_data: dict[str, Any],
        preconditions: Preconditions = NO_PRECONDITIONS,
    ) -> str:
        """Create a package without content and return its id."""
        package = _empty_package(user_defined_data)
        with self._store.writer() as session:
            idempotency.record(session, preconditions, package.id)
            packages.add(session, package)
        return package.id

    @transaction
    def get(self, package_id: str) -> VnfPkgInfo:
        """Return a package.

        :raises NotFound: there is no package of this id
        """
        with self._store.reader() as session:
            package = packages.get(session, package_id)
            return _info(package, packages.usage_state(session, package))

    @contextlib.contextmanager
    def find(
        self, wanted: ListQuery
    ) -> Iterator[Iterator[tuple[Position, VnfPkgInfo]]]:
        """List packages and their positions, the oldest first."""
        with self._store.reader() as session:
            yield (
                (position, _info_from_row(row))
                for position, row in packages.find(session, wanted)
            )

    def onboard(
        self, package_id: str, source: BinaryIO, length: int | None
    ) -> None:
        """Receive, verify and store the content of a package.

        Nothing is visible before the one transaction at the end, so there is
        nothing to recover after a crash.

        :raises NotFound: there is no such package
        :raises WrongState: the package has content already
        :raises Conflict: another package holds this VNFD
        :raises PayloadTooLarge: the upload is too large
        :raises InvalidPackage: the CSAR, its signature or its VNFD is not
            valid
        """
        self._check_empty(package_id)
        self._onboard_content(
            source, length, lambda content: self._commit(package_id, content)
        )

    def onboard_fetched(
        self,
        package_id: str,
        source: BinaryIO,
        length: int | None,
        attempt: int,
    ) -> None:
        """Onboard content that was requested by its URL.

        :param attempt: number of the attempt; only the latest one may commit

        :raises WrongState: the package was deleted, or there is a later
            attempt
        :raises VnfmError: as onboard does
        """
        self._onboard_content(
            source,
            length,
            lambda content: self._commit(package_id, content, attempt=attempt),
            lambda: self._mark_processing(package_id, attempt),
        )

    @transaction
    def _mark_processing(self, package_id: str, attempt: int) -> None:
        with self._store.writer() as session:
            packages.process_upload(session, package_id, attempt)

    def import_package(
        self, vnfd_id: str, source: BinaryIO, user_data: dict[str, Any]
    ) -> None:
        """Create and onboard a package of another catalogue.

        :raises Conflict: a package holds this VNFD
        :raises PayloadTooLarge: the package is too large
        :raises InvalidPackage: the CSAR, its signature or its VNFD is not
            valid, or the package has another VNFD
        """

        def commit(content: models.VnfPackage) -> None:
            if content.vnfd_id != vnfd_id:
                raise errors.InvalidPackage(
                    f"The package holds the VNFD {content.vnfd_id}, not "
                    f"{vnfd_id}."
                )
            package = _empty_package(user_data)
            self._commit(package.id, content, package)

        self._onboard_content(source, None, commit)

    def _onboard_content(
        self,
        source: BinaryIO,
        length: int | None,
        commit: Callable[[models.VnfPackage], None],
        on_received: Callable[[], None] = lambda: None,
    ) -> None:
        with self.content.incoming() as staged:
            archive = staged / "package.csar"
            content_id = content.receive(
                source, archive, self._max_bytes, length
            )
            on_received()
            parsed = self._reader.read(archive, staged / "tree")
            content.sync_to_disk(staged)
            with self.content.lock() as locked:
                locked.store_content(staged, content_id)
                try:
                    commit(_content_row(content_id, parsed))
                finally:
                    self._remove_if_unused(locked, content_id)

    def _remove_if_unused(self, locked: LockedStore, content_id: str) -> None:
        """Remove content that no package uses."""
        if not self._in_use(content_id):
            locked.remove(content_id)

    @transaction
    def _in_use(self, content_id: str) -> bool:
        with self._store.reader() as session:
            return packages.content_in_use(session, content_id)

    @transaction
    def _check_empty(self, package_id: str) -> None:
        with self._store.reader() as session:
            packages.check_empty(packages.get(session, package_id))

    def sweep(self) -> None:
        """Remove files and content of uploads whose process was killed."""
        self.content.sweep()
        for content_id in self.content.ids():
            if not self._in_use(content_id):
                with self.content.lock() as locked:
                    self._remove_if_unused(locked, content_id)

    @transaction
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
            with self._store.writer() as session:
                if new:
                    packages.add(session, new)
                    session.flush()
                packages.onboard(session, package_id, content, attempt)
        except DuplicateEntry:
            with self._store.reader() as session:
                other = packages.get_id_by_vnfd(session, str(content.vnfd_id))
            raise errors.Conflict(
                f"VNF package {other or '(just deleted)'} holds the VNFD "
                f"{content.vnfd_id} already."
            ) from None

    @transaction
    def modify(
        self, package_id: str, modifications: VnfPkgInfoModifications
    ) -> None:
        """Enable or disable a package, or change its userDefinedData.

        :raises NotFound: there is no such package
        :raises WrongState: the package is not onboarded, or in this state
            already
        """
        with self._store.writer() as session:
            package = packages.get(session, package_id, lock=True)
            if modifications.operational_state is not None:
                _check_change(package, modifications.operational_state)
                package.operational_state = modifications.operational_state
            if modifications.user_defined_data is not None:
                package.user_defined_data = merge.patched(
                    package.user_defined_data, modifications.user_defined_data
                )

    def delete(self, package_id: str) -> None:
        """Delete a package that is disabled and has no instances.

        :raises NotFound: there is no such package
        :raises WrongState: the package is enabled, or has VNF instances
        """
        with self.content.lock() as locked:
            orphan = self._delete_row(package_id)
            if orphan:
                locked.remove(orphan)

    @transaction
    def _delete_row(self, package_id: str) -> str | None:
        try:
            with self._store.writer() as session:
                package = packages.get(session, package_id, lock=True)
                content_id = package.content_id
                _check_disabled(package)
                packages.delete(session, package)
                session.flush()
                if content_id is None or packages.content_in_use(
                    session, content_id
                ):
                    return None
                return content_id
        except ReferenceError:
            raise errors.WrongState(
                f"VNF package {package_id} has VNF instances; delete them "
                "first."
            ) from None

    def get_content_id(self, package_id: str) -> str:
        """Return the content id of an onboarded package.

        :raises NotFound: there is no such package
        :raises WrongState: the package has no content yet
        """
        return self._content_and_vnfd_id(package_id)[0]

    def unpacked_by_id(self, package_id: str) -> UnpackedPackage:
        """Return an onboarded package, by its own id, with its parsed VNFD.

        :raises NotFound: there is no such package
        :raises WrongState: the package has no content yet
        :raises VnfdNotUsable: the package was deleted meanwhile
        """
        content_id, vnfd_id = self._content_and_vnfd_id(package_id)
        return self._unpacked(content_id, vnfd_id)

    @transaction
    def _content_and_vnfd_id(self, package_id: str) -> tuple[str, str]:
        """Return the content id and the VNFD id of a package."""
        with self._store.reader() as session:
            package = packages.get(session, package_id)
        if package.content_id is None or package.vnfd_id is None:
            raise errors.WrongState(
                f"VNF package {package_id} has no content yet."
            )
        return package.content_id, package.vnfd_id

    def unpacked(self, vnfd_id: str) -> UnpackedPackage:
        """Return an onboarded package, by its VNFD id, with its parsed VNFD.

        :raises VnfdNotUsable: no package holds this VNFD
        """
        return self._unpacked(self._content_id(vnfd_id), vnfd_id)

    def _unpacked(self, content_id: str, vnfd_id: str) -> UnpackedPackage:
        return UnpackedPackage(
            content_id=content_id,
            path=self.content.unpacked(content_id),
            vnfd=self._vnfd(vnfd_id, content_id),
        )

    @transaction
    def _content_id(self, vnfd_id: str) -> str:
        with self._store.reader() as session:
            content_id = packages.get_content_id_by_vnfd(session, vnfd_id)
        if content_id is None:
            raise errors.VnfdNotUsable(
                f"No VNF package has the VNFD {vnfd_id}."
            )
        return content_id

    @transaction
    def _read_vnfd(self, vnfd_id: str, _content_id: str) -> Vnfd:
        with self._store.reader() as session:
            text = packages.vnfd_text(session, vnfd_id)
        if text is None:
            raise errors.VnfdNotUsable(
                f"No VNF package has the VNFD {vnfd_id}."
            )
        return msgspec.json.decode(text, type=Vnfd)


def _empty_package(user_defined_data: dict[str, Any]) -> models.VnfPackage:
    return models.VnfPackage(
        id=str(uuid.uuid4()),
        onboarding_state=OnboardingState.CREATED,
        operational_state=OperationalState.DISABLED,
        user_defined_data=user_defined_data,
        created_at=datetime.datetime.now(datetime.UTC),
    )


def _content_row(content_id: str, parsed: ParsedPackage) -> models.VnfPackage:
    """Build a row with the columns that depend on the content."""
    vnfd, signature = parsed.vnfd, parsed.signature
    return models.VnfPackage(
        content_id=content_id,
        vnfd_id=vnfd.id,
        vnf_provider=vnfd.provider,
        vnf_product_name=vnfd.product_name,
        vnf_software_version=vnfd.software_version,
        vnfd_version=vnfd.descriptor_version,
        package_security_option=signature.option if signature else None,
        signing_certificate=signature.certificate if signature else None,
        additional_artifacts=tuple(_artifact_infos(parsed.artifacts)),
        vnfd=msgspec.json.encode(vnfd).decode(),
    )


def _check_change(
    package: models.VnfPackage, new_state: OperationalState
) -> None:
    if package.onboarding_state != OnboardingState.ONBOARDED:
        raise errors.WrongState(
            f"VNF package {package.id} is {package.onboarding_state}, "
            "not ONBOARDED."
        )
    if package.operational_state == new_state:
        raise errors.WrongState(
            f"VNF package {package.id} is {new_state} already."
        )


def _check_disabled(package: models.VnfPackage) -> None:
    if package.operational_state == OperationalState.ENABLED:
        raise errors.WrongState(
            f"VNF package {package.id} is ENABLED; disable it first."
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


def _checksum(content_id: str | None) -> Checksum | None:
    if content_id is None:
        return None
    return Checksum(algorithm="SHA-256", hash=content_id)


def _info_from_row(row: Mapping[str, Any]) -> VnfPkgInfo:
    checksum = _checksum(row.get("checksum"))
    return VnfPkgInfo(**dict(row, checksum=checksum))


def _info(package: models.VnfPackage, usage: UsageState) -> VnfPkgInfo:
    return VnfPkgInfo(
        id=package.id,
        vnfd_id=package.vnfd_id,
        vnf_provider=package.vnf_provider,
        vnf_product_name=package.vnf_product_name,
        vnf_software_version=package.vnf_software_version,
        vnfd_version=package.vnfd_version,
        checksum=_checksum(package.content_id),
        package_security_option=package.package_security_option,
        signing_certificate=package.signing_certificate,
        additional_artifacts=package.additional_artifacts or (),
        onboarding_state=package.onboarding_state,
        onboarding_failure_details=package.onboarding_failure_details,
        operational_state=package.operational_state,
        usage_state=usage,
        user_defined_data=package.user_defined_data,
    )
