"""HTTP clients with the same options, for threads and for asyncio.

TLS certificates are verified, redirects are not followed, and proxies of the
environment are ignored: a request is only sent to the URL of the caller.
"""

import contextlib
import functools
import logging
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any
from urllib import parse

import httpx
import msgspec
from oslo_config import cfg

from tacker_cnf import errors
from tacker_cnf.http_client import addresses
from tacker_cnf.http_client.exchange import (
    MEBIBYTE,
    Exchange,
    ExchangeLimits,
    interruptible,
)
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy, SsrfPolicyTransport

#: returns the address of a host and port to connect to
Resolver = Callable[[str, int], str]

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
    def limits(self) -> ExchangeLimits:
        """The limits of each exchange."""
        return ExchangeLimits(
            timeout=self.exchange_timeout, max_bytes=self.max_response_bytes
        )


def options_from_conf(conf: cfg.ConfigOpts) -> HttpClientOptions:
    """Read [outgoing]."""
    names = HttpClientOptions.__struct_fields__
    return HttpClientOptions(**{name: conf.outgoing[name] for name in names})


class LimitedTransport(httpx.BaseTransport):
    """Ends an exchange at its limits, which the extension "limits" of a
    request overrides, and when the work of the thread is cancelled forcefully.
    """

    def __init__(
        self,
        inner: httpx.BaseTransport,
        limits: ExchangeLimits,
        resolve: Resolver | None,
    ) -> None:
        self._inner = inner
        self._limits = limits
        self._resolve = resolve

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.host
        if self._resolve:
            port = addresses.effective_port(request.url)
            # the certificate has to be that of the name
            request.extensions["sni_hostname"] = host
            request.url = request.url.copy_with(host=self._resolve(host, port))
        limits = request.extensions.get("limits", self._limits)
        exchange = Exchange(limits, host)
        response = self._inner.handle_request(request)
        stream = response.extensions["network_stream"]
        response.stream = _LimitedStream(
            response.stream, exchange, stream.get_extra_info("socket")
        )
        return response

    def close(self) -> None:
        self._inner.close()


class _LimitedStream(httpx.SyncByteStream):
    """The body of a response within the limits of its exchange."""

    def __init__(
        self, inner: Any, exchange: Exchange, sock: socket.socket
    ) -> None:
        self._inner = inner
        self._exchange = exchange
        self._sock = sock

    def __iter__(self) -> Iterator[bytes]:
        chunks = iter(self._inner)
        while self._exchange.remaining:
            with interruptible(self._sock):
                chunk = next(chunks, None)
            if chunk is None:
                return
            self._exchange.count(len(chunk))
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
    inner = httpx.HTTPTransport(verify=arguments["verify"], trust_env=False)
    return httpx.Client(
        **arguments,
        transport=LimitedTransport(inner, client_options.limits, resolve),
        **options,
    )


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
    connect = client_options.connect_timeout
    return {
        "verify": ssl_context(
            client_options, use_client_certificate=use_client_certificate
        ),
        "timeout": httpx.Timeout(client_options.timeout, connect=connect),
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
