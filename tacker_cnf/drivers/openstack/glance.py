"""What is asked of Glance: which image is meant by a name."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from tacker_cnf.drivers.openstack import api_errors
from tacker_cnf.drivers.openstack.api import OpenstackApi
from tacker_cnf.drivers.retry_policy import RetryPolicy
from tacker_cnf.vnfd.model import SoftwareImage

#: what Glance tells of the algorithm of "checksum" by its attribute alone
MD5: Final = "md5"


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """An image that can be used."""

    id: str
    checksum: str | None = None
    os_hash_algo: str | None = None
    os_hash_value: str | None = None

    def matches_hash(self, wanted: SoftwareImage) -> bool:
        """Whether it has the contents that a VNFD tells the hash of."""
        hashes = {_normalize_algorithm(self.os_hash_algo): self.os_hash_value}
        hashes |= {MD5: self.checksum}
        actual = hashes.get(_normalize_algorithm(wanted.checksum_algorithm))
        expected = wanted.checksum_hash
        return bool(actual and expected) and actual == (expected or "").lower()


def _normalize_algorithm(algorithm: str | None) -> str:
    """Write "SHA-512" as Glance does."""
    return (algorithm or "").lower().replace("-", "")


class _Page(msgspec.Struct, frozen=True):
    images: tuple[Image, ...]


class Glance:
    """A Glance, as one task asks things of it."""

    def __init__(self, api: OpenstackApi, retry_policy: RetryPolicy) -> None:
        self._api = api
        self._retry_policy = retry_policy

    def find_ids(self, wanted: Iterable[SoftwareImage]) -> Mapping[str, str]:
        """Find images by the names that a VNFD has for them.

        Where Glance has several of one name, it is the one whose hash the
        VNFD tells; if that tells none of them, nobody knows which is meant.

        :returns: the VNFD's id of the image -> Glance's, of those that were
            found; of an OpenStack without Glance, none
        """
        found = {}
        for image in wanted:
            matches = self._list_by_name(image.name)
            exact = [one for one in matches if one.matches_hash(image)]
            candidates = exact or matches
            if len(candidates) == 1:
                found[image.id] = candidates[0].id
        return found

    def _list_by_name(self, name: str) -> tuple[Image, ...]:
        return self._retry_policy.call(
            lambda: self._api.call(lambda: self._request_images(name))
        )

    def _request_images(self, name: str) -> tuple[Image, ...]:
        try:
            response = self._api.images.get(
                "/images",
                params={"name": name, "status": "active"},
                raise_exc=False,
            )
        except self._api.library.NO_SERVICE:
            return ()
        if response.status_code >= 400:
            raise api_errors.service_error(
                "Glance", response.status_code, response.text
            )
        return api_errors.decode_response(
            response.content, _Page, "image", "Glance"
        ).images
