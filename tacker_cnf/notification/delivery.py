"""One request to a subscriber, and what its answer means."""

import asyncio
import functools
from collections.abc import Mapping
from typing import Final

import httpx
import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.outgoing import authorization, clients
from tacker_cnf.outgoing.authorization import OAuth2
from tacker_cnf.outgoing.clients import Manners
from tacker_cnf.outgoing.guard import Guard
from tacker_cnf.outgoing.pauses import retry_after
from tacker_cnf.outgoing.wire import Answer, Wire
from tacker_cnf.sol.authentication import SubscriptionAuthentication

LOG = log.getLogger(__name__)

HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Version": "2.0.0",
}
#: the standard says 204; what else means that it was taken
TAKEN: Final = frozenset({200, 201, 202, 204})
#: the subscriber is in trouble, or we are with it, whatever is sent
TROUBLE: Final = frozenset({401, 403, 429, 502, 503, 504})
#: answers whose Retry-After counts
PATIENT: Final = frozenset({429, 503})
#: the longest Retry-After that is heeded, in seconds
LONGEST: Final = 3600.0
#: what is read of the answer of a token endpoint, in bytes
LONGEST_TOKEN: Final = 65536


@functools.cache
def _seen(status: int) -> httpx.Response:
    """Give what a flow looks at: the status of an answer."""
    return httpx.Response(status, content=b"")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a delivery ended."""

    #: None: the notification was taken
    problem: str | None = None
    #: whether another notification would fare no better now
    everything: bool = False
    #: seconds the subscriber wants to be left alone
    retry_after: float = 0.0


class Courier:
    """Brings notifications to one subscriber.

    :raises VnfmError: the certificate of this service cannot be read
    """

    def __init__(
        self,
        uri: str,
        authentication: SubscriptionAuthentication | None,
        manners: Manners,
        guard: Guard,
    ) -> None:
        self._uri = uri
        self._guard = guard
        self._url = httpx.URL(uri)  # parsed once
        self._patience = manners.connect_timeout + manners.timeout
        self._identified = authorization.is_identified(authentication)
        self._manners = manners
        self._auth = authorization.flow(authentication)
        self._always = self._what_is_always_shown()
        self._wire = Wire(
            uri,
            lambda: clients.tls(manners, identified=self._identified),
            HEADERS,
            manners.connect_timeout,
            manners.timeout,
            guard.find,
        )

    async def deliver(self, body: bytes) -> Outcome:
        """Bring one notification; every end is told, none is raised."""
        try:
            answer = await self._call("POST", body)
        except errors.PeerFailed as error:
            return Outcome(problem=str(error), everything=True)
        if answer.status in TAKEN:
            return Outcome()
        return Outcome(
            problem=f"The subscriber answered {answer.status}.",
            everything=answer.status in TROUBLE,
            retry_after=_pause(answer.headers.get("retry-after", ""))
            if answer.status in PATIENT
            else 0.0,
        )

    async def test(self) -> None:
        """Make sure that notifications will be taken (SOL003 5.4.20.3.2).

        :raises Unprocessable: they will not
        """
        try:
            answer = await self._call("GET")
        except errors.PeerUnreachable as error:
            LOG.info("A callbackUri is refused: %s", error)
            # the same for all: nobody is to learn here what is where
            raise errors.Unprocessable(
                "callbackUri: it, or its tokenEndpoint, cannot be reached."
            ) from None
        except errors.PeerFailed as error:
            raise errors.Unprocessable(f"callbackUri: {error}") from None
        if answer.status != 204:
            raise errors.Unprocessable(
                "callbackUri: the test notification was answered "
                f"{answer.status}; it has to be 204."
            )

    async def _call(self, method: str, body: bytes = b"") -> Answer:
        with clients.told(self._uri):
            async with asyncio.timeout(self._patience):
                if self._always is None:
                    return await self._authorized(method, body)
                return await self._wire.call(method, body, self._always)

    def _what_is_always_shown(self) -> Mapping[str, str] | None:
        """Tell how each request proves who calls, where it needs no token."""
        if isinstance(self._auth, OAuth2):
            return None
        request = httpx.Request("POST", self._url)
        return _shown(next(self._auth.sync_auth_flow(request)))

    async def _authorized(self, method: str, body: bytes) -> Answer:
        """Go through the steps that a token needs."""
        request = httpx.Request(method, self._url)
        flow = self._auth.async_auth_flow(request)
        try:
            step = await anext(flow)
            while True:
                if step is not request:
                    step = await flow.asend(await self._ask(step))
                    continue
                known = _shown(request)
                answer = await self._wire.call(method, body, known)
                try:
                    step = await flow.asend(_seen(answer.status))
                except StopAsyncIteration:
                    return answer
        finally:
            await flow.aclose()

    async def _ask(self, request: httpx.Request) -> httpx.Response:
        """Ask another server, for a token."""
        async with clients.async_client(
            self._manners, self._guard, identified=self._identified
        ) as client:
            request.headers["Accept-Encoding"] = "identity"
            answer = await client.send(request, stream=True)
            try:
                return await _short(answer)
            finally:
                await answer.aclose()

    def close(self) -> None:
        """Let go of the connections."""
        self._wire.close()


async def _short(answer: httpx.Response) -> httpx.Response:
    """Read an answer that has to be short, however long it is.

    :raises PeerFailed: it is not short
    """
    body = bytearray()
    async for chunk in answer.aiter_raw():
        body += chunk
        if len(body) > LONGEST_TOKEN:
            host = answer.request.url.netloc.decode()
            raise errors.PeerFailed(
                f"The token endpoint {host} answered more than "
                f"{LONGEST_TOKEN} bytes."
            )
    return httpx.Response(
        answer.status_code, content=bytes(body), request=answer.request
    )


def _shown(request: httpx.Request) -> Mapping[str, str]:
    shown = request.headers.get("Authorization")
    return {"Authorization": shown} if shown else {}


def _pause(told: str) -> float:
    return min(retry_after(told) or 0.0, LONGEST)


class Tester:
    """Makes sure that who subscribes can be told (SOL003 5.4.20.3.2).

    :param is_on: whether callbacks are called at all
    """

    def __init__(self, manners: Manners, guard: Guard, *, is_on: bool) -> None:
        self._manners = manners
        self._guard = guard
        self._is_on = is_on

    def check(
        self, uri: str, authentication: SubscriptionAuthentication | None
    ) -> None:
        """Call a callbackUri, as notifications will.

        :raises Unprocessable: it cannot be reached, does not answer 204, or
            wants a certificate that is not here
        """
        authorization.check(authentication, self._manners)
        if self._is_on:
            courier = Courier(uri, authentication, self._manners, self._guard)
            asyncio.run(_test(courier))


async def _test(courier: Courier) -> None:
    try:
        await courier.test()
    finally:
        courier.close()
