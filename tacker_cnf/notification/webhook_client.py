"""Send one request to a subscriber, and interpret its response."""

import asyncio
import functools
from collections.abc import Mapping
from typing import Final

import httpx
import msgspec
from oslo_log import log

from tacker_cnf import errors
from tacker_cnf.http_client import authorization, clients
from tacker_cnf.http_client.authorization import OAuth2
from tacker_cnf.http_client.clients import HttpClientOptions
from tacker_cnf.http_client.connection_pool import ConnectionPool, HttpResponse
from tacker_cnf.http_client.retry_after import retry_after
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy
from tacker_cnf.sol.api import Api
from tacker_cnf.sol.authentication import SubscriptionAuthentication

LOG = log.getLogger(__name__)

HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json",
}
#: the standard requires 204; others also mean that it was accepted
SUCCESS_STATUSES: Final = frozenset({200, 201, 202, 204})
#: the subscriber fails, or rejects this client, whatever is sent
SUBSCRIBER_FAILURE_STATUSES: Final = frozenset({401, 403, 429, 502, 503, 504})
#: responses whose Retry-After is respected
RETRY_AFTER_STATUSES: Final = frozenset({429, 503})
#: the longest Retry-After that is respected
MAX_RETRY_AFTER_S: Final = 3600.0
#: limit of a token endpoint's response
MAX_TOKEN_RESPONSE_BYTES: Final = 65536


@functools.cache
def _status_response(status: int) -> httpx.Response:
    """Return a response with this status, all that an auth flow reads."""
    return httpx.Response(status, content=b"")


class DeliveryResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one delivery."""

    #: None: the subscriber accepted the notification
    problem: str | None = None
    #: whether other notifications to this subscriber would fail, too
    everything: bool = False
    #: delay in seconds that the subscriber requested
    retry_after: float = 0.0


class WebhookClient:
    """Sends notifications to one subscriber.

    :raises VnfmError: the certificate of this service cannot be read
    """

    def __init__(
        self,
        uri: str,
        authentication: SubscriptionAuthentication | None,
        client_options: HttpClientOptions,
        ssrf_policy: SsrfPolicy,
        api: Api = Api.LCM_V2,
    ) -> None:
        self._uri = uri
        self._ssrf_policy = ssrf_policy
        self._url = httpx.URL(uri)  # parsed in advance
        self._total_timeout_s = (
            client_options.connect_timeout + client_options.timeout
        )
        self._identified = authorization.needs_client_certificate(
            authentication
        )
        self._client_options = client_options
        self._auth = authorization.flow(authentication)
        self._static_headers = self._build_static_headers()
        self._connection_pool = ConnectionPool(
            uri,
            lambda: clients.ssl_context(
                client_options, use_client_certificate=self._identified
            ),
            {**HEADERS, "Version": api.number},
            client_options.connect_timeout,
            client_options.timeout,
            ssrf_policy.resolve,
        )

    async def deliver(self, body: bytes) -> DeliveryResult:
        """Send one notification; failures are returned, not raised."""
        try:
            answer = await self._call("POST", body)
        except errors.PeerFailed as error:
            return DeliveryResult(problem=str(error), everything=True)
        if answer.status in SUCCESS_STATUSES:
            return DeliveryResult()
        return DeliveryResult(
            problem=f"The subscriber answered {answer.status}.",
            everything=answer.status in SUBSCRIBER_FAILURE_STATUSES,
            retry_after=_retry_after_s(answer.headers.get("retry-after", ""))
            if answer.status in RETRY_AFTER_STATUSES
            else 0.0,
        )

    async def test(self) -> None:
        """Check that the subscriber accepts notifications (SOL003 5.4.20.3.2).

        :raises Unprocessable: it is unreachable, or its response is not 204
        """
        try:
            answer = await self._call("GET")
        except errors.PeerUnreachable as error:
            LOG.info("Callback test failed: uri=%s error=%s", self._uri, error)
            # one message for all causes: it reveals nothing of the network
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

    async def _call(self, method: str, body: bytes = b"") -> HttpResponse:
        with clients.translated_errors(self._uri):
            async with asyncio.timeout(self._total_timeout_s):
                if self._static_headers is None:
                    return await self._authorized(method, body)
                return await self._connection_pool.send(
                    method, body, self._static_headers
                )

    def _build_static_headers(self) -> Mapping[str, str] | None:
        """Build the authorization header, if no token is needed."""
        if isinstance(self._auth, OAuth2):
            return None
        request = httpx.Request("POST", self._url)
        return _authorization_header(next(self._auth.sync_auth_flow(request)))

    async def _authorized(self, method: str, body: bytes) -> HttpResponse:
        """Send a request with a token, which is requested if needed."""
        request = httpx.Request(method, self._url)
        flow = self._auth.async_auth_flow(request)
        try:
            step = await anext(flow)
            while True:
                if step is not request:
                    step = await flow.asend(await self._request_token(step))
                    continue
                headers = _authorization_header(request)
                answer = await self._connection_pool.send(
                    method, body, headers
                )
                try:
                    step = await flow.asend(_status_response(answer.status))
                except StopAsyncIteration:
                    return answer
        finally:
            await flow.aclose()

    async def _request_token(self, request: httpx.Request) -> httpx.Response:
        """Request a token from the token endpoint."""
        async with clients.async_client(
            self._client_options,
            self._ssrf_policy,
            use_client_certificate=self._identified,
        ) as client:
            request.headers["Accept-Encoding"] = "identity"
            answer = await client.send(request, stream=True)
            try:
                return await _read_limited(answer)
            finally:
                await answer.aclose()

    def close(self) -> None:
        """Close the connections."""
        self._connection_pool.close()


async def _read_limited(answer: httpx.Response) -> httpx.Response:
    """Read a token response, up to a limit.

    :raises PeerFailed: it is longer
    """
    body = bytearray()
    async for chunk in answer.aiter_raw():
        body += chunk
        if len(body) > MAX_TOKEN_RESPONSE_BYTES:
            host = answer.request.url.netloc.decode()
            raise errors.PeerFailed(
                f"The token endpoint {host} answered more than "
                f"{MAX_TOKEN_RESPONSE_BYTES} bytes."
            )
    return httpx.Response(
        answer.status_code, content=bytes(body), request=answer.request
    )


def _authorization_header(request: httpx.Request) -> Mapping[str, str]:
    value = request.headers.get("Authorization")
    return {"Authorization": value} if value else {}


def _retry_after_s(header: str) -> float:
    return min(retry_after(header) or 0.0, MAX_RETRY_AFTER_S)


class CallbackTester:
    """Checks that a new subscription's callback works (SOL003 5.4.20.3.2).

    :param is_on: whether callbacks are tested at all
    """

    def __init__(
        self,
        client_options: HttpClientOptions,
        ssrf_policy: SsrfPolicy,
        *,
        is_on: bool,
    ) -> None:
        self._client_options = client_options
        self._ssrf_policy = ssrf_policy
        self.is_on = is_on

    def check(
        self,
        uri: str,
        authentication: SubscriptionAuthentication | None,
        api: Api,
    ) -> None:
        """Call a callbackUri in the same way as a notification.

        :raises Unprocessable: it is unreachable, its response is not 204, or it
            requires a client certificate that is not configured
        """
        authorization.check(authentication, self._client_options)
        if self.is_on:
            client = WebhookClient(
                uri,
                authentication,
                self._client_options,
                self._ssrf_policy,
                api,
            )
            asyncio.run(_test(client))


async def _test(client: WebhookClient) -> None:
    try:
        await client.test()
    finally:
        client.close()
