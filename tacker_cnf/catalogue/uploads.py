"""Download packages from a URL (SOL005 9.4.6, upload_from_uri)."""

import contextlib
import io
from collections.abc import Iterator
from typing import BinaryIO, Final, cast

import httpx
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.catalogue.content import CHUNK_BYTES
from tacker_cnf.catalogue.download_policy import DownloadPolicy
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.db import packages
from tacker_cnf.db.packages import ClaimedUpload
from tacker_cnf.db.session import Store
from tacker_cnf.http_client import clients
from tacker_cnf.http_client.exchange import ExchangeLimits
from tacker_cnf.runtime.cancellation import CancelToken
from tacker_cnf.runtime.clock import SYSTEM_CLOCK, Clock
from tacker_cnf.sol.vnf_package import UploadVnfPackageFromUriRequest

Request = UploadVnfPackageFromUriRequest

#: attempts after which an upload fails whose conductors crash
MAX_ATTEMPTS: Final = 3

_AUTH_HINT: Final = "; it rejects userName and password, or requires them"
#: HTTP status -> text that explains it in the error
_HINTS: Final = {
    401: _AUTH_HINT,
    403: _AUTH_HINT,
    404: "; the file does not exist",
    410: "; the file does not exist any more",
}


class Uploads:
    """Runs the downloads that clients have requested."""

    def __init__(
        self,
        store: Store,
        conf: cfg.ConfigOpts,
        catalogue: Packages,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._clock = clock
        self._store = store
        self._catalogue = catalogue
        options = conf.catalogue
        self._policy = DownloadPolicy(
            options.upload_hosts, options.upload_schemes
        )
        self._client_options = clients.options_from_conf(conf)
        self._timeout: float = options.upload_timeout

    def pending(self) -> tuple[tuple[str, str], ...]:
        """List the packages that are to be fetched, and their projects."""
        return tuple(self._store.read(None, packages.list_uploads))

    def remove_stale_files(self) -> None:
        """Remove files and content of uploads whose process was killed."""
        self._catalogue.sweep()

    def fetch(self, package_id: str, cancel_token: CancelToken) -> None:
        """Fetch a package and onboard it, or record the failure.

        :raises Cancelled: the fetch was cancelled; another conductor may
            continue it
        """
        claimed = self._store.write(None, packages.claim_upload, package_id)
        if claimed is None:
            return
        attempt = claimed.attempt
        try:
            self._fetch(package_id, claimed, cancel_token)
        except errors.Cancelled:
            self._store.write(
                None, packages.release_upload, package_id, attempt
            )
            raise
        except Exception as error:
            problem = errors.problem_details(error)
            self._store.write(
                None, packages.fail_upload, package_id, attempt, problem
            )
            raise

    def _fetch(
        self,
        package_id: str,
        claimed: ClaimedUpload,
        cancel_token: CancelToken,
    ) -> None:
        request = claimed.request
        if claimed.attempt > MAX_ATTEMPTS:
            raise errors.VnfmError(
                f"{MAX_ATTEMPTS} conductors were lost while they fetched the "
                "package; it is not tried again."
            )
        address = request.address_information
        self._policy.check(address)  # the configuration may have changed
        with (
            clients.translated_errors(address),
            _explain_timeout(),
            cancel_token.scope(),
            self._open_response(request) as response,
        ):
            source = _Body(response)
            self._catalogue.onboard_fetched(
                package_id,
                cast("BinaryIO", io.BufferedReader(source, CHUNK_BYTES)),
                _length(response),
                claimed.attempt,
                allows_code=claimed.allows_code,
            )

    @contextlib.contextmanager
    def _open_response(self, request: Request) -> Iterator[httpx.Response]:
        auth = None
        if request.user_name is not None and request.password is not None:
            auth = httpx.BasicAuth(request.user_name, request.password)
        headers = {"Accept": "*/*"}
        limits = ExchangeLimits.of_file(self._timeout, self._clock)
        with (
            clients.client(
                self._client_options, resolve=self._policy.resolve
            ) as client,
            client.stream(
                "GET",
                request.address_information,
                headers=headers,
                auth=auth,
                extensions={"limits": limits},
            ) as response,
        ):
            _check(response)
            yield response


@contextlib.contextmanager
def _explain_timeout() -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise errors.PeerFailed(
            "The package was not received within [catalogue] upload_timeout."
        ) from None


class _Body(io.RawIOBase):
    """The body of a response as a file."""

    def __init__(self, response: httpx.Response) -> None:
        self._chunks = response.iter_raw()
        self._unread = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._unread:
            try:
                self._unread = next(self._chunks)
            except StopIteration:
                return 0
        size = min(len(buffer), len(self._unread))
        buffer[:size] = self._unread[:size]
        self._unread = self._unread[size:]
        return size


def _check(response: httpx.Response) -> None:
    host = response.request.headers["Host"]
    if response.is_redirect:
        raise errors.PeerFailed(
            f"{host} answered {response.status_code}; redirects are not "
            "followed."
        )
    if response.status_code != 200:
        hint = _HINTS.get(response.status_code, "")
        raise errors.PeerFailed(
            f"{host} answered {response.status_code}{hint}."
        )


def _length(response: httpx.Response) -> int | None:
    value = response.headers.get("Content-Length", "")
    return int(value) if value.isdecimal() else None
