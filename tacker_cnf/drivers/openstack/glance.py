"""What is asked of Glance: which image is meant by a name."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from tacker_cnf.drivers.endurance import Endurance
from tacker_cnf.drivers.openstack import refusals
from tacker_cnf.drivers.openstack.link import Link
from tacker_cnf.vnfd.model import SoftwareImage

#: what Glance tells of the algorithm of "checksum" by its attribute alone
MD5: Final = "md5"


class Image(msgspec.Struct, frozen=True, kw_only=True):
    """An image that can be used."""

    id: str
    checksum: str | None = None
    os_hash_algo: str | None = None
    os_hash_value: str | None = None

    def has(self, wanted: SoftwareImage) -> bool:
        """Whether it has the contents that a VNFD tells the hash of."""
        told = {_plain(self.os_hash_algo): self.os_hash_value}
        told |= {MD5: self.checksum}
        known = told.get(_plain(wanted.checksum_algorithm))
        given = wanted.checksum_hash
        return bool(known and given) and known == (given or "").lower()


def _plain(algorithm: str | None) -> str:
    """Write "SHA-512" as Glance does."""
    return (algorithm or "").lower().replace("-", "")


class _Page(msgspec.Struct, frozen=True):
    images: tuple[Image, ...]


class Glance:
    """A Glance, as one task asks things of it."""

    def __init__(self, link: Link, endurance: Endurance) -> None:
        self._link = link
        self._endurance = endurance

    def ids(self, wanted: Iterable[SoftwareImage]) -> Mapping[str, str]:
        """Find images by the names that a VNFD has for them.

        Where Glance has several of one name, it is the one whose hash the
        VNFD tells; if that tells none of them, nobody knows which is meant.

        :returns: the VNFD's id of the image -> Glance's, of those that were
            found; of an OpenStack without Glance, none
        """
        found = {}
        for image in wanted:
            named = self._named(image.name)
            exact = [one for one in named if one.has(image)]
            candidates = exact or named
            if len(candidates) == 1:
                found[image.id] = candidates[0].id
        return found

    def _named(self, name: str) -> tuple[Image, ...]:
        return self._endurance.ask(
            lambda: self._link.told(lambda: self._ask(name))
        )

    def _ask(self, name: str) -> tuple[Image, ...]:
        try:
            answer = self._link.images.get(
                "/images",
                params={"name": name, "status": "active"},
                raise_exc=False,
            )
        except self._link.library.NO_SERVICE:
            return ()
        if answer.status_code >= 400:
            raise refusals.of_service(
                "Glance", answer.status_code, answer.text
            )
        return refusals.read(answer.content, _Page, "image", "Glance").images
