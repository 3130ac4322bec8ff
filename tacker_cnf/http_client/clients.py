"""HTTP clients with the same options, for threads and for asyncio.

TLS certificates are verified, redirects are not followed, and proxies of the
environment are ignored: a request is only sent to the URL of the caller.
"""

import contextlib
import functools
import logging
import ssl
from collections.abc import Iterator
from typing import Any
from urllib import parse

import httpcore
import httpx
import msgspec
from oslo_config import cfg

from tacker_cnf import context as request_context
from tacker_cnf import errors, tracing
from tacker_cnf.http_client import network_backend
from tacker_cnf.http_client.exchange import (
    MEBIBYTE,
    Exchange,
    ExchangeLimits,
)
from tacker_cnf.http_client.network_backend import LimitedBackend, Resolver
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy, SsrfPolicyTransport

# they log headers, and URLs, which may contain a token
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class HttpClientOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of [outgoing]."""

    verify: bool = True
    #: default: the authorities that the operating system trusts
    ca_file: str | None = None
    client_certificate: str | None = None
    #: default: the file of the certificate
    client_key: str | None = None
    #: seconds
    connect_timeout: float = 5.0
    #: seconds between two parts of a response
    timeout: float = 20.0
    #: seconds of an exchange, which is a request and its complete response
    exchange_timeout: float = 120.0
    #: bytes
    max_response_bytes: int = 64 * MEBIBYTE

    @property
    def timeouts(self) -> httpx.Timeout:
        """The timeouts of the parts of an exchange."""
        return httpx.Timeout(self.timeout, connect=self.connect_timeout)

    @property
    def limits(self) -> ExchangeLimits:
        """The limits of each exchange."""
        return ExchangeLimits(
            timeout=self.exchange_timeout, max_bytes=self.max_response_bytes
        )


def options_from_conf(conf: cfg.ConfigOpts) -> HttpClientOptions:
    """Read [outgoing]."""
    names = HttpClientOptions.__struct_fields__
    return HttpClientOptions(**{name: conf.outgoing[name] for name in names})


class LimitedTransport(httpx.HTTPTransport):
    """Ends an exchange at its limits, which the extension "limits" of a
    request overrides, and when the work of the thread is cancelled forcefully.
    """

    def __init__(
        self,
        client_options: HttpClientOptions,
        context: ssl.SSLContext,
        resolve: Resolver | None,
    ) -> None:
        super().__init__(verify=context, trust_env=False)
        # httpx has no option for it
        self._pool = httpcore.ConnectionPool(
            ssl_context=context, network_backend=LimitedBackend(resolve)
        )
        self._limits = client_options.limits
        self._timeouts = client_options.timeouts.as_dict()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        limits = request.extensions.get("limits", self._limits)
        exchange = Exchange(limits, request.url.host)
        # requests for a token, which a flow of authentication builds
        request.extensions.setdefault("timeout", self._timeouts)
        request.headers["Accept-Encoding"] = "identity"
        if request_id := request_context.current_request_id():
            request.headers[request_context.REQUEST_ID_HEADER] = request_id
        with (
            tracing.exchange(request.method, request.url.host) as span,
            network_backend.scope(exchange),
        ):
            response = super().handle_request(request)
            span.describe(http__response__status_code=response.status_code)
        try:
            exchange.check_encoding(response.headers.get("Content-Encoding"))
        except errors.PeerFailed:
            response.close()
            raise
        response.stream = _LimitedStream(response.stream, exchange)
        return response


class _LimitedStream(httpx.SyncByteStream):
    """The body of a response within the limits of its exchange."""

    def __init__(self, inner: Any, exchange: Exchange) -> None:
        self._inner = inner
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        chunks = iter(self._inner)
        while True:
            with network_backend.scope(self._exchange):
                chunk = next(chunks, None)
            if chunk is None:
                return
            yield chunk

    def close(self) -> None:
        self._inner.close()


def client(
    client_options: HttpClientOptions,
    *,
    use_client_certificate: bool = False,
    resolve: Resolver | None = None,
    **options: Any,
) -> httpx.Client:
    """Build a client for threads.

    :param use_client_certificate: send our certificate if a server requests
        one
    :param resolve: returns the address of a host and port to connect to;
        default: the resolver of the operating system
    :param options: options of httpx, such as base_url and auth

    :raises VnfmError: a certificate or a key cannot be read
    """
    arguments = _client_arguments(
        client_options, use_client_certificate=use_client_certificate
    )
    transport = LimitedTransport(client_options, arguments["verify"], resolve)
    return httpx.Client(**arguments, transport=transport, **options)


def async_client(
    client_options: HttpClientOptions,
    ssrf_policy: SsrfPolicy,
    *,
    use_client_certificate: bool = False,
    **options: Any,
) -> httpx.AsyncClient:
    """Build a client for asyncio, which connects where a policy allows it.

    :raises VnfmError: a certificate or a key cannot be read
    """
    arguments = _client_arguments(
        client_options, use_client_certificate=use_client_certificate
    )
    inner = httpx.AsyncHTTPTransport(
        verify=arguments["verify"], trust_env=False
    )
    return httpx.AsyncClient(
        **arguments,
        transport=SsrfPolicyTransport(ssrf_policy, inner),
        **options,
    )


def _client_arguments(
    client_options: HttpClientOptions, *, use_client_certificate: bool
) -> dict[str, Any]:
    return {
        "verify": ssl_context(
            client_options, use_client_certificate=use_client_certificate
        ),
        "timeout": client_options.timeouts,
        "follow_redirects": False,
        "trust_env": False,
    }


@functools.lru_cache(maxsize=16)
def ssl_context(
    client_options: HttpClientOptions, *, use_client_certificate: bool = False
) -> ssl.SSLContext:
    """Return the TLS context with the trusted authorities and the client
    certificate; it is cached, as the system's authorities take tens of
    milliseconds to load.

    :raises VnfmError: a certificate or a key cannot be read
    """
    try:
        context = ssl.create_default_context(cafile=client_options.ca_file)
        if use_client_certificate and client_options.client_certificate:
            context.load_cert_chain(
                client_options.client_certificate,
                client_options.client_key,
                password=_refuse_password,
            )
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise errors.VnfmError(
            "[outgoing]: ca_file, client_certificate or client_key cannot be "
            f"read: {error}."
        ) from None
    if not client_options.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _refuse_password() -> str:
    """Prevent OpenSSL from prompting on the terminal.

    :raises ValueError: always
    """
    raise ValueError("client_key is encrypted")


@contextlib.contextmanager
def translated_errors(url: str) -> Iterator[None]:
    """Convert the errors of httpx in a block.

    :raises PeerUnreachable: the peer is unreachable, or a timeout expired
    :raises PeerFailed: the response is not valid HTTP
    """
    host = parse.urlsplit(url).netloc.rpartition("@")[2]
    try:
        yield
    except (httpx.TimeoutException, TimeoutError):
        raise errors.PeerUnreachable(
            f"{host} did not answer in time."
        ) from None
    except httpx.NetworkError as error:
        raise errors.PeerUnreachable(
            f"{host} cannot be reached: {error or type(error).__name__}."
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise errors.PeerFailed(
            f"{host} sent an invalid HTTP response: {error}."
        ) from None
