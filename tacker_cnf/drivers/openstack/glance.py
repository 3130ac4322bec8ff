"""Requests to Glance: find images by name."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from tacker_cnf import errors
from tacker_cnf.drivers.openstack import api_errors
from tacker_cnf.drivers.openstack.api import OpenstackApi
from tacker_cnf.runtime.retry_policy import RetryPolicy
from tacker_cnf.vnfd.model import SoftwareImage

#: the algorithm of Glance's attribute "checksum"
MD5: Final = "md5"


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """An active image."""

    id: str
    checksum: str | None = None
    os_hash_algo: str | None = None
    os_hash_value: str | None = None

    def matches_hash(self, wanted: SoftwareImage) -> bool:
        """Return whether its hash equals the checksum in the VNFD."""
        hashes = {_normalize_algorithm(self.os_hash_algo): self.os_hash_value}
        hashes |= {MD5: self.checksum}
        actual = hashes.get(_normalize_algorithm(wanted.checksum_algorithm))
        expected = wanted.checksum_hash
        return bool(actual and expected) and actual == (expected or "").lower()


def _normalize_algorithm(algorithm: str | None) -> str:
    """Convert names such as "SHA-512" to Glance's form, "sha512"."""
    return (algorithm or "").lower().replace("-", "")


class _Page(msgspec.Struct, frozen=True):
    images: tuple[Image, ...]
    #: URL of the next page; its marker is the last image of this one
    next: str | None = None


#: a response without images
NO_IMAGES: Final = b'{"images": []}'
#: of all pages of the images of one name
MAX_BYTES: Final = 4 * 1024 * 1024


class Glance:
    """Glance client of one task."""

    def __init__(self, api: OpenstackApi, retry_policy: RetryPolicy) -> None:
        self._api = api
        self._retry_policy = retry_policy

    def find_ids(self, wanted: Iterable[SoftwareImage]) -> Mapping[str, str]:
        """Find images by their names in the VNFD.

        If Glance has several images of one name, the checksum in the VNFD
        selects one. An image that stays ambiguous counts as not found.

        :returns: image id in the VNFD -> image id in Glance, of those found;
            empty for an OpenStack without Glance
        """
        found = {}
        for image in wanted:
            matches = self._list_by_name(image.name)
            exact = [match for match in matches if match.matches_hash(image)]
            candidates = exact or matches
            if len(candidates) == 1:
                found[image.id] = candidates[0].id
        return found

    def _list_by_name(self, name: str) -> list[Image]:
        """List the images of a name.

        :raises VimRejected: there are too many
        """
        query = {"name": name, "status": "active"}
        images: list[Image] = []
        size = 0
        while size < MAX_BYTES:
            content = self._read_page(query)
            page = _decode(content)
            images += page.images
            if not (page.next and page.images):
                return images
            size += len(content)
            query = {**query, "marker": page.images[-1].id}
        raise errors.VimRejected(
            f"Glance answers more than {MAX_BYTES} bytes about images named "
            f"{name!r:.100}."
        )

    def _read_page(self, query: Mapping[str, str]) -> bytes:
        return self._retry_policy.call(
            lambda: self._api.call(lambda: self._request_page(query))
        )

    def _request_page(self, query: Mapping[str, str]) -> bytes:
        try:
            response = self._api.images.get(
                "/images", params=query, raise_exc=False
            )
        except self._api.library.NO_SERVICE:
            return NO_IMAGES
        if response.status_code >= 400:
            raise api_errors.service_error(
                "Glance", response.status_code, response.content
            )
        return bytes(response.content)


def _decode(content: bytes) -> _Page:
    return api_errors.decode_response(content, _Page, "image", "Glance")
