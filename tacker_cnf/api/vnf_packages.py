"""/vnfpkgm/v1/vnf_packages (SOL003 clause 10, SOL005 clause 9)."""

import io
import zipfile
from pathlib import Path
from typing import Any, Final

import pecan

from tacker_cnf import errors
from tacker_cnf.api import http, links, policies, query
from tacker_cnf.catalogue import tree
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.db import packages
from tacker_cnf.sol.vnf_package import (
    CreateVnfPkgInfoRequest,
    VnfPkgInfo,
    VnfPkgInfoModifications,
)

_LISTED: Final = query.Listed(VnfPkgInfo, packages.HEAVY, packages.COLUMNS)
CHUNK: Final = 256 * 1024
#: media types under which a package is uploaded
_UPLOADS: Final = (http.ZIP, "application/x-zip-compressed", http.BINARY)
#: where a package keeps what describes it rather than what it runs
_DESCRIPTIVE: Final = ("Definitions", "TOSCA-Metadata")


class VnfPackages:
    """The VNF packages and what is in them."""

    def __init__(self, catalogue: Packages) -> None:
        self._catalogue = catalogue

    @http.endpoint(201)
    def post(self, body: CreateVnfPkgInfoRequest) -> VnfPkgInfo:
        http.authorized(policies.PACKAGE_WRITE)
        package = self._catalogue.create(body.user_defined_data)
        http.set_location(links.package(package.id))
        return links.with_package_links(package, http.base_url())

    @http.endpoint(200)
    def get_all(self) -> list[dict[str, Any]]:
        http.authorized(policies.PACKAGE_READ)
        asked = query.of_request(_LISTED)
        base = http.base_url()
        with self._catalogue.find(asked.wanted) as found:
            return asked.answer(
                (position, links.with_package_links(package, base))
                for position, package in found
            )

    @http.endpoint(200)
    def get(self, package_id: str) -> VnfPkgInfo:
        http.authorized(policies.PACKAGE_READ)
        package = self._catalogue.get(package_id)
        return links.with_package_links(package, http.base_url())

    @http.endpoint(200, accepts=(http.MERGE_PATCH, http.JSON))
    def patch(
        self, package_id: str, body: VnfPkgInfoModifications
    ) -> VnfPkgInfoModifications:
        http.authorized(policies.PACKAGE_WRITE)
        self._catalogue.modify(package_id, body)
        return body

    @http.endpoint(204)
    def delete(self, package_id: str) -> None:
        http.authorized(policies.PACKAGE_WRITE)
        self._catalogue.delete(package_id)

    @http.endpoint(202)
    def put_content(self, package_id: str) -> None:
        http.authorized(policies.PACKAGE_WRITE)
        http.check_content_type(_UPLOADS)
        self._catalogue.onboard(package_id, *http.upload())

    @http.endpoint(200, gives=(http.ZIP,))
    def get_content(self, package_id: str) -> Any:
        http.authorized(policies.PACKAGE_READ)
        content_id = self._catalogue.content_of(package_id)
        csar = self._catalogue.content.csar(content_id)
        return _file(csar, http.ZIP)

    @http.endpoint(200, gives=(http.ZIP, http.TEXT))
    def get_vnfd(self, package_id: str) -> Any:
        """Give the VNFD: its one file as text, or all of them as a ZIP."""
        http.authorized(policies.PACKAGE_READ)
        root = self._tree(package_id)
        files = _descriptive_files(root)
        definitions = [f for f in files if f.suffix in {".yaml", ".yml"}]
        kind = http.check_accept(
            (http.ZIP, http.TEXT) if len(definitions) == 1 else (http.ZIP,)
        )
        if kind == http.TEXT:
            return _file(definitions[0], http.TEXT)
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for file in files:
                packed.write(file, file.relative_to(root))
        pecan.response.content_type = http.ZIP
        pecan.response.body = archive.getvalue()
        return pecan.response

    @http.endpoint(200, gives=(http.BINARY, http.JSON))
    def get_artifact(self, package_id: str, path: str) -> Any:
        http.authorized(policies.PACKAGE_READ)
        file = tree.find(self._tree(package_id), path)
        if file is None:
            raise errors.NotFound(
                f"VNF package {package_id} has no artifact {path}."
            )
        return _file(file, http.BINARY)

    def _tree(self, package_id: str) -> Path:
        content_id = self._catalogue.content_of(package_id)
        return self._catalogue.content.tree(content_id)


def _descriptive_files(tree: Path) -> list[Path]:
    found = [f for f in tree.iterdir() if f.suffix in {".yaml", ".yml"}]
    for folder in _DESCRIPTIVE:
        found += (f for f in (tree / folder).rglob("*") if f.is_file())
    return sorted(found)


def _file(path: Path, kind: str) -> Any:
    response = pecan.response
    response.content_type = kind
    response.charset = None
    pecan.request.environ[http.LENGTH] = path.stat().st_size
    response.app_iter = _chunks(path)
    return response


def _chunks(path: Path) -> Any:
    with path.open("rb") as file:
        yield file.read(CHUNK)  # even of an empty file, or pecan says 204
        while chunk := file.read(CHUNK):
            yield chunk
