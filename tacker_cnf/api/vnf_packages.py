"""/vnfpkgm/v1/vnf_packages, also under v2 (SOL003 clause 10, SOL005 clause 9)."""

import contextlib
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, Final

from tacker_cnf import errors
from tacker_cnf.api import (
    downloads,
    http,
    links,
    openapi_parameters,
    query,
)
from tacker_cnf.api.conditional_requests import preconditions_from_request
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.services.packages import (
    COMPARABLE,
    OwnerCheck,
    PackageService,
)
from tacker_cnf.sol.vnf_package import (
    CreateVnfPkgInfoRequest,
    UploadVnfPackageFromUriRequest,
    VnfPkgInfo,
    VnfPkgInfoModifications,
)

#: attributes that a list leaves out by default (SOL005 9.4.2.3.2)
EXCLUDED_BY_DEFAULT: Final = frozenset(
    {
        "software_images",
        "additional_artifacts",
        "user_defined_data",
        "checksum",
        "onboarding_failure_details",
        "warnings",
    }
)
_LIST_DEFINITION: Final = query.ListDefinition(
    VnfPkgInfo, EXCLUDED_BY_DEFAULT, COMPARABLE
)
#: media types under which a package is uploaded
_UPLOADS: Final = (http.ZIP, "application/x-zip-compressed", http.BINARY)
#: directories of the files that describe a package; definitions may import
#: files of other directories
_DEFINITION_DIRECTORIES: Final = ("Definitions", "TOSCA-Metadata")

#: declaration of a handler whose response is a file, or a range of one
_FILE_RESPONSE: Final[dict[str, Any]] = {
    "other_statuses": (206,),
    "parameters": openapi_parameters.RANGE,
    "response_headers": openapi_parameters.FILE,
    "error_types": (errors.Conflict, errors.RangeNotSatisfiable),
}


class VnfPackages:
    """The VNF packages and their contents."""

    def __init__(self, packages: PackageService) -> None:
        self._packages = packages

    @http.endpoint(
        201,
        rule="vnf_packages:create",
        parameters=(openapi_parameters.IDEMPOTENCY_KEY,),
        response_headers=(openapi_parameters.LOCATION,),
        error_types=(
            errors.DuplicateRequest,
            errors.IdempotencyKeyReused,
            errors.QuotaExceeded,
        ),
    )
    def post(self, body: CreateVnfPkgInfoRequest) -> VnfPkgInfo:
        """Create a VNF package without content."""
        package = self._packages.create(
            http.caller(), body.user_defined_data, preconditions_from_request()
        )
        http.set_location(links.package(http.served_api(), package.id))
        return links.with_package_links(
            http.served_api(), package, http.base_url()
        )

    @http.endpoint(
        200,
        rule="vnf_packages:index",
        response=list[VnfPkgInfo],
        **openapi_parameters.PAGES,
    )
    def get_all(self) -> list[dict[str, Any]]:
        """List VNF packages."""
        list_query = query.from_request(_LIST_DEFINITION)
        base = http.base_url()
        with self._packages.find(http.caller(), list_query.db_query) as found:
            return list_query.build_page(
                (
                    position,
                    links.with_package_links(http.served_api(), package, base),
                )
                for position, package in found
            )

    @http.endpoint(200, rule="vnf_packages:show")
    def get(self, package_id: str) -> VnfPkgInfo:
        """Read a VNF package."""
        package = self._packages.get(http.caller(), package_id)
        return links.with_package_links(
            http.served_api(), package, http.base_url()
        )

    @http.endpoint(
        200,
        rule="vnf_packages:update",
        accepts=(http.MERGE_PATCH, http.JSON),
        error_types=(errors.Conflict,),
    )
    def patch(
        self, package_id: str, body: VnfPkgInfoModifications
    ) -> VnfPkgInfoModifications:
        """Enable or disable a VNF package, share it, or change its user
        data.
        """
        if body.is_public is not None or body.shared_with is not None:
            http.authorize_also("vnf_packages:share")
        self._packages.modify(http.caller(), package_id, body)
        return body

    @http.endpoint(
        204, rule="vnf_packages:delete", error_types=(errors.Conflict,)
    )
    def delete(self, package_id: str) -> None:
        """Delete a VNF package that is disabled and not in use."""
        self._packages.delete(http.caller(), package_id)

    @http.endpoint(
        202,
        rule="vnf_packages:upload",
        accepts=_UPLOADS,
        error_types=(
            errors.Conflict,
            errors.QuotaExceeded,
            errors.InsufficientStorage,
        ),
    )
    def put_content(self, package_id: str) -> None:
        """Upload the content of a VNF package: a CSAR."""
        self._packages.onboard(
            http.caller(), package_id, *http.upload(), _allows_code()
        )

    @http.endpoint(
        202,
        rule="vnf_packages:upload_from_uri",
        error_types=(errors.Conflict, errors.QuotaExceeded),
    )
    def post_upload(
        self, package_id: str, body: UploadVnfPackageFromUriRequest
    ) -> None:
        """Fetch the content of a VNF package from a URI."""
        self._packages.request_upload(
            http.caller(), package_id, body, _allows_code()
        )

    @http.endpoint(
        200,
        rule="vnf_packages:download",
        produces=(http.ZIP,),
        **_FILE_RESPONSE,
    )
    def get_content(self, package_id: str) -> Any:
        """Download the content of a VNF package, as it was uploaded."""
        csar, content_id = self._packages.get_csar(http.caller(), package_id)
        return downloads.file_response(csar, http.ZIP, content_id)

    @http.endpoint(
        200,
        rule="vnf_packages:vnfd",
        produces=(http.ZIP, http.TEXT),
        **_FILE_RESPONSE,
    )
    def get_vnfd(self, package_id: str) -> Any:
        """Download the VNFD: a single file as text, or all files as a ZIP."""
        try:
            package = self._packages.get_unpacked(http.caller(), package_id)
            files = _definitions(package)
            kind = http.check_accept(
                (http.ZIP, http.TEXT) if len(files) == 1 else (http.ZIP,)
            )
            if kind == http.TEXT:
                tag = package.content_id
                return downloads.file_response(files[0], http.TEXT, tag)
            files = _descriptive_files(package)
            return downloads.generated_file_response(
                self._write_zip(package.path, files), http.ZIP
            )
        except (FileNotFoundError, errors.VnfdNotUsable):
            raise errors.NotFound(downloads.PACKAGE_DELETED) from None

    def _write_zip(self, root: Path, files: Iterable[Path]) -> BinaryIO:
        """Write files to a ZIP on disk.

        :raises FileNotFoundError: the package was deleted during the request
        """
        with contextlib.ExitStack() as cleanup:
            file = cleanup.enter_context(self._packages.temporary_file())
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for path in files:
                    archive.write(path, path.relative_to(root))
            # the listing of a directory during its deletion is incomplete
            root.stat()
            cleanup.pop_all()
        return file

    @http.endpoint(
        200,
        rule="vnf_packages:artifact",
        produces=(http.BINARY, http.JSON),
        **_FILE_RESPONSE,
    )
    def get_artifact(self, package_id: str, path: str) -> Any:
        """Download one file of a VNF package."""
        file, content_id = self._packages.get_artifact(
            http.caller(), package_id, path
        )
        return downloads.file_response(file, http.BINARY, content_id)


def _allows_code() -> OwnerCheck:
    return http.policy_check("vnf_packages:upload_code")


def _definitions(package: UnpackedPackage) -> list[Path]:
    """Return the files that the VNFD was read from, of any directory."""
    if package.vnfd.files:
        return [package.path / name for name in package.vnfd.files]
    definitions = (package.path / _DEFINITION_DIRECTORIES[0]).rglob("*")
    found = (*package.path.iterdir(), *definitions)
    return [file for file in found if file.suffix in {".yaml", ".yml"}]


def _descriptive_files(package: UnpackedPackage) -> list[Path]:
    found = set(_definitions(package))
    for directory in _DEFINITION_DIRECTORIES:
        contents = (package.path / directory).rglob("*")
        found.update(file for file in contents if file.is_file())
    return sorted(found)
