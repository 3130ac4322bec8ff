"""VNF packages of the NFVO, fetched on demand (SOL003 clause 10)."""

import contextlib
import hashlib
import io
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO, Final, cast
from urllib import parse

import httpx
import msgspec
from oslo_config import cfg
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.catalogue.unpacked import UnpackedPackage
from tacker_cnf.nfvo.client import NfvoClient, NfvoResponse
from tacker_cnf.sol.base import Identifier, KeyValuePairs, SolType
from tacker_cnf.sol.common import Checksum
from tacker_cnf.sol.vnf_package import OnboardingState, OperationalState

LOG = log.getLogger(__name__)

CHUNK_BYTES: Final = 1024 * 1024
#: a filter value that needs no quotes (SOL013 5.2.2)
UNQUOTED_VALUE: Final = re.compile(r"[A-Za-z0-9._-]+")
#: SOL003 checksum algorithm -> its name in hashlib
DIGESTS: Final[Mapping[str, str]] = {
    f"SHA-{size}": f"sha{size}" for size in (224, 256, 384, 512)
}


class RemotePackage(SolType):
    """The attributes read of a VnfPkgInfo (SOL003 10.5.2.2)."""

    id: Identifier
    vnfd_id: Identifier | None = None
    checksum: Checksum | None = None
    onboarding_state: OnboardingState
    operational_state: OperationalState
    user_defined_data: KeyValuePairs = msgspec.field(default_factory=dict)


class PackageApi(msgspec.Struct, frozen=True):
    """Path of the packages in an API version, and the attribute in URLs."""

    root: str
    key: str


PACKAGE_APIS: Final[Mapping[str, PackageApi]] = {
    "1": PackageApi("/vnfpkgm/v1/vnf_packages", "id"),
    "2": PackageApi("/vnfpkgm/v2/onboarded_vnf_packages", "vnfd_id"),
}


class NfvoPackages:
    """The packages onboarded here, with the NFVO's as fallback.

    :param limit: limits the requests of a project that wait for the NFVO
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        nfvo: NfvoClient,
        catalogue: Packages,
        limit: Callable[[str], contextlib.AbstractContextManager[None]],
    ) -> None:
        self._client = nfvo
        self._catalogue = catalogue
        self._limit = limit
        version = conf.nfvo.package_version
        self._api = PACKAGE_APIS[version[0]]
        self._version = {"Version": version}

    def unpacked(self, vnfd_id: str, project_id: str) -> UnpackedPackage:
        """Return a package that a project may use; fetch it from the NFVO for
        the project if it is not onboarded.

        :raises VnfdNotUsable: no package has this VNFD, or the package is
            disabled or not valid
        :raises PeerFailed: the NFVO failed
        :raises Unavailable: too many requests wait for peers
        """
        try:
            return self._catalogue.unpacked(vnfd_id, project_id)
        except errors.VnfdNotUsable:
            with self._limit(project_id):
                self._fetch(vnfd_id, project_id)
        return self._catalogue.unpacked(vnfd_id, project_id)

    def _fetch(self, vnfd_id: str, project_id: str) -> None:
        try:
            found = self._find(vnfd_id)
            self._download(vnfd_id, found, project_id)
        except errors.PeerFailed as error:
            raise errors.PeerFailed(
                f"The VNFD {vnfd_id} is not onboarded here, and fetching its "
                f"package from the NFVO failed: {error}"
            ) from None
        except errors.Conflict:
            LOG.info("VNF package already onboarded: vnfd=%s", vnfd_id)
        except (errors.BadRequest, errors.PayloadTooLarge) as error:
            raise errors.VnfdNotUsable(
                f"The NFVO's VNF package of VNFD {vnfd_id} is not valid: "
                f"{error}"
            ) from None

    def _find(self, vnfd_id: str) -> RemotePackage:
        """Find the package of a VNFD at the NFVO.

        :raises VnfdNotUsable: the NFVO has no enabled package of this VNFD
        """
        query = parse.urlencode({"filter": f"(eq,vnfdId,{_quoted(vnfd_id)})"})
        response = self._client.call(
            "GET",
            f"{self._api.root}?{query}",
            headers=self._version | {"Accept": "application/json"},
        )
        for found in _read(response):
            if found.vnfd_id == vnfd_id:
                _check_usable(found)
                return found
        raise errors.UnknownVnfd(
            f"No VNF package with VNFD {vnfd_id} is onboarded here or at the "
            "NFVO."
        )

    def _download(
        self, vnfd_id: str, found: RemotePackage, project_id: str
    ) -> None:
        key = parse.quote(getattr(found, self._api.key), safe="")
        path = f"{self._api.root}/{key}/package_content"
        headers = self._version | {"Accept": "application/zip"}
        LOG.info("VNF package download started: vnfd=%s", vnfd_id)
        with self._client.download(path, headers) as response:
            if response.status_code != httpx.codes.OK:
                raise errors.PeerFailed(
                    f"The NFVO responded {response.status_code} to GET "
                    "package_content."
                )
            content = cast("BinaryIO", Content(response, found.checksum))
            self._catalogue.import_package(
                vnfd_id, content, found.user_defined_data, project_id
            )


class OnboardedPackages:
    """The packages that are onboarded here; those of the NFVO are not
    fetched.
    """

    def __init__(self, catalogue: Packages) -> None:
        self._catalogue = catalogue

    def unpacked(self, vnfd_id: str, project_id: str) -> UnpackedPackage:
        """Return an onboarded package that a project may use.

        :raises VnfdNotUsable: no package has this VNFD
        """
        try:
            return self._catalogue.unpacked(vnfd_id, project_id)
        except errors.VnfdNotUsable as error:
            raise errors.VnfdNotUsable(
                f"{error} A dry run does not fetch a package from an NFVO: "
                "onboard it, or create a VNF instance of it."
            ) from None


class Content(io.RawIOBase):
    """A package content from the NFVO in chunks, its checksum verified."""

    def __init__(
        self, response: httpx.Response, checksum: Checksum | None
    ) -> None:
        super().__init__()
        self._chunks: Iterator[bytes] = response.iter_bytes(CHUNK_BYTES)
        self._checksum = checksum
        name = DIGESTS.get(checksum.algorithm) if checksum else None
        self._digest: Any = hashlib.new(name) if name else None

    def read(self, size: int = -1) -> bytes:  # noqa: ARG002
        """Return the next chunk, whatever its size; empty at the end.

        :raises InvalidPackage: the content is complete and its checksum
            differs
        """
        chunk = next(self._chunks, b"")
        if self._digest is not None:
            self._digest.update(chunk)
        if not chunk:
            self._verify()
        return chunk

    def _verify(self) -> None:
        if self._digest is None or self._checksum is None:
            return
        if self._digest.hexdigest() != self._checksum.hash.lower():
            raise errors.InvalidPackage(
                "its checksum differs from the one in the NFVO's VnfPkgInfo."
            )


def _quoted(value: str) -> str:
    if UNQUOTED_VALUE.fullmatch(value):
        return value
    return "'" + value.replace("'", "''") + "'"


def _read(response: NfvoResponse) -> tuple[RemotePackage, ...]:
    if response.status != httpx.codes.OK:
        raise errors.PeerFailed(
            f"The NFVO responded {response.status} to the package query: "
            f"{response.error_detail}"
        )
    try:
        return msgspec.json.decode(
            response.content, type=tuple[RemotePackage, ...]
        )
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.PeerFailed(
            f"The NFVO's list of packages is not valid: {error}."
        ) from None


def _check_usable(found: RemotePackage) -> None:
    if found.onboarding_state != OnboardingState.ONBOARDED:
        raise errors.VnfdNotUsable(
            f"The NFVO's VNF package {found.id} is {found.onboarding_state}."
        )
    if found.operational_state != OperationalState.ENABLED:
        raise errors.VnfdNotUsable(
            f"The NFVO's VNF package {found.id} of VNFD {found.vnfd_id} is "
            "disabled."
        )
