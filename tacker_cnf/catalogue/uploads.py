"""Packages that are fetched from elsewhere (SOL005 9.4.6)."""

import contextlib
import io
import threading
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, cast

import httpx
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.catalogue.content import CHUNK
from tacker_cnf.catalogue.packages import Packages
from tacker_cnf.catalogue.sources import Pinned, Sources
from tacker_cnf.db import packages
from tacker_cnf.db.session import Store, transaction
from tacker_cnf.outgoing import clients
from tacker_cnf.sol.vnf_package import (
    AuthType,
    UploadVnfPackageFromUriRequest,
)

Request = UploadVnfPackageFromUriRequest

#: tries after which a package is given up that conductors die of
TRIES: Final = 3

_REFUSED: Final = "; it does not take userName and password, or wants them"
#: what the other side means, where it is plain
_HINTS: Final = {
    401: _REFUSED,
    403: _REFUSED,
    404: "; there is no such file",
    410: "; there is no such file any more",
}


class Stopped(Exception):
    """The process ends; somebody else will fetch the package."""


class Uploads:
    """What is to be fetched: it is asked for here, and done here.

    :param wake: tells a conductor that there is something to do
    """

    def __init__(
        self,
        store: Store,
        conf: cfg.ConfigOpts,
        catalogue: Packages,
        wake: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._wake = wake
        options = conf.catalogue
        self._sources = Sources(options.upload_hosts, options.upload_schemes)
        self._manners = clients.manners_of(conf)
        self._timeout: float = options.upload_timeout

    def ask(self, package_id: str, request: Request) -> None:
        """Have a package fetched.

        :raises Forbidden: the configuration does not allow that
        :raises BadRequest: the address is none, or the authentication is
            not of a kind that is supported
        :raises NotFound: there is no such package
        :raises WrongState: it has content already, or it is being fetched
        """
        if request.auth_type == AuthType.OAUTH2_CLIENT_CREDENTIALS:
            raise errors.BadRequest("authType: only BASIC is supported.")
        self._sources.check(request.address_information)
        self._begin(package_id, request)
        self._wake(package_id)

    @transaction
    def _begin(self, package_id: str, request: Request) -> None:
        with self._store.writer() as session:
            packages.begin_upload(session, package_id, request)

    @transaction
    def waiting(self) -> tuple[str, ...]:
        """Tell which packages are to be fetched."""
        with self._store.reader() as session:
            return tuple(packages.uploads(session))

    def tidy(self) -> None:
        """Remove files that uploads left whose process was lost."""
        self._catalogue.sweep()

    def fetch(self, package_id: str, stop: threading.Event) -> None:
        """Fetch a package and onboard it, or note why that failed.

        :raises Stopped: the process ends
        """
        taken = self._take(package_id)
        if taken is None:
            return
        request, attempt = taken
        try:
            self._fetch(package_id, request, attempt, stop)
        except Stopped:
            self._give_back(package_id, attempt)
            raise
        except Exception as error:
            self._fail(package_id, attempt, error)
            raise

    @transaction
    def _take(self, package_id: str) -> tuple[Request, int] | None:
        with self._store.writer() as session:
            return packages.take_upload(session, package_id)

    @transaction
    def _give_back(self, package_id: str, attempt: int) -> None:
        with self._store.writer() as session:
            packages.give_upload_back(session, package_id, attempt)

    @transaction
    def _fail(self, package_id: str, attempt: int, error: Exception) -> None:
        with self._store.writer() as session:
            why = errors.problem_of(error)
            packages.fail_upload(session, package_id, attempt, why)

    def _fetch(
        self,
        package_id: str,
        request: Request,
        attempt: int,
        stop: threading.Event,
    ) -> None:
        if attempt > TRIES:
            raise errors.VnfmError(
                f"{TRIES} conductors were lost while they fetched the package."
            )
        address = request.address_information
        self._sources.check(address)  # the configuration may have changed
        with clients.told(address), self._answer(request) as answer:
            source = _Body(answer, stop, time.monotonic() + self._timeout)
            self._catalogue.onboard_fetched(
                package_id,
                cast("BinaryIO", io.BufferedReader(source, CHUNK)),
                _length(answer),
                attempt,
            )

    @contextlib.contextmanager
    def _answer(self, request: Request) -> Iterator[httpx.Response]:
        auth = None
        if request.user_name is not None and request.password is not None:
            auth = httpx.BasicAuth(request.user_name, request.password)
        headers = {"Accept-Encoding": "identity", "Accept": "*/*"}
        transport = Pinned(self._sources, self._manners)
        with (
            clients.client(self._manners, transport=transport) as client,
            client.stream(
                "GET", request.address_information, headers=headers, auth=auth
            ) as answer,
        ):
            _check(answer)
            yield answer


class _Body(io.RawIOBase):
    """The body of an answer, as a file, until it is time or over."""

    def __init__(
        self, answer: httpx.Response, stop: threading.Event, until: float
    ) -> None:
        self._chunks = answer.iter_raw()
        self._left = b""
        self._stop = stop
        self._until = until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._stop.is_set():
            raise Stopped
        if time.monotonic() > self._until:
            raise errors.PeerFailed("The package did not come in time.")
        while not self._left:
            try:
                self._left = next(self._chunks)
            except StopIteration:
                return 0
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


def _check(answer: httpx.Response) -> None:
    host = answer.request.headers["Host"]
    if answer.is_redirect:
        raise errors.PeerFailed(
            f"{host} answered {answer.status_code}; redirects are not "
            "followed."
        )
    if answer.status_code != 200:
        hint = _HINTS.get(answer.status_code, "")
        raise errors.PeerFailed(f"{host} answered {answer.status_code}{hint}.")
    coding = answer.headers.get("Content-Encoding", "identity")
    if coding != "identity":
        raise errors.PeerFailed(
            f"{host} answered with Content-Encoding {coding:.40}; it has to "
            "give the file as it is."
        )


def _length(answer: httpx.Response) -> int | None:
    told = answer.headers.get("Content-Length", "")
    return int(told) if told.isdecimal() else None
