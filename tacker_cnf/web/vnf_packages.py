"""The pages of VNF packages."""

import contextlib
from typing import Final

import pecan

from tacker_cnf import errors
from tacker_cnf.api import http
from tacker_cnf.preconditions import NO_PRECONDITIONS
from tacker_cnf.services.packages import PackageService
from tacker_cnf.sol.vnf_package import (
    OnboardingState,
    OperationalState,
    VnfPkgInfo,
    VnfPkgInfoModifications,
)
from tacker_cnf.web import lists, multipart, pages
from tacker_cnf.web.forms import Form
from tacker_cnf.web.lists import Page

PACKAGES: Final = "/vnf_packages"
#: longest rest of a form after its file
MAX_REST_BYTES: Final = 65_536


class VnfPackagePages:
    """The list with the form to upload, one package, and its tasks."""

    def __init__(self, packages: PackageService) -> None:
        self._packages = packages

    @pages.page("vnf_packages:index")
    def get_all(self) -> None:
        """List VNF packages."""
        pages.show("vnf_packages.html", page=self._page())

    def _page(self) -> Page[VnfPkgInfo]:
        return lists.read(
            self._packages.find,
            http.caller(),
            VnfPkgInfo,
            without=("links", "software_images", "additional_artifacts"),
        )

    @pages.page("vnf_packages:upload")
    def post(self) -> None:
        """Create a VNF package from the CSAR of a form."""
        http.authorize_also("vnf_packages:create")
        http.check_content_type((multipart.TYPE,))
        source, _ = http.upload()
        given = pecan.request.environ[http.ORIGINAL_ENVIRON]
        upload = multipart.read(source, given.get("CONTENT_TYPE", ""))
        pages.check_secret(upload.fields.get(pages.CSRF_FIELD, ""))
        try:
            package_id = self._onboard(upload)
        except errors.VnfmError as error:
            raise pages.show_again(
                "vnf_packages.html", error, page=self._page()
            ) from None
        source.read(MAX_REST_BYTES)  # else the connection would be closed
        pages.redirect(f"{PACKAGES}/{package_id}")

    def _onboard(self, upload: multipart.Upload) -> str:
        """Onboard a file; return its package, which is deleted if it is not
        valid.
        """
        client = http.caller()
        allows_code = http.policy_check("vnf_packages:upload_code")
        package = self._packages.create(client, {}, NO_PRECONDITIONS)
        try:
            self._packages.onboard(
                client, package.id, upload.file, None, allows_code
            )
        except errors.VnfmError:
            with contextlib.suppress(errors.VnfmError):
                self._packages.delete(client, package.id)
            raise
        return package.id

    @pages.page("vnf_packages:show")
    def get(self, package_id: str) -> None:
        """Show a VNF package."""
        client = http.caller()
        package = self._packages.get(client, package_id)
        vnfd = None
        if package.onboarding_state is OnboardingState.ONBOARDED:
            vnfd = self._packages.get_unpacked(client, package_id).vnfd
        pages.show("vnf_package.html", package=package, vnfd=vnfd)

    @pages.action("vnf_packages:update")
    def post_enable(self, package_id: str, _form: Form) -> None:
        """Enable a VNF package."""
        self._change(package_id, OperationalState.ENABLED)

    @pages.action("vnf_packages:update")
    def post_disable(self, package_id: str, _form: Form) -> None:
        """Disable a VNF package."""
        self._change(package_id, OperationalState.DISABLED)

    def _change(self, package_id: str, state: OperationalState) -> None:
        self._packages.modify(
            http.caller(),
            package_id,
            VnfPkgInfoModifications(operational_state=state),
        )
        pages.redirect(f"{PACKAGES}/{package_id}")

    @pages.page("vnf_packages:delete")
    def get_delete(self, package_id: str) -> None:
        """Ask whether to delete a VNF package."""
        package = self._packages.get(http.caller(), package_id)
        pages.show(
            "confirm.html",
            title="Delete VNF package",
            name=package.vnf_product_name or package.id,
            text="Its content is deleted, too.",
            verb="Delete",
            back=f"{PACKAGES}/{package_id}",
        )

    @pages.action("vnf_packages:delete")
    def post_delete(self, package_id: str, _form: Form) -> None:
        """Delete a VNF package that is disabled and not in use."""
        self._packages.delete(http.caller(), package_id)
        pages.redirect(PACKAGES)
